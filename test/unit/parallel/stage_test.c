/**
 * @file stage_test.c
 * @brief Tests of src/parallel/stage.c.
 *
 * Method: a GPT cut into stages that hand their borders over by memcpy must give the loss and the
 * gradients of the uncut one, to the bit; and every block must belong to exactly one stage.
 */
#include "support/hk_test.h"

#include <string.h>

#include "base/alloc.h"
#include "parallel/stage.h"

enum { LAYERS = 5, DIM = 16, TOKENS = 6, SEQUENCES = 2, VOCAB = 11, STAGES_MAX = LAYERS };

static const hki_model_config_t config = {.kind = HKI_MODEL_GPT,
                                          .num_layers = LAYERS,
                                          .num_dim = DIM,
                                          .num_heads = 2,
                                          .num_vocab = VOCAB,
                                          .num_context = TOKENS};

static hk_status_t stage_make(const hki_model_t *model, int nstages, int index, int nslots,
                              hki_stage_t **stage_out)
{
    hki_stage_opts_t opts = {
        .model = model, .nslots = nslots, .num_sequences = SEQUENCES, .num_tokens = TOKENS};
    hk_status_t status = hki_stage_blocks(model, nstages, index, &opts.blocks);

    if (status == HK_OK) {
        status = hki_stage_create(&opts, stage_out);
    }
    if (status == HK_OK) {
        hki_stage_init(*stage_out, /*seed=*/5);
    }
    return status;
}

static void data_fill(hki_stage_t *stage, int slot)
{
    const hki_stage_data_t data = hki_stage_data(stage, slot);

    for (int i = 0; i < SEQUENCES * TOKENS; i++) {
        data.ids[i] = (i * 7 + slot) % VOCAB;
        data.targets[i] = (i * 5 + 3 + slot) % VOCAB;
    }
}

/** Forward and backward through all stages in `slot`; gradients of the whole model into `grads`. */
static double cut_run(const hki_model_t *model, int nstages, int slot, float *grads)
{
    const size_t border = hki_model_activation_count(model, SEQUENCES, TOKENS) * sizeof(float);
    hki_stage_t *stages[STAGES_MAX] = {NULL};
    double loss = 0;

    for (int s = 0; s < nstages; s++) {
        assert_ok(stage_make(model, nstages, s, slot + 1, &stages[s]));
        data_fill(stages[s], slot);
        if (s > 0) {
            memcpy(hki_stage_port(stages[s], slot).in, hki_stage_port(stages[s - 1], slot).out,
                   border);
        }
        assert_ok(hki_stage_forward(stages[s], slot, &loss));
    }
    for (int s = nstages - 1; s >= 0; s--) {
        if (s < nstages - 1) {
            memcpy(hki_stage_port(stages[s], slot).dout, hki_stage_port(stages[s + 1], slot).din,
                   border);
        }
        assert_ok(hki_stage_backward(stages[s], slot, grads + hki_stage_param_offset(stages[s])));
    }
    for (int s = 0; s < nstages; s++) {
        hki_stage_destroy(&stages[s]);
    }
    return loss;
}

static void computes_the_same_however_it_is_cut(void **state)
{
    hki_model_t *model = NULL;
    (void)state;

    assert_ok(hki_model_create(&config, 0, 1, &model));
    const size_t bytes = hki_model_count(model) * sizeof(float);
    float *want = hki_calloc(bytes, 1);
    float *got = hki_calloc(bytes, 1);
    for (int slot = 0; slot < 3; slot++) {
        const double loss = cut_run(model, 1, slot, want);
        for (int nstages = 2; nstages <= STAGES_MAX; nstages++) {
            memset(got, 0xff, bytes); // everything must be written
            const double cut_loss = cut_run(model, nstages, slot, got);
            if (cut_loss != loss || memcmp(got, want, bytes) != 0) {
                fail_msg("%d stages, slot %d: loss %a, want %a, or other gradients", nstages, slot,
                         cut_loss, loss);
            }
        }
    }
    hki_free(want);
    hki_free(got);
    hki_model_destroy(&model);
}

static void gives_every_block_to_one_stage(void **state)
{
    hki_model_t *model = NULL;
    (void)state;

    assert_ok(hki_model_create(&config, 0, 1, &model));
    for (int nstages = 1; nstages <= STAGES_MAX; nstages++) {
        int next = 0;
        for (int s = 0; s < nstages; s++) {
            hki_stage_blocks_t blocks;
            assert_ok(hki_stage_blocks(model, nstages, s, &blocks));
            assert_int_equal(blocks.first, next);
            next += blocks.count;
        }
        assert_int_equal(next, hki_model_num_blocks(model));
    }
    hki_stage_blocks_t blocks = {-7, -7};
    assert_int_equal(hki_stage_blocks(model, LAYERS + 1, 0, &blocks), HK_ERR_INVALID_ARG);
    assert_non_null(strstr(hk_last_error(), "needs at least 6 layers"));
    assert_int_equal(blocks.first, -7); // outputs stay untouched on failure
    hki_model_destroy(&model);
}

static void predicts_from_a_part_of_the_context(void **state)
{
    hki_model_t *model = NULL;
    hki_stage_t *stage = NULL;
    float first[VOCAB];
    float again[VOCAB];
    (void)state;

    assert_ok(hki_model_create(&config, 0, 1, &model));
    assert_ok(stage_make(model, 1, 0, 1, &stage));
    data_fill(stage, 0);
    assert_ok(hki_stage_logits(stage, 3, first));
    hki_stage_data(stage, 0).ids[3] = 0; // beyond the part: must not matter
    assert_ok(hki_stage_logits(stage, 3, again));
    assert_memory_equal(first, again, sizeof(first));
    hki_stage_data(stage, 0).ids[2] = (hki_stage_data(stage, 0).ids[2] + 1) % VOCAB;
    assert_ok(hki_stage_logits(stage, 3, again));
    assert_memory_not_equal(first, again, sizeof(first));
    hki_stage_destroy(&stage);
    hki_model_destroy(&model);
}

static void survives_the_failure_of_any_allocation(void **state)
{
    hki_model_t *model = NULL;
    hki_stage_t *stage = NULL;
    hk_status_t status = HK_ERR_NO_MEMORY;
    size_t n = 0;
    (void)state;

    assert_ok(hki_model_create(&config, 0, 1, &model));
    const size_t live = hki_alloc_live();
    while (status != HK_OK) {
        hki_alloc_fail_at(++n);
        status = stage_make(model, 2, 1, 2, &stage);
        assert_true(status == HK_OK || (status == HK_ERR_NO_MEMORY && stage == NULL));
        assert_true(status == HK_OK || hki_alloc_live() == live);
    }
    hki_alloc_fail_at(0);
    assert_true(n > 7);
    hki_stage_destroy(&stage);
    assert_int_equal(hki_alloc_live(), live);
    hki_model_destroy(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computes_the_same_however_it_is_cut),
        cmocka_unit_test(gives_every_block_to_one_stage),
        cmocka_unit_test(predicts_from_a_part_of_the_context),
        cmocka_unit_test(survives_the_failure_of_any_allocation),
    };
    return cmocka_run_group_tests_name("parallel/stage", tests, NULL, NULL);
}
