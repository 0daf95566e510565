/*
 * Mesh strings: what is accepted has sizes of at least one and a product within the limit, and its
 * ranks and coordinates belong to each other.
 */
#include "fuzz.h"

#include "base/alloc.h"
#include "parallel/shape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t live = hki_alloc_live();
    char *text = fuzz_string(data, size);
    hki_mesh_shape_t shape;

    if (hki_mesh_shape_parse(text, &shape) == HK_OK) {
        const int nranks = hki_mesh_shape_ranks(&shape);
        int last[HKI_AXIS_COUNT];
        FUZZ_CHECK(nranks >= 1 && nranks <= HKI_MESH_RANKS_MAX);
        for (int axis = 0; axis < HKI_AXIS_COUNT; axis++) {
            FUZZ_CHECK(shape.sizes[axis] >= 1);
            last[axis] = hki_mesh_coordinate(&shape, nranks - 1, (hki_axis_t)axis);
            FUZZ_CHECK(last[axis] == shape.sizes[axis] - 1);
        }
        FUZZ_CHECK(hki_mesh_rank(&shape, last) == nranks - 1);
    }
    free(text);
    FUZZ_CHECK(hki_alloc_live() == live);
    return 0;
}
