/**
 * @file hocket/mesh.h
 * @brief A device mesh: the ranks of a communicator as a grid with named axes.
 *
 * "data=2,pipe=2" makes a 2 x 2 grid. Along an axis stand the ranks that differ in nothing but that
 * coordinate; each such line has a communicator of its own, ordered by the coordinate. Ranks are
 * numbered with `model` fastest, then `data`, then `pipe`, in whatever order the text names them:
 * the ranks that talk most are neighbours, and a reduction along an axis always adds in the order
 * of its coordinates, so its bits do not depend on the other axes.
 *
 * Threads: a mesh belongs to the thread of its rank.
 */
#ifndef HK_MESH_H
#define HK_MESH_H

#include <hocket/comm.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hk_mesh hk_mesh_t; /**< one rank's view of the grid */

/**
 * Lay the ranks of `comm` out as a grid and open a communicator for every axis. Collective.
 *
 * @param[in]  comm      borrowed; must outlive the mesh
 * @param[in]  axes      "pipe=2,data=4,model=2"; an axis not named has size 1; "" or NULL: all
 *                       ranks along data. The product must be hk_comm_size(comm)
 * @param[out] mesh_out  set on success only; end it with hk_mesh_close()
 * @return HK_OK, HK_ERR_INVALID_ARG (unknown axis, axis given twice, size 0, product), or what
 *         hk_comm_split() returns
 */
HK_API HK_NODISCARD hk_status_t hk_mesh_open(hk_comm_t *comm, const char *axes,
                                             hk_mesh_t **mesh_out);

/** Close the communicators of the axes, free everything and set *mesh to NULL. Accepts NULL. */
HK_API void hk_mesh_close(hk_mesh_t **mesh);

/** Ranks along an axis ("pipe", "data", "model"); 1 if it was not named, -1 if there is none
 *  such. */
HK_API int hk_mesh_axis_size(const hk_mesh_t *mesh, const char *axis);

/** This rank's coordinate along an axis, 0 <= it < size; -1 if there is no such axis. */
HK_API int hk_mesh_axis_rank(const hk_mesh_t *mesh, const char *axis);

/** The ranks along an axis that pass through this one, ordered by coordinate. Borrowed: never close
 *  it. NULL if there is no such axis; a communicator of one rank if its size is 1. */
HK_API hk_comm_t *hk_mesh_axis_comm(const hk_mesh_t *mesh, const char *axis);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* HK_MESH_H */
