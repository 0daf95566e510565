/**
 * @file transformer.c
 * @brief Pre-norm transformer block of a GPT:
 *            mid = in  + attention(norm_1(in) @ c_attn) @ c_proj
 *            out = mid + gelu(norm_2(mid) @ c_fc) @ mlp.c_proj          (each product with a bias)
 *
 * Tensor parallel as in Megatron: c_attn and c_fc are divided by columns (whole heads), the two
 * c_proj by rows. The partial sums of the c_proj, and backward those of the gradients before the
 * norms, go through the hook; biases and residuals are added after it, so that everything between
 * the products is replicated.
 *
 * saved: qkv (rows, 3 attn), attention's output (rows, attn) and log sums (sequences, heads,
 *        tokens), mid (rows, dim), the MLP before its gelu (rows, hidden). Norms and gelu are
 *        computed again.
 * Source: Shoeybi et al. 2019, arXiv:1909.08053.
 */
#include <math.h>
#include <stdio.h>

#include "model/block.h"
#include "tensor/attention.h"
#include "tensor/layers.h"

/** Parameters, in the order of their declaration. */
enum {
    LN_1_WEIGHT,
    LN_1_BIAS,
    ATTN_WEIGHT,
    ATTN_BIAS,
    ATTN_PROJ_WEIGHT,
    ATTN_PROJ_BIAS,
    LN_2_WEIGHT,
    LN_2_BIAS,
    FC_WEIGHT,
    FC_BIAS,
    FC_PROJ_WEIGHT,
    FC_PROJ_BIAS,
    PARAM_COUNT,
};

typedef struct saved {
    float *qkv;
    float *attention;
    float *log_sums;
    float *mid;
    float *pre;
} saved_t;

typedef struct scratch {
    float *normed;    // (rows, dim)
    float *dnormed;   // (rows, dim)
    float *dmid;      // (rows, dim)
    float *stats;     // (rows, 2)
    float *act;       // (rows, hidden)
    float *dact;      // (rows, hidden)
    float *dattn;     // (rows, attn)
    float *dqkv;      // (rows, 3 attn)
    float *attention; // for tensor/attention.h
} scratch_t;

/** Names of the weight and the bias of a layer. */
typedef struct names {
    char weight[HKI_PARAM_NAME_MAX];
    char bias[HKI_PARAM_NAME_MAX];
} names_t;

static names_t names_of(const char *layer)
{
    names_t names;

    (void)snprintf(names.weight, sizeof(names.weight), "%s.weight", layer);
    (void)snprintf(names.bias, sizeof(names.bias), "%s.bias", layer);
    return names;
}

static void declare_norm(hki_layout_t *layout, const char *layer, size_t dim)
{
    const names_t names = names_of(layer);

    hki_layout_add(layout, &(hki_param_spec_t){.name = names.weight,
                                               .shape = {dim},
                                               .axes = {"embed"},
                                               .split_dim = -1,
                                               .init = HKI_INIT_ONE});
    hki_layout_add(layout, &(hki_param_spec_t){.name = names.bias,
                                               .shape = {dim},
                                               .axes = {"embed"},
                                               .split_dim = -1,
                                               .init = HKI_INIT_ZERO});
}

/** Weight (dim, groups * n) and bias (groups * n,), divided by columns in each group. */
static void declare_columns(hki_layout_t *layout, const char *layer, size_t dim, int groups,
                            size_t n, const char *axis)
{
    const names_t names = names_of(layer);

    hki_layout_add(layout, &(hki_param_spec_t){.name = names.weight,
                                               .shape = {dim, (size_t)groups * n},
                                               .axes = {"embed", axis},
                                               .split_dim = 1,
                                               .split_groups = groups,
                                               .init = HKI_INIT_NORMAL,
                                               .init_std = 0.02});
    hki_layout_add(layout, &(hki_param_spec_t){.name = names.bias,
                                               .shape = {(size_t)groups * n},
                                               .axes = {axis},
                                               .split_dim = 0,
                                               .split_groups = groups,
                                               .init = HKI_INIT_ZERO});
}

/** Weight (k, dim), divided by rows, and bias (dim,); the layer ends in a residual. */
static void declare_rows(hki_layout_t *layout, const char *layer, size_t k, const char *axis,
                         const hki_model_config_t *config)
{
    const names_t names = names_of(layer);
    const size_t dim = (size_t)config->num_dim;

    hki_layout_add(layout, &(hki_param_spec_t){.name = names.weight,
                                               .shape = {k, dim},
                                               .axes = {axis, "embed"},
                                               .split_dim = 0,
                                               .init = HKI_INIT_NORMAL,
                                               .init_std = 0.02 / sqrt(2.0 * config->num_layers)});
    hki_layout_add(layout, &(hki_param_spec_t){.name = names.bias,
                                               .shape = {dim},
                                               .axes = {"embed"},
                                               .split_dim = -1,
                                               .init = HKI_INIT_ZERO});
}

static void declare(hki_layout_t *layout, const hki_model_config_t *config)
{
    const size_t dim = (size_t)config->num_dim;
    const size_t hidden = (size_t)config->num_hidden;

    declare_norm(layout, "ln_1", dim);
    declare_columns(layout, "attn.c_attn", dim, 3, dim, "heads");
    declare_rows(layout, "attn.c_proj", dim, "heads", config);
    declare_norm(layout, "ln_2", dim);
    declare_columns(layout, "mlp.c_fc", dim, 1, hidden, "mlp");
    declare_rows(layout, "mlp.c_proj", hidden, "mlp", config);
}

/** Where the parameters of the block stand in its flat buffer. */
static void param_offsets(const hki_block_dims_t *d, size_t offsets[PARAM_COUNT])
{
    const size_t counts[PARAM_COUNT] = {
        [LN_1_WEIGHT] = d->dim,
        [LN_1_BIAS] = d->dim,
        [ATTN_WEIGHT] = d->dim * 3 * d->attn,
        [ATTN_BIAS] = 3 * d->attn,
        [ATTN_PROJ_WEIGHT] = d->attn * d->dim,
        [ATTN_PROJ_BIAS] = d->dim,
        [LN_2_WEIGHT] = d->dim,
        [LN_2_BIAS] = d->dim,
        [FC_WEIGHT] = d->dim * d->hidden,
        [FC_BIAS] = d->hidden,
        [FC_PROJ_WEIGHT] = d->hidden * d->dim,
        [FC_PROJ_BIAS] = d->dim,
    };
    size_t offset = 0;

    for (int i = 0; i < PARAM_COUNT; i++) {
        offsets[i] = offset;
        offset += counts[i];
    }
}

static size_t saved_count(const hki_block_dims_t *d)
{
    return hki_block_carved(d->rows * 3 * d->attn) + hki_block_carved(d->rows * d->attn) +
           hki_block_carved(d->rows * d->heads) + hki_block_carved(d->rows * d->dim) +
           hki_block_carved(d->rows * d->hidden);
}

static saved_t saved_of(const hki_block_dims_t *d, float *buffer)
{
    return (saved_t){
        .qkv = hki_block_carve(&buffer, d->rows * 3 * d->attn),
        .attention = hki_block_carve(&buffer, d->rows * d->attn),
        .log_sums = hki_block_carve(&buffer, d->rows * d->heads),
        .mid = hki_block_carve(&buffer, d->rows * d->dim),
        .pre = hki_block_carve(&buffer, d->rows * d->hidden),
    };
}

/** Elements of scratch that the MLP half and the attention half need after the common part. */
static size_t mlp_scratch_count(const hki_block_dims_t *d)
{
    return 2 * hki_block_carved(d->rows * d->hidden);
}

static size_t attention_scratch_count(const hki_block_dims_t *d)
{
    return hki_block_carved(d->rows * d->attn) + hki_block_carved(d->rows * 3 * d->attn) +
           hki_attention_scratch_count(d->sequences, d->tokens, d->heads);
}

static size_t scratch_count(const hki_block_dims_t *d)
{
    const size_t mlp = mlp_scratch_count(d);
    const size_t attention = attention_scratch_count(d);

    return 3 * hki_block_carved(d->rows * d->dim) + hki_block_carved(2 * d->rows) +
           (mlp > attention ? mlp : attention);
}

/** The two halves of the block use the rest of the scratch one after the other. */
static scratch_t scratch_of(const hki_block_dims_t *d, float *buffer)
{
    scratch_t s = {0};

    s.normed = hki_block_carve(&buffer, d->rows * d->dim);
    s.dnormed = hki_block_carve(&buffer, d->rows * d->dim);
    s.dmid = hki_block_carve(&buffer, d->rows * d->dim);
    s.stats = hki_block_carve(&buffer, 2 * d->rows);
    float *mlp = buffer;
    s.act = hki_block_carve(&mlp, d->rows * d->hidden);
    s.dact = hki_block_carve(&mlp, d->rows * d->hidden);
    s.dattn = hki_block_carve(&buffer, d->rows * d->attn);
    s.dqkv = hki_block_carve(&buffer, d->rows * 3 * d->attn);
    s.attention = buffer;
    return s;
}

static hki_attention_t attention_of(const hki_block_dims_t *d, const saved_t *saved,
                                    const scratch_t *s)
{
    return (hki_attention_t){
        .num_sequences = d->sequences,
        .num_tokens = d->tokens,
        .num_heads = d->heads,
        .head_dim = d->head_dim,
        .qkv = saved->qkv,
        .out = saved->attention,
        .log_sums = saved->log_sums,
        .scratch = s->attention,
        .dout = s->dattn,
        .dqkv = s->dqkv,
    };
}

/** A norm of x into scratch; `weight` is its first parameter. */
static hki_norm_t norm_of(const hki_block_dims_t *d, const hki_block_io_t *io, const scratch_t *s,
                          const float *x, size_t weight)
{
    hki_norm_t norm = {
        .n = d->dim,
        .x = x,
        .gamma = io->params + weight,
        .beta = io->params + weight + d->dim,
        .out = s->normed,
        .stats = s->stats,
        .dout = s->dnormed,
    };

    if (io->dparams != NULL) {
        norm.dgamma = io->dparams + weight;
        norm.dbeta = io->dparams + weight + d->dim;
    }
    return norm;
}

static hki_linear_t linear(const hki_block_dims_t *d, size_t k, size_t n)
{
    return (hki_linear_t){.rows = d->rows, .k = k, .n = n};
}

static hk_status_t attention_half_forward(const hki_block_dims_t *d, const hki_block_io_t *io,
                                          const saved_t *saved, const scratch_t *s)
{
    const float *params = io->params;
    const hki_linear_t in_linear = linear(d, d->dim, 3 * d->attn);
    const hki_linear_t out_linear = linear(d, d->attn, d->dim);
    const hki_attention_t attention = attention_of(d, saved, s);
    size_t at[PARAM_COUNT];

    param_offsets(d, at);
    const hki_norm_t norm = norm_of(d, io, s, io->in, at[LN_1_WEIGHT]);
    hki_norm_forward(&norm, d->rows);
    hki_linear_forward(&in_linear, s->normed, params + at[ATTN_WEIGHT], saved->qkv);
    hki_bias_add(saved->qkv, params + at[ATTN_BIAS], NULL, d->rows, 3 * d->attn, saved->qkv);
    hki_attention_forward(&attention);
    hki_linear_forward(&out_linear, saved->attention, params + at[ATTN_PROJ_WEIGHT], saved->mid);
    const hk_status_t status = hki_block_sum(d, io, saved->mid);
    hki_bias_add(saved->mid, params + at[ATTN_PROJ_BIAS], io->in, d->rows, d->dim, saved->mid);
    return status;
}

static hk_status_t mlp_half_forward(const hki_block_dims_t *d, const hki_block_io_t *io,
                                    const saved_t *saved, const scratch_t *s)
{
    const float *params = io->params;
    const hki_linear_t in_linear = linear(d, d->dim, d->hidden);
    const hki_linear_t out_linear = linear(d, d->hidden, d->dim);
    size_t at[PARAM_COUNT];

    param_offsets(d, at);
    const hki_norm_t norm = norm_of(d, io, s, saved->mid, at[LN_2_WEIGHT]);
    const hki_gelu_t gelu = {
        .rows = d->rows,
        .n = d->hidden,
        .pre = saved->pre,
        .bias = params + at[FC_BIAS],
        .act = s->act,
        .act_stride = d->hidden,
    };
    hki_norm_forward(&norm, d->rows);
    hki_linear_forward(&in_linear, s->normed, params + at[FC_WEIGHT], saved->pre);
    hki_gelu_forward(&gelu);
    hki_linear_forward(&out_linear, s->act, params + at[FC_PROJ_WEIGHT], io->out);
    const hk_status_t status = hki_block_sum(d, io, io->out);
    hki_bias_add(io->out, params + at[FC_PROJ_BIAS], saved->mid, d->rows, d->dim, io->out);
    return status;
}

static hk_status_t forward(const hki_block_dims_t *d, const hki_block_io_t *io)
{
    const saved_t saved = saved_of(d, io->saved);
    const scratch_t s = scratch_of(d, io->scratch);
    const hk_status_t status = attention_half_forward(d, io, &saved, &s);

    return status != HK_OK ? status : mlp_half_forward(d, io, &saved, &s);
}

/** From dout: the gradients of the MLP's parameters, and dmid. */
static hk_status_t mlp_half_backward(const hki_block_dims_t *d, const hki_block_io_t *io,
                                     const saved_t *saved, const scratch_t *s)
{
    const hki_linear_t in_linear = linear(d, d->dim, d->hidden);
    const hki_linear_t out_linear = linear(d, d->hidden, d->dim);
    const hki_gelu_t gelu = {
        .rows = d->rows,
        .n = d->hidden,
        .pre = saved->pre,
        .act = s->act,
        .act_stride = d->hidden,
        .grad = s->dact,
    };
    size_t at[PARAM_COUNT];

    param_offsets(d, at);
    hki_norm_t norm = norm_of(d, io, s, saved->mid, at[LN_2_WEIGHT]);
    norm.residual = io->dout;
    norm.din = s->dmid;

    hki_linear_backward_input(&out_linear, io->dout, io->params + at[FC_PROJ_WEIGHT], s->dact);
    hki_gelu_backward(&gelu);
    hki_linear_backward_weight(&out_linear, s->act, io->dout, io->dparams + at[FC_PROJ_WEIGHT]);
    hki_column_sums(io->dout, d->rows, d->dim, io->dparams + at[FC_PROJ_BIAS]);
    hki_norm_forward(&norm, d->rows);
    hki_linear_backward_weight(&in_linear, s->normed, s->dact, io->dparams + at[FC_WEIGHT]);
    hki_column_sums(s->dact, d->rows, d->hidden, io->dparams + at[FC_BIAS]);
    hki_linear_backward_input(&in_linear, s->dact, io->params + at[FC_WEIGHT], s->dnormed);
    const hk_status_t status = hki_block_sum(d, io, s->dnormed);
    hki_norm_backward(&norm, d->rows);
    return status;
}

/** From dmid: the gradients of the attention's parameters, and din. */
static hk_status_t attention_half_backward(const hki_block_dims_t *d, const hki_block_io_t *io,
                                           const saved_t *saved, const scratch_t *s)
{
    const hki_linear_t in_linear = linear(d, d->dim, 3 * d->attn);
    const hki_linear_t out_linear = linear(d, d->attn, d->dim);
    const hki_attention_t attention = attention_of(d, saved, s);
    size_t at[PARAM_COUNT];

    param_offsets(d, at);
    hki_norm_t norm = norm_of(d, io, s, io->in, at[LN_1_WEIGHT]);
    norm.residual = s->dmid;
    norm.din = io->din;

    hki_linear_backward_input(&out_linear, s->dmid, io->params + at[ATTN_PROJ_WEIGHT], s->dattn);
    hki_linear_backward_weight(&out_linear, saved->attention, s->dmid,
                               io->dparams + at[ATTN_PROJ_WEIGHT]);
    hki_column_sums(s->dmid, d->rows, d->dim, io->dparams + at[ATTN_PROJ_BIAS]);
    hki_attention_backward(&attention);
    hki_norm_forward(&norm, d->rows);
    hki_linear_backward_weight(&in_linear, s->normed, s->dqkv, io->dparams + at[ATTN_WEIGHT]);
    hki_column_sums(s->dqkv, d->rows, 3 * d->attn, io->dparams + at[ATTN_BIAS]);
    hki_linear_backward_input(&in_linear, s->dqkv, io->params + at[ATTN_WEIGHT], s->dnormed);
    const hk_status_t status = hki_block_sum(d, io, s->dnormed);
    hki_norm_backward(&norm, d->rows);
    return status;
}

static hk_status_t backward(const hki_block_dims_t *d, const hki_block_io_t *io)
{
    const saved_t saved = saved_of(d, io->saved);
    const scratch_t s = scratch_of(d, io->scratch);
    const hk_status_t status = mlp_half_backward(d, io, &saved, &s);

    return status != HK_OK ? status : attention_half_backward(d, io, &saved, &s);
}

const hki_block_kind_t hki_block_transformer = {
    .declare = declare,
    .saved_count = saved_count,
    .scratch_count = scratch_count,
    .forward = forward,
    .backward = backward,
    .num_sums_forward = 2,
    .num_sums_backward = 2,
};
