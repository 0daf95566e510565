/**
 * @file shape.c
 * @brief The arithmetic of a mesh. Mixed-radix numbers, the outermost axis the highest digit.
 */
#include "parallel/shape.h"

#include <string.h>

#include "base/error.h"

static const char *const axis_names[HKI_AXIS_COUNT] = {
    [HKI_AXIS_PIPE] = "pipe",
    [HKI_AXIS_DATA] = "data",
    [HKI_AXIS_MODEL] = "model",
};

/** Ranks between two neighbours along an axis. */
static int stride_of(const hki_mesh_shape_t *shape, hki_axis_t axis)
{
    int stride = 1;

    for (int a = HKI_AXIS_COUNT - 1; a > (int)axis; a--) {
        stride *= shape->sizes[a];
    }
    return stride;
}

/** Decimal digits only, 1 .. HKI_MESH_RANKS_MAX; -1 otherwise. */
static int size_parse(const char *text, size_t length)
{
    int value = 0;

    if (length == 0) {
        return -1;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || value > HKI_MESH_RANKS_MAX) {
            return -1;
        }
        value = 10 * value + (text[i] - '0');
    }
    return value >= 1 && value <= HKI_MESH_RANKS_MAX ? value : -1;
}

/** One "name=size" of `length` characters into sizes; a size of 0 there means "not given yet". */
static hk_status_t axis_parse(const char *text, size_t length, hki_mesh_shape_t *shape)
{
    const char *equals = memchr(text, '=', length);
    const size_t name_length = equals != NULL ? (size_t)(equals - text) : length;
    int axis = -1;

    for (int a = 0; a < HKI_AXIS_COUNT; a++) {
        if (strlen(axis_names[a]) == name_length && memcmp(axis_names[a], text, name_length) == 0) {
            axis = a;
        }
    }
    if (axis < 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "mesh axis '%.*s' is not known; the axes are pipe, data and model, as in "
                        "data=2,pipe=2",
                        (int)name_length, text);
    }
    if (shape->sizes[axis] != 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "mesh axis '%s' is given twice; name it once",
                        axis_names[axis]);
    }
    const size_t size_length = equals != NULL ? length - name_length - 1 : 0;
    const int axis_size = size_parse(text + length - size_length, size_length);
    if (axis_size < 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "mesh axis '%.*s' needs a size from 1 to %d, as in %s=2", (int)length, text,
                        HKI_MESH_RANKS_MAX, axis_names[axis]);
    }
    shape->sizes[axis] = axis_size;
    return HK_OK;
}

const char *hki_axis_name(hki_axis_t axis)
{
    return axis_names[axis];
}

int hki_axis_of(const char *name)
{
    for (int axis = 0; name != NULL && axis < HKI_AXIS_COUNT; axis++) {
        if (strcmp(axis_names[axis], name) == 0) {
            return axis;
        }
    }
    return -1;
}

hk_status_t hki_mesh_shape_parse(const char *text, hki_mesh_shape_t *shape_out)
{
    hki_mesh_shape_t shape = {{0}};
    const char *at = text != NULL ? text : "";
    long long ranks = 1;

    while (*at != '\0') {
        const size_t length = strcspn(at, ",");
        hk_status_t status = axis_parse(at, length, &shape);
        if (status != HK_OK) {
            return status;
        }
        at += length;
        if (*at == ',' && *++at == '\0') {
            return HKI_FAIL(HK_ERR_INVALID_ARG, "mesh '%s' ends in a comma; drop it", text);
        }
    }
    for (int a = 0; a < HKI_AXIS_COUNT; a++) {
        shape.sizes[a] = shape.sizes[a] == 0 ? 1 : shape.sizes[a];
        ranks *= shape.sizes[a];
        if (ranks > HKI_MESH_RANKS_MAX) {
            return HKI_FAIL(HK_ERR_INVALID_ARG, "mesh '%s' has more than %d ranks; use fewer", text,
                            HKI_MESH_RANKS_MAX);
        }
    }
    *shape_out = shape;
    return HK_OK;
}

int hki_mesh_shape_ranks(const hki_mesh_shape_t *shape)
{
    return stride_of(shape, HKI_AXIS_PIPE) * shape->sizes[HKI_AXIS_PIPE];
}

hk_status_t hki_mesh_shape_check(const hki_mesh_shape_t *shape, int nranks)
{
    const int product = hki_mesh_shape_ranks(shape);

    if (product != nranks) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "mesh pipe=%d,data=%d,model=%d needs %d ranks and there are %d; start %d "
                        "ranks or change the mesh",
                        shape->sizes[HKI_AXIS_PIPE], shape->sizes[HKI_AXIS_DATA],
                        shape->sizes[HKI_AXIS_MODEL], product, nranks, product);
    }
    return HK_OK;
}

int hki_mesh_coordinate(const hki_mesh_shape_t *shape, int rank, hki_axis_t axis)
{
    return rank / stride_of(shape, axis) % shape->sizes[axis];
}

int hki_mesh_rank(const hki_mesh_shape_t *shape, const int *coordinates)
{
    int rank = 0;

    for (int a = 0; a < HKI_AXIS_COUNT; a++) {
        rank = rank * shape->sizes[a] + coordinates[a];
    }
    return rank;
}
