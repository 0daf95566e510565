/**
 * @file head.c
 * @brief Last block of a GPT: final norm, projection tied to the embedding, softmax cross-entropy.
 *
 * saved: what the cross-entropy leaves in place of the logits (rows, vocab), and its sums (rows,).
 */
#include "model/block.h"
#include "tensor/layers.h"

typedef struct head {
    const float *gamma;
    const float *beta;
    const float *weight; // (vocab, dim)
    float *exps;         // (rows, vocab)
    float *sums;         // (rows,)
    float *normed;       // (rows, dim)
    float *dnormed;      // (rows, dim)
    float *stats;        // (rows, 2)
    float *losses;       // (rows,)
} head_t;

static void declare(hki_layout_t *layout, const hki_model_config_t *config)
{
    const size_t dim = (size_t)config->num_dim;

    hki_layout_add(layout, &(hki_param_spec_t){.name = "ln_f.weight",
                                               .shape = {dim},
                                               .axes = {"embed"},
                                               .split_dim = -1,
                                               .init = HKI_INIT_ONE});
    hki_layout_add(layout, &(hki_param_spec_t){.name = "ln_f.bias",
                                               .shape = {dim},
                                               .axes = {"embed"},
                                               .split_dim = -1,
                                               .init = HKI_INIT_ZERO});
    hki_layout_add(layout, &(hki_param_spec_t){.name = "lm_head.weight",
                                               .shape = {(size_t)config->num_vocab, dim},
                                               .axes = {"vocab", "embed"},
                                               .split_dim = -1,
                                               .init = HKI_INIT_NORMAL,
                                               .init_std = 0.02,
                                               .is_tied = true});
}

static size_t saved_count(const hki_block_dims_t *d)
{
    return hki_block_carved(d->rows * d->vocab) + hki_block_carved(d->rows);
}

static size_t scratch_count(const hki_block_dims_t *d)
{
    return 2 * hki_block_carved(d->rows * d->dim) + hki_block_carved(2 * d->rows) +
           hki_block_carved(d->rows);
}

static head_t head_of(const hki_block_dims_t *d, const hki_block_io_t *io)
{
    float *saved = io->saved;
    float *scratch = io->scratch;
    head_t head = {
        .gamma = io->params,
        .beta = io->params + d->dim,
        .weight = io->params + 2 * d->dim,
    };

    if (saved != NULL) { // logits of the last position need none
        head.exps = hki_block_carve(&saved, d->rows * d->vocab);
        head.sums = hki_block_carve(&saved, d->rows);
    }
    head.normed = hki_block_carve(&scratch, d->rows * d->dim);
    head.dnormed = hki_block_carve(&scratch, d->rows * d->dim);
    head.stats = hki_block_carve(&scratch, 2 * d->rows);
    head.losses = hki_block_carve(&scratch, d->rows);
    return head;
}

static hki_norm_t norm_of(const hki_block_dims_t *d, const hki_block_io_t *io, const head_t *head)
{
    return (hki_norm_t){
        .n = d->dim,
        .x = io->in,
        .gamma = head->gamma,
        .beta = head->beta,
        .out = head->normed,
        .stats = head->stats,
        .dout = head->dnormed,
        .din = io->din,
        .dgamma = io->dparams,
        .dbeta = io->dparams == NULL ? NULL : io->dparams + d->dim,
    };
}

static hki_linear_t projection_of(const hki_block_dims_t *d)
{
    return (hki_linear_t){.rows = d->rows, .k = d->dim, .n = d->vocab, .is_w_transposed = true};
}

static hk_status_t forward(const hki_block_dims_t *d, const hki_block_io_t *io)
{
    const head_t head = head_of(d, io);
    const hki_norm_t norm = norm_of(d, io, &head);
    const hki_linear_t projection = projection_of(d);
    const hk_status_t status = hki_block_check_ids(d, io->unit->targets, "target id");

    if (status != HK_OK) {
        return status;
    }
    hki_norm_forward(&norm, d->rows);
    hki_linear_forward(&projection, head.normed, head.weight, head.exps);
    *io->loss = hki_cross_entropy_forward(head.exps, io->unit->targets, d->rows, d->vocab,
                                          head.sums, head.losses);
    return HK_OK;
}

static hk_status_t backward(const hki_block_dims_t *d, const hki_block_io_t *io)
{
    const head_t head = head_of(d, io);
    const hki_norm_t norm = norm_of(d, io, &head);
    const hki_linear_t projection = projection_of(d);
    float *dweight = io->dparams + 2 * d->dim;

    hki_cross_entropy_backward(head.exps, io->unit->targets, d->rows, d->vocab, head.sums);
    hki_norm_forward(&norm, d->rows); // again: cheaper than keeping it
    hki_linear_backward_weight(&projection, head.normed, head.exps, dweight);
    hki_linear_backward_input(&projection, head.exps, head.weight, head.dnormed);
    hki_norm_backward(&norm, d->rows);
    return HK_OK;
}

void hki_block_head_logits(const hki_block_dims_t *d, const hki_block_io_t *io, float *logits)
{
    const head_t head = head_of(d, io);
    hki_norm_t norm = norm_of(d, io, &head);
    const hki_linear_t projection = {
        .rows = 1, .k = d->dim, .n = d->vocab, .is_w_transposed = true};

    for (size_t sequence = 0; sequence < d->sequences; sequence++) {
        norm.x = io->in + ((sequence + 1) * d->tokens - 1) * d->dim;
        hki_norm_forward(&norm, 1);
        hki_linear_forward(&projection, head.normed, head.weight, logits + sequence * d->vocab);
    }
}

const hki_block_kind_t hki_block_head = {
    .declare = declare,
    .saved_count = saved_count,
    .scratch_count = scratch_count,
    .forward = forward,
    .backward = backward,
};
