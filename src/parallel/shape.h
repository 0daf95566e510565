/**
 * @file shape.h
 * @brief The arithmetic of a mesh: named axes, ranks <-> coordinates. Pure; opens nothing.
 *
 * rank = (pipe * data_size + data) * model_size + model: model is fastest, pipe outermost.
 */
#ifndef HKI_PARALLEL_SHAPE_H
#define HKI_PARALLEL_SHAPE_H

#include <hocket/base.h>

/** Axes from the outermost to the fastest. */
typedef enum hki_axis {
    HKI_AXIS_PIPE = 0,
    HKI_AXIS_DATA = 1,
    HKI_AXIS_MODEL = 2,
} hki_axis_t;

enum { HKI_AXIS_COUNT = 3, HKI_MESH_RANKS_MAX = 65536 };

typedef struct hki_mesh_shape {
    int sizes[HKI_AXIS_COUNT]; /**< ranks along each axis, >= 1 */
} hki_mesh_shape_t;

/** "pipe" and the like. */
const char *hki_axis_name(hki_axis_t axis);

/** The axis of this name, or -1. */
int hki_axis_of(const char *name);

/**
 * Read "data=2,pipe=2". Axes that are not named get size 1.
 *
 * @param[in]  text       NULL or "": every axis has size 1
 * @param[out] shape_out  set on success only
 * @return HK_OK, HK_ERR_INVALID_ARG (unknown axis, given twice, no size, size 0, too many ranks)
 */
hk_status_t hki_mesh_shape_parse(const char *text, hki_mesh_shape_t *shape_out);

/** Product of the sizes. */
int hki_mesh_shape_ranks(const hki_mesh_shape_t *shape);

/** Refuse a shape whose product is not nranks, with both numbers and the way out. */
hk_status_t hki_mesh_shape_check(const hki_mesh_shape_t *shape, int nranks);

/** Coordinate of `rank` along `axis`. */
int hki_mesh_coordinate(const hki_mesh_shape_t *shape, int rank, hki_axis_t axis);

/** The rank with these coordinates (HKI_AXIS_COUNT,). */
int hki_mesh_rank(const hki_mesh_shape_t *shape, const int *coordinates);

#endif /* HKI_PARALLEL_SHAPE_H */
