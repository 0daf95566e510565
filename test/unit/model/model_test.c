/**
 * @file model_test.c
 * @brief Layouts, refusals, bits for any number of threads, logits.
 */
#include "support/hk_test.h"

#include <math.h>

#include "tensor/threads.h"
#include "unit/model/run.h"

static const hki_model_config_t gpt_config = {
    .kind = HKI_MODEL_GPT,
    .num_layers = 2,
    .num_dim = 96,
    .num_heads = 6,
    .num_vocab = 300,
    .num_context = 80,
};

static const hki_model_config_t mlp_config = {
    .kind = HKI_MODEL_MLP,
    .num_layers = 2,
    .num_dim = 300,
};

static void gpt_has_the_parameters_of_gpt_2_in_their_order(void **state)
{
    static const char *const names[] = {
        "wte.weight",
        "wpe.weight",
        "h.0.ln_1.weight",
        "h.0.ln_1.bias",
        "h.0.attn.c_attn.weight",
        "h.0.attn.c_attn.bias",
        "h.0.attn.c_proj.weight",
        "h.0.attn.c_proj.bias",
        "h.0.ln_2.weight",
        "h.0.ln_2.bias",
        "h.0.mlp.c_fc.weight",
        "h.0.mlp.c_fc.bias",
        "h.0.mlp.c_proj.weight",
        "h.0.mlp.c_proj.bias",
        "h.1.ln_1.weight",
    };
    hki_model_t *model = NULL;
    size_t offset = 0;

    (void)state;
    assert_ok(hki_model_create(&gpt_config, 0, 1, &model));
    assert_int_equal(hki_model_num_blocks(model), 4);
    assert_int_equal(hki_model_num_params(model), 2 + 2 * 12 + 3);
    assert_int_equal(hki_model_config(model)->num_hidden, 4 * 96);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_string_equal(hki_model_param(model, (int)i)->name, names[i]);
    }
    for (int i = 0; i < hki_model_num_params(model); i++) {
        const hki_param_info_t *p = hki_model_param(model, i);

        assert_int_equal(p->offset, offset);
        assert_int_equal(p->count, p->shape[0] * p->shape[1]);
        assert_int_equal(p->has_decay, p->ndim == 2);
        offset += p->count;
    }
    assert_int_equal(hki_model_count(model), offset);
    const hki_param_info_t *last = hki_model_param(model, hki_model_num_params(model) - 1);
    assert_string_equal(last->name, "lm_head.weight");
    assert_int_equal(last->tie, 0);
    assert_string_equal(hki_model_block(model, 3)->name, "head");
    hki_model_destroy(&model);
    assert_null(model);
}

static void parts_of_all_ranks_make_the_whole(void **state)
{
    hki_model_t *one = NULL;
    hki_model_t *model = NULL;

    (void)state;
    assert_ok(hki_model_create(&gpt_config, 0, 1, &one));
    assert_ok(hki_model_create(&gpt_config, 2, 3, &model));
    for (int i = 0; i < hki_model_num_params(one); i++) {
        const hki_param_info_t *p = hki_model_param(model, i);
        float *whole = run_floats(p->global_count);
        float *built = run_floats(p->global_count);
        float *part = run_floats(p->count);
        size_t covered = 0;

        for (size_t j = 0; j < p->global_count; j++) {
            whole[j] = (float)(j + 1);
        }
        for (int r = 0; r < 3; r++) {
            hki_param_get(model, i, r, whole, part);
            for (size_t j = 0; j < p->count; j++) {
                assert_true(part[j] == whole[hki_param_global_index(model, i, r, j)]);
            }
            hki_param_put(model, i, r, part, built);
            covered += p->count;
        }
        assert_memory_equal(built, whole, p->global_count * sizeof(*whole));
        assert_int_equal(covered, p->split_dim < 0 ? 3 * p->global_count : p->global_count);
        hki_free(whole);
        hki_free(built);
        hki_free(part);
    }
    hki_model_destroy(&one);
    hki_model_destroy(&model);
}

/** A rank's queries, keys and values are those of its heads, not a third of all columns. */
static void each_of_queries_keys_and_values_is_divided(void **state)
{
    hki_model_t *model = NULL;

    (void)state;
    assert_ok(hki_model_create(&gpt_config, 1, 2, &model));
    const hki_param_info_t *p = hki_model_param(model, 5); // h.0.attn.c_attn.bias (288,)
    assert_int_equal(p->count, 144);
    assert_int_equal(hki_param_global_index(model, 5, 1, 0), 48);
    assert_int_equal(hki_param_global_index(model, 5, 1, 47), 95);
    assert_int_equal(hki_param_global_index(model, 5, 1, 48), 96 + 48);
    assert_int_equal(hki_param_global_index(model, 5, 1, 143), 287);
    hki_model_destroy(&model);
}

static void initial_weights_do_not_depend_on_the_layout(void **state)
{
    hki_model_t *one = NULL;
    hki_model_t *model = NULL;

    (void)state;
    assert_ok(hki_model_create(&gpt_config, 0, 1, &one));
    assert_ok(hki_model_create(&gpt_config, 1, 2, &model));
    for (int i = 0; i < hki_model_num_params(one); i++) {
        const hki_param_info_t *p = hki_model_param(model, i);
        float *whole = run_floats(p->global_count);
        float *want = run_floats(p->count);
        float *got = run_floats(p->count);
        const size_t cut = p->count / 3;

        hki_param_init(one, i, 42, 0, p->global_count, whole);
        hki_param_get(model, i, 1, whole, want);
        hki_param_init(model, i, 42, 0, cut, got);
        hki_param_init(model, i, 42, cut, p->count - cut, got + cut);
        assert_memory_equal(got, want, p->count * sizeof(*got));
        hki_free(whole);
        hki_free(want);
        hki_free(got);
    }
    hki_model_destroy(&one);
    hki_model_destroy(&model);
}

static void initial_weights_have_their_deviation(void **state)
{
    hki_model_t *model = NULL;
    double squares = 0.0;
    double sum = 0.0;

    (void)state;
    assert_ok(hki_model_create(&gpt_config, 0, 1, &model));
    const hki_param_info_t *p = hki_model_param(model, 6); // residual projection, 96 x 96
    float *x = run_floats(p->count);
    hki_param_init(model, 6, 1, 0, p->count, x);
    for (size_t i = 0; i < p->count; i++) {
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
    }
    assert_true(fabs(sum / (double)p->count) < 0.0005);
    assert_true(fabs(sqrt(squares / (double)p->count) - 0.02 / sqrt(4.0)) < 0.0005);
    hki_free(x);
    hki_model_destroy(&model);
}

static void bad_configurations_are_refused(void **state)
{
    const struct {
        hki_model_config_t config;
        int rank;
        int nranks;
    } cases[] = {
        {{.kind = (hki_model_kind_t)7, .num_layers = 1, .num_dim = 4}, 0, 1},
        {{.kind = HKI_MODEL_MLP, .num_layers = 0, .num_dim = 4}, 0, 1},
        {{.kind = HKI_MODEL_MLP, .num_layers = 1, .num_dim = 0}, 0, 1},
        {{.kind = HKI_MODEL_MLP, .num_layers = 1, .num_dim = 2147483647}, 0, 1},
        {{.kind = HKI_MODEL_MLP, .num_layers = 1, .num_dim = 4}, 0, 3},
        {{.kind = HKI_MODEL_MLP, .num_layers = 1, .num_dim = 4}, 2, 2},
        {{.kind = HKI_MODEL_MLP, .num_layers = 1, .num_dim = 4}, -1, 2},
        {{.kind = HKI_MODEL_MLP, .num_layers = 1, .num_dim = 4}, 0, 0},
        {{HKI_MODEL_GPT, 1, 10, 3, 0, 5, 5}, 0, 1},  // heads do not divide dim
        {{HKI_MODEL_GPT, 1, 12, 3, 0, 5, 5}, 0, 2},  // ranks do not divide heads
        {{HKI_MODEL_GPT, 1, 12, 2, 15, 5, 5}, 0, 2}, // nor hidden
        {{HKI_MODEL_GPT, 1, 12, 0, 0, 5, 5}, 0, 1},
        {{HKI_MODEL_GPT, 1, 12, 3, -4, 5, 5}, 0, 1},
        {{HKI_MODEL_GPT, 1, 12, 3, 0, 1, 5}, 0, 1},
        {{HKI_MODEL_GPT, 1, 12, 3, 0, 5, 0}, 0, 1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        hki_model_t *model = NULL;
        const hk_status_t status =
            hki_model_create(&cases[i].config, cases[i].rank, cases[i].nranks, &model);

        if (status != HK_ERR_INVALID_ARG || model != NULL) {
            fail_msg("case %zu: status %d", i, (int)status);
        }
    }
}

static void any_allocation_of_create_may_fail(void **state)
{
    hki_model_t *model = NULL;
    hk_status_t status = HK_ERR_NO_MEMORY;
    const size_t live = hki_alloc_live();
    size_t n = 0;

    (void)state;
    while (status != HK_OK) {
        hki_alloc_fail_at(++n);
        status = hki_model_create(&gpt_config, 0, 1, &model);
        hki_alloc_fail_at(0);
        if (status != HK_OK) {
            assert_int_equal(status, HK_ERR_NO_MEMORY);
            assert_null(model);
            assert_int_equal(hki_alloc_live(), live);
        }
    }
    assert_int_equal(n, 4); // model, blocks, params
    hki_model_destroy(&model);
    assert_int_equal(hki_alloc_live(), live);
}

static void bad_units_are_refused(void **state)
{
    int32_t ids[4] = {0, 299, 300, -1};
    hki_unit_t unit = {.num_sequences = 1, .num_tokens = 4, .ids = ids, .targets = ids};
    run_t run;

    (void)state;
    assert_ok(run_open(&run, &gpt_config, 0, 1, &unit));
    assert_int_equal(run_forward(&run), HK_ERR_INVALID_ARG); // id 300
    run.unit.num_tokens = 2;
    assert_ok(run_forward(&run));
    run.unit.targets = ids + 2;
    assert_int_equal(run_forward(&run), HK_ERR_INVALID_ARG);
    run.unit.targets = ids;
    run.unit.num_tokens = 81; // the context is 80
    assert_int_equal(run_forward(&run), HK_ERR_INVALID_ARG);
    run.unit.num_tokens = 0;
    assert_int_equal(run_forward(&run), HK_ERR_INVALID_ARG);
    run.unit.num_tokens = 2;
    run.unit.num_sequences = 0;
    assert_int_equal(run_backward(&run), HK_ERR_INVALID_ARG);
    run_close(&run);
}

/** Loss and gradients of one unit with `nthreads` threads, into (count + 1,). */
static void compute(const hki_model_config_t *config, const hki_unit_t *unit, int nthreads,
                    double *loss, float *grads)
{
    run_t run;

    hki_tensor_set_threads(nthreads);
    assert_ok(run_open(&run, config, 0, 1, unit));
    run_disturb(&run);
    for (int i = 0; i < 2; i++) { // the second time with other contents of all buffers
        assert_ok(run_forward(&run));
        assert_ok(run_backward(&run));
    }
    *loss = run.loss;
    memcpy(grads, run.grads, hki_model_count(run.model) * sizeof(*grads));
    run_close(&run);
    hki_tensor_set_threads(1);
}

static void check_threads(const hki_model_config_t *config, int sequences, int tokens)
{
    int32_t ids[160];
    hki_model_t *model = NULL;
    double want_loss = 0.0;
    float *features = run_floats(160 * 300);
    const hki_unit_t unit = {sequences, tokens, ids, ids, features};
#if defined(__SANITIZE_THREAD__)
    const int most = 1; // the runtime of OpenMP is not made for this tool
#else
    const int most = 3;
#endif

    run_ids("ids", 300, ARRAY_LEN(ids), ids);
    run_normal("features", 1.0, 160 * 300, features);
    assert_ok(hki_model_create(config, 0, 1, &model));
    const size_t count = hki_model_count(model);
    float *want = run_floats(count);
    float *got = run_floats(count);
    compute(config, &unit, 1, &want_loss, want);
    for (int nthreads = 1; nthreads <= most; nthreads++) {
        double loss = 0.0;

        compute(config, &unit, nthreads, &loss, got);
        if (loss != want_loss || memcmp(got, want, count * sizeof(*got)) != 0) {
            fail_msg("%d threads: loss %a, want %a, or other gradients", nthreads, loss, want_loss);
        }
    }
    hki_model_destroy(&model);
    hki_free(features);
    hki_free(want);
    hki_free(got);
}

static void number_of_threads_changes_no_bit(void **state)
{
    (void)state;
    check_threads(&gpt_config, 2, 80);
    check_threads(&gpt_config, 1, 33);
    check_threads(&mlp_config, 150, 1);
}

static void logits_are_those_of_the_loss_at_the_last_position(void **state)
{
    int32_t ids[6];
    int32_t targets[6];
    const hki_unit_t unit = {2, 3, ids, targets, NULL};
    float logits[2 * 300];
    double loss = 0.0;
    run_t run;

    (void)state;
    run_ids("ids", 300, 6, ids);
    run_ids("targets", 300, 6, targets);
    assert_ok(run_open(&run, &gpt_config, 0, 1, &unit));
    run_disturb(&run);
    assert_ok(run_forward(&run));
    hki_block_io_t io = run_io(&run, 3);
    io.saved = NULL;
    assert_ok(hki_head_logits(run.model, &io, logits));
    // the mean loss of the last positions alone, by feeding the head nothing else
    float *last = run_floats(2 * 96);
    for (size_t s = 0; s < 2; s++) {
        double sum = 0.0;

        memcpy(last + s * 96, io.in + (s * 3 + 2) * 96, 96 * sizeof(*last));
        for (size_t v = 0; v < 300; v++) {
            sum += exp((double)logits[s * 300 + v]);
        }
        loss += (log(sum) - (double)logits[s * 300 + (size_t)targets[s * 3 + 2]]) / 2.0;
    }
    const int32_t last_targets[2] = {targets[2], targets[5]};
    run.unit = (hki_unit_t){2, 1, NULL, last_targets, NULL};
    io = run_io(&run, 3);
    io.in = last;
    assert_ok(hki_block_forward(run.model, 3, &io));
    assert_true(fabs(run.loss - loss) < 1e-5 * loss);
    hki_free(last);
    run_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpt_has_the_parameters_of_gpt_2_in_their_order),
        cmocka_unit_test(parts_of_all_ranks_make_the_whole),
        cmocka_unit_test(each_of_queries_keys_and_values_is_divided),
        cmocka_unit_test(initial_weights_do_not_depend_on_the_layout),
        cmocka_unit_test(initial_weights_have_their_deviation),
        cmocka_unit_test(bad_configurations_are_refused),
        cmocka_unit_test(any_allocation_of_create_may_fail),
        cmocka_unit_test(bad_units_are_refused),
        cmocka_unit_test(number_of_threads_changes_no_bit),
        cmocka_unit_test(logits_are_those_of_the_loss_at_the_last_position),
    };
    return cmocka_run_group_tests_name("model/model", tests, NULL, NULL);
}
