/**
 * @file embedding.c
 * @brief First block of a GPT: out[row] = wte[id] + wpe[position].
 */
#include "model/block.h"
#include "tensor/layers.h"

static void declare(hki_layout_t *layout, const hki_model_config_t *config)
{
    hki_layout_add(layout, &(hki_param_spec_t){
                               .name = "wte.weight",
                               .shape = {(size_t)config->num_vocab, (size_t)config->num_dim},
                               .axes = {"vocab", "embed"},
                               .split_dim = -1,
                               .init = HKI_INIT_NORMAL,
                               .init_std = 0.02,
                           });
    hki_layout_add(layout, &(hki_param_spec_t){
                               .name = "wpe.weight",
                               .shape = {(size_t)config->num_context, (size_t)config->num_dim},
                               .axes = {"position", "embed"},
                               .split_dim = -1,
                               .init = HKI_INIT_NORMAL,
                               .init_std = 0.02,
                           });
}

static hki_embedding_t embedding_of(const hki_block_dims_t *d, const hki_block_io_t *io)
{
    return (hki_embedding_t){
        .num_sequences = d->sequences,
        .num_tokens = d->tokens,
        .n = d->dim,
        .num_vocab = d->vocab,
        .num_context = d->context,
        .ids = io->unit->ids,
    };
}

static hk_status_t forward(const hki_block_dims_t *d, const hki_block_io_t *io)
{
    const hki_embedding_t e = embedding_of(d, io);
    const hk_status_t status = hki_block_check_ids(d, io->unit->ids, "token id");

    if (status == HK_OK) {
        hki_embedding_forward(&e, io->params, io->params + d->vocab * d->dim, io->out);
    }
    return status;
}

static hk_status_t backward(const hki_block_dims_t *d, const hki_block_io_t *io)
{
    const hki_embedding_t e = embedding_of(d, io);

    hki_embedding_backward(&e, io->dout, io->dparams, io->dparams + d->vocab * d->dim);
    return HK_OK;
}

const hki_block_kind_t hki_block_embedding = {
    .declare = declare,
    .forward = forward,
    .backward = backward,
};
