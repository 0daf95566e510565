/**
 * @file mlp.c
 * @brief Blocks of the deep MLP: x = gelu(x @ W), W (dim, dim), and the loss mean(x * x).
 *
 * Tensor parallel: rank m of M holds columns m * dim / M ... of W. It writes its columns of the
 * output into zeros; the sum over the model axis puts them together. Backward, each rank takes its
 * columns of dout, and the partial gradients of the input are summed.
 *
 * saved: the product x @ W before the gelu, (rows, part).
 */
#include <math.h>
#include <string.h>

#include "model/block.h"
#include "tensor/layers.h"

static void declare(hki_layout_t *layout, const hki_model_config_t *config)
{
    const size_t dim = (size_t)config->num_dim;

    hki_layout_add(layout, &(hki_param_spec_t){.name = "weight",
                                               .shape = {dim, dim},
                                               .axes = {"embed", "mlp"},
                                               .split_dim = 1,
                                               .init = HKI_INIT_NORMAL,
                                               .init_std = 1.0 / sqrt((double)config->num_dim)});
}

static size_t saved_count(const hki_block_dims_t *d)
{
    return d->rows * d->part;
}

static hki_linear_t linear_of(const hki_block_dims_t *d)
{
    return (hki_linear_t){.rows = d->rows, .k = d->dim, .n = d->part};
}

static hki_gelu_t gelu_of(const hki_block_dims_t *d, const hki_block_io_t *io)
{
    return (hki_gelu_t){.rows = d->rows, .n = d->part, .pre = io->saved};
}

static hk_status_t forward_from(const hki_block_dims_t *d, const hki_block_io_t *io,
                                const float *in)
{
    const hki_linear_t linear = linear_of(d);
    hki_gelu_t gelu = gelu_of(d, io);

    hki_linear_forward(&linear, in, io->params, io->saved);
    if (d->part != d->dim) {
        memset(io->out, 0, d->rows * d->dim * sizeof(*io->out));
    }
    gelu.act = io->out + d->part_first;
    gelu.act_stride = d->dim;
    hki_gelu_forward(&gelu);
    return hki_block_sum(d, io, io->out);
}

/** Gradient of the product in scratch, and of W. */
static void backward_weight(const hki_block_dims_t *d, const hki_block_io_t *io, const float *in)
{
    const hki_linear_t linear = linear_of(d);
    hki_gelu_t gelu = gelu_of(d, io);

    for (size_t row = 0; row < d->rows; row++) {
        memcpy(io->scratch + row * d->part, io->dout + row * d->dim + d->part_first,
               d->part * sizeof(*io->scratch));
    }
    gelu.grad = io->scratch;
    hki_gelu_backward(&gelu);
    hki_linear_backward_weight(&linear, in, io->scratch, io->dparams);
}

static hk_status_t first_forward(const hki_block_dims_t *d, const hki_block_io_t *io)
{
    return forward_from(d, io, io->unit->features);
}

static hk_status_t first_backward(const hki_block_dims_t *d, const hki_block_io_t *io)
{
    backward_weight(d, io, io->unit->features); // nobody needs the gradient of the features
    return HK_OK;
}

static hk_status_t forward(const hki_block_dims_t *d, const hki_block_io_t *io)
{
    return forward_from(d, io, io->in);
}

static hk_status_t backward(const hki_block_dims_t *d, const hki_block_io_t *io)
{
    const hki_linear_t linear = linear_of(d);

    backward_weight(d, io, io->in);
    hki_linear_backward_input(&linear, io->scratch, io->params, io->din);
    return hki_block_sum(d, io, io->din);
}

static void head_declare(hki_layout_t *layout, const hki_model_config_t *config)
{
    (void)layout; // the loss has no parameters
    (void)config;
}

static size_t head_scratch_count(const hki_block_dims_t *d)
{
    return d->rows;
}

static hk_status_t head_forward(const hki_block_dims_t *d, const hki_block_io_t *io)
{
    *io->loss = hki_mean_square(io->in, d->rows, d->dim, io->scratch);
    return HK_OK;
}

static hk_status_t head_backward(const hki_block_dims_t *d, const hki_block_io_t *io)
{
    hki_scale(io->in, (float)(2.0 / ((double)d->rows * (double)d->dim)), d->rows, d->dim, io->din);
    return HK_OK;
}

const hki_block_kind_t hki_block_mlp_first = {
    .declare = declare,
    .saved_count = saved_count,
    .scratch_count = saved_count,
    .forward = first_forward,
    .backward = first_backward,
    .num_sums_forward = 1,
};

const hki_block_kind_t hki_block_mlp = {
    .declare = declare,
    .saved_count = saved_count,
    .scratch_count = saved_count,
    .forward = forward,
    .backward = backward,
    .num_sums_forward = 1,
    .num_sums_backward = 1,
};

const hki_block_kind_t hki_block_mlp_head = {
    .declare = head_declare,
    .scratch_count = head_scratch_count,
    .forward = head_forward,
    .backward = head_backward,
};
