/**
 * @file mesh.c
 * @brief A mesh over a communicator: one sub-communicator for each axis.
 *
 * The line of this rank along an axis is what is left when that coordinate is set to 0: its rank is
 * the color of the split, the coordinate the key.
 */
#include <hocket/mesh.h>

#include "base/alloc.h"
#include "base/error.h"
#include "parallel/shape.h"

struct hk_mesh {
    hki_mesh_shape_t shape;
    int coordinates[HKI_AXIS_COUNT];
    hk_comm_t *lines[HKI_AXIS_COUNT]; // owned
};

/** Split `comm` into the lines along one axis. */
static hk_status_t line_open(hk_comm_t *comm, hk_mesh_t *mesh, hki_axis_t axis)
{
    int corner[HKI_AXIS_COUNT];

    for (int a = 0; a < HKI_AXIS_COUNT; a++) {
        corner[a] = a == (int)axis ? 0 : mesh->coordinates[a];
    }
    return hk_comm_split(comm, hki_mesh_rank(&mesh->shape, corner), mesh->coordinates[axis],
                         &mesh->lines[axis]);
}

hk_status_t hk_mesh_open(hk_comm_t *comm, const char *axes, hk_mesh_t **mesh_out)
{
    const int nranks = hk_comm_size(comm);
    hki_mesh_shape_t shape;
    hk_mesh_t *mesh = NULL;
    hk_status_t status;

    if (comm == NULL || mesh_out == NULL) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "hk_mesh_open: comm and mesh_out must not be NULL");
    }
    HKI_TRY(status = hki_mesh_shape_parse(axes, &shape), fail);
    if (axes == NULL || axes[0] == '\0') {
        shape.sizes[HKI_AXIS_DATA] = nranks;
    }
    HKI_TRY(status = hki_mesh_shape_check(&shape, nranks), fail);
    mesh = hki_calloc(1, sizeof(*mesh));
    if (mesh == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "mesh, %zu bytes", sizeof(*mesh));
    }
    mesh->shape = shape;
    for (int a = 0; a < HKI_AXIS_COUNT; a++) {
        mesh->coordinates[a] = hki_mesh_coordinate(&shape, hk_comm_rank(comm), (hki_axis_t)a);
    }
    for (int a = 0; a < HKI_AXIS_COUNT; a++) {
        HKI_TRY(status = line_open(comm, mesh, (hki_axis_t)a), fail);
    }
    *mesh_out = mesh;
    return HK_OK;
fail:
    hk_mesh_close(&mesh);
    return status;
}

void hk_mesh_close(hk_mesh_t **mesh)
{
    if (mesh == NULL || *mesh == NULL) {
        return;
    }
    for (int a = 0; a < HKI_AXIS_COUNT; a++) {
        hk_comm_close(&(*mesh)->lines[a]);
    }
    hki_free(*mesh);
    *mesh = NULL;
}

int hk_mesh_axis_size(const hk_mesh_t *mesh, const char *axis)
{
    const int a = hki_axis_of(axis);

    return mesh == NULL || a < 0 ? -1 : mesh->shape.sizes[a];
}

int hk_mesh_axis_rank(const hk_mesh_t *mesh, const char *axis)
{
    const int a = hki_axis_of(axis);

    return mesh == NULL || a < 0 ? -1 : mesh->coordinates[a];
}

hk_comm_t *hk_mesh_axis_comm(const hk_mesh_t *mesh, const char *axis)
{
    const int a = hki_axis_of(axis);

    return mesh == NULL || a < 0 ? NULL : mesh->lines[a];
}
