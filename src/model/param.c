/**
 * @file param.c
 * @brief Initial values of parameters, and the map between a rank's part and the whole.
 *
 * A part is the whole with one dimension cut: this dimension consists of `split_groups` equal
 * groups, and rank m of M holds the m-th M-th of each. In memory the part is a list of runs, one
 * for each (index of the dimensions before, group), that are contiguous in the whole as well.
 */
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "model/model.h"
#include "model/model_internal.h"
#include "tensor/threads.h"

/** Length of the runs of a part [elements]. */
static size_t run_length(const hki_param_info_t *p)
{
    if (p->split_dim < 0) {
        return p->count;
    }
    const size_t inner = p->split_dim == 0 ? p->local_shape[1] : 1;

    return p->local_shape[p->split_dim] / (size_t)p->split_groups * inner;
}

size_t hki_param_global_index(const hki_model_t *model, int param, int model_rank, size_t index)
{
    const hki_param_info_t *p = hki_model_param(model, param);
    const size_t run = run_length(p);

    HKI_DASSERT(index < p->count);
    if (p->split_dim < 0) {
        return index;
    }
    // all ranks' runs of a group stand side by side in the whole
    return (index / run * (size_t)model->nranks + (size_t)model_rank) * run + index % run;
}

void hki_param_init(const hki_model_t *model, int param, uint64_t seed, size_t first, size_t count,
                    float *out)
{
    const hki_param_info_t *p = hki_model_param(model, param);
    const char *name = p->tie < 0 ? p->name : hki_model_param(model, p->tie)->name;
    const hki_random_key_t key = hki_random_key(seed, name);

#pragma omp parallel for num_threads(hki_tensor_threads())
    for (size_t i = 0; i < count; i++) {
        const size_t index = hki_param_global_index(model, param, model->rank, first + i);

        out[i] = p->init == HKI_INIT_NORMAL ? (float)(p->init_std * hki_random_normal(key, index))
                 : p->init == HKI_INIT_ONE  ? 1.0F
                                            : 0.0F;
    }
}

void hki_param_put(const hki_model_t *model, int param, int model_rank, const float *part,
                   float *whole)
{
    const hki_param_info_t *p = hki_model_param(model, param);
    const size_t run = run_length(p);

    for (size_t i = 0; i < p->count; i += run) {
        memcpy(whole + hki_param_global_index(model, param, model_rank, i), part + i,
               run * sizeof(*part));
    }
}

void hki_param_get(const hki_model_t *model, int param, int model_rank, const float *whole,
                   float *part)
{
    const hki_param_info_t *p = hki_model_param(model, param);
    const size_t run = run_length(p);

    for (size_t i = 0; i < p->count; i += run) {
        memcpy(part + i, whole + hki_param_global_index(model, param, model_rank, i),
               run * sizeof(*part));
    }
}
