/**
 * @file trainer_test.c
 * @brief Tests of src/train/trainer*.c, with ranks as threads.
 *
 * Method: a few steps of a tiny model on every layout; losses, the norm, the held-out loss, the
 * sample and the digest of the weights must be those of one rank, to the bit (model axis: within
 * rounding). Rank threads only return a status and their results; the main thread looks at them.
 */
#include "support/hk_test.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hocket/comm.h>

#include "base/alloc.h"
#include "train/trainer.h"

enum { STEPS = 3, RANKS_MAX = 8, SAMPLE = 12, TEXT_BYTES = 3000, TIMEOUT_MS = 20000 };

/** What a run leaves behind; the same on all ranks but the digest and the sample. */
typedef struct results {
    double losses[STEPS];
    double norms[STEPS];
    double held_out_loss;
    char digest[HKI_DIGEST_TEXT_BYTES];
    int32_t ids[SAMPLE + 1];
} results_t;

typedef struct rank {
    const hki_train_config_t *config;
    hk_comm_t *comm;
    hk_status_t status;
    char error[256];
    results_t results;
} rank_t;

static char text_path[64];

static int text_write(void **state)
{
    static const char words[] = "the cat sat on the mat and the dog ran after it; ";
    FILE *file;
    int fd;

    (void)state;
    (void)snprintf(text_path, sizeof(text_path), "/tmp/hocket_trainer_XXXXXX");
    fd = mkstemp(text_path);
    file = fd < 0 ? NULL : fdopen(fd, "wb");
    for (int i = 0; file != NULL && i < TEXT_BYTES; i++) {
        (void)fputc(words[(size_t)(i * (1 + i % 3)) % (sizeof(words) - 1)], file);
    }
    return file == NULL || fclose(file) != 0 ? -1 : 0;
}

static int text_remove(void **state)
{
    (void)state;
    return remove(text_path);
}

static hki_train_config_t config_of(hki_model_kind_t kind, const char *mesh, const char *pipeline)
{
    hki_train_config_t config = {
        .model = {.kind = kind, .num_layers = 4, .num_dim = 16},
        .pipeline = pipeline,
        .batch = 8,
        .unit = 1,
        .seed = 3,
        .rate = {HKI_RATE_COSINE, 0.01, 0.001, 1, STEPS},
        .optimizer = {HKI_OPTIMIZER_ADAMW, 0.9, 0.95, 1e-8, 0.1},
        .clip = 0.5,
        .eval_units = 16,
        .is_exact = true,
    };

    if (kind == HKI_MODEL_GPT) {
        config.model.num_heads = 4;
        config.model.num_vocab = 256;
        config.model.num_context = 8;
    }
    assert_ok(hki_mesh_shape_parse(mesh, &config.shape));
    return config;
}

static hk_status_t trainer_use(hki_trainer_t *trainer, results_t *results)
{
    const bool is_gpt = results->ids[0] != 0;
    hk_status_t status = HK_OK;

    for (int step = 0; status == HK_OK && step < STEPS; step++) {
        hki_step_report_t report = {0};
        status = hki_trainer_step(trainer, &report);
        results->losses[step] = report.loss;
        results->norms[step] = report.grad_norm;
    }
    if (status == HK_OK) {
        status = hki_trainer_evaluate(trainer, &results->held_out_loss);
    }
    if (status == HK_OK && is_gpt) {
        status = hki_trainer_sample(trainer, 1.0, results->ids, 1, SAMPLE);
    }
    if (status == HK_OK) {
        status = hki_trainer_digest(trainer, results->digest);
    }
    return status;
}

static void *rank_run(void *cookie)
{
    rank_t *rank = cookie;
    const bool is_gpt = rank->config->model.kind == HKI_MODEL_GPT;
    const char *const path = text_path;
    hki_corpus_t *corpus = NULL;
    hki_trainer_t *trainer = NULL;

    rank->results.ids[0] = is_gpt ? 't' : 0;
    rank->status = is_gpt ? hki_corpus_open(&path, 1, HKI_VOCAB_BYTES, &corpus) : HK_OK;
    if (rank->status == HK_OK) {
        rank->status = hki_trainer_create(rank->config, corpus, rank->comm, &trainer);
    }
    if (rank->status == HK_OK) {
        rank->status = trainer_use(trainer, &rank->results);
    }
    (void)snprintf(rank->error, sizeof(rank->error), "%s", hk_last_error());
    hki_trainer_destroy(&trainer);
    hki_corpus_close(&corpus);
    hk_comm_close(&rank->comm);
    return NULL;
}

/** Train on all ranks of a configuration. Fails the test on an error; returns rank 0's results. */
static results_t config_run(const hki_train_config_t *config, const char *mesh)
{
    const int nranks = hki_mesh_shape_ranks(&config->shape);
    const char *pipeline = config->pipeline;
    static rank_t ranks[RANKS_MAX];
    hk_comm_t *comms[RANKS_MAX];
    pthread_t threads[RANKS_MAX];

    hk_comm_opts_t opts = hk_comm_opts_default();

    memset(ranks, 0, sizeof(ranks));
    opts.timeout_ms = TIMEOUT_MS;
    if (hki_train_config_check(config) != HK_OK) {
        fail_msg("%s %s: %s", mesh, pipeline, hk_last_error());
    }
    assert_ok(hk_comm_open_threads(&opts, nranks, comms));
    for (int r = 0; r < nranks; r++) {
        ranks[r].config = config;
        ranks[r].comm = comms[r];
        assert_int_equal(pthread_create(&threads[r], NULL, rank_run, &ranks[r]), 0);
    }
    for (int r = 0; r < nranks; r++) {
        assert_int_equal(pthread_join(threads[r], NULL), 0);
    }
    for (int r = 0; r < nranks; r++) {
        if (ranks[r].status != HK_OK) {
            fail_msg("%s %s, rank %d: %s (%s)", mesh, pipeline, r, ranks[r].error,
                     hk_status_text(ranks[r].status));
        }
        for (int step = 0; step < STEPS; step++) {
            if (ranks[r].results.losses[step] != ranks[0].results.losses[step]) {
                fail_msg("%s %s: rank %d has other losses than rank 0", mesh, pipeline, r);
            }
        }
    }
    return ranks[0].results;
}

static results_t layout_run(hki_model_kind_t kind, const char *mesh, const char *pipeline)
{
    const hki_train_config_t config = config_of(kind, mesh, pipeline);

    return config_run(&config, mesh);
}

static const struct {
    const char *mesh;
    const char *pipeline;
} exact_layouts[] = {
    {"data=2", "1f1b"},        {"data=4", "1f1b"},         {"data=8", "1f1b"},
    {"pipe=2", "gpipe"},       {"pipe=2", "1f1b"},         {"pipe=4", "gpipe"},
    {"pipe=4", "1f1b"},        {"data=2,pipe=2", "gpipe"}, {"data=2,pipe=2", "1f1b"},
    {"data=2,pipe=4", "1f1b"}, {"data=4,pipe=2", "1f1b"},
};

static void keeps_the_bits(hki_model_kind_t kind)
{
    const results_t want = layout_run(kind, "", "1f1b");

    assert_true(want.losses[STEPS - 1] != want.losses[0]);
    assert_int_equal(strlen(want.digest), HKI_DIGEST_TEXT_BYTES - 1);
    for (size_t i = 0; i < ARRAY_LEN(exact_layouts); i++) {
        const char *mesh = exact_layouts[i].mesh;
        const results_t got = layout_run(kind, mesh, exact_layouts[i].pipeline);
        for (int step = 0; step < STEPS; step++) {
            if (got.losses[step] != want.losses[step] || got.norms[step] != want.norms[step]) {
                fail_msg("%s %s step %d: loss %a norm %a, want %a and %a", mesh,
                         exact_layouts[i].pipeline, step, got.losses[step], got.norms[step],
                         want.losses[step], want.norms[step]);
            }
        }
        if (got.held_out_loss != want.held_out_loss || strcmp(got.digest, want.digest) != 0 ||
            memcmp(got.ids, want.ids, sizeof(want.ids)) != 0) {
            fail_msg("%s %s: held-out loss %a, want %a; digest %s, want %s", mesh,
                     exact_layouts[i].pipeline, got.held_out_loss, want.held_out_loss, got.digest,
                     want.digest);
        }
    }
}

static void trains_a_gpt_to_the_same_bits_on_every_layout(void **state)
{
    (void)state;
    keeps_the_bits(HKI_MODEL_GPT);
}

static void trains_an_mlp_to_the_same_bits_on_every_layout(void **state)
{
    (void)state;
    keeps_the_bits(HKI_MODEL_MLP);
}

static void stays_within_rounding_when_matrices_are_divided(void **state)
{
    static const char *const meshes[] = {"model=2", "model=4", "data=2,model=2", "pipe=2,model=2",
                                         "data=2,pipe=2,model=2"};
    (void)state;

    for (int kind = HKI_MODEL_MLP; kind <= HKI_MODEL_GPT; kind++) {
        const results_t want = layout_run((hki_model_kind_t)kind, "", "1f1b");
        for (size_t i = 0; i < ARRAY_LEN(meshes); i++) {
            const results_t got = layout_run((hki_model_kind_t)kind, meshes[i], "1f1b");
            for (int step = 0; step < STEPS; step++) {
                const double error = fabs(got.losses[step] / want.losses[step] - 1);
                if (!(error <= 1e-5) || !(fabs(got.norms[step] / want.norms[step] - 1) <= 1e-4)) {
                    fail_msg("kind %d %s step %d: loss %g off by %g, norm %g, want %g", kind,
                             meshes[i], step, got.losses[step], error, got.norms[step],
                             want.norms[step]);
                }
            }
        }
    }
}

/** Digest after steps with a rate of 0: that of the initial weights. */
static results_t initial(hki_model_kind_t kind, const char *mesh)
{
    hki_train_config_t config = config_of(kind, mesh, "1f1b");

    config.rate.peak = 0;
    config.rate.floor = 0;
    return config_run(&config, mesh);
}

static void puts_parts_together_to_the_same_weights(void **state)
{
    static const char *const meshes[] = {"model=2", "model=4", "pipe=2,model=2",
                                         "data=2,pipe=2,model=2"};
    (void)state;

    for (int kind = HKI_MODEL_MLP; kind <= HKI_MODEL_GPT; kind++) {
        const results_t want = initial((hki_model_kind_t)kind, "");
        for (size_t i = 0; i < ARRAY_LEN(meshes); i++) {
            const results_t got = initial((hki_model_kind_t)kind, meshes[i]);
            if (strcmp(got.digest, want.digest) != 0) {
                fail_msg("kind %d %s: digest %s, want %s", kind, meshes[i], got.digest,
                         want.digest);
            }
        }
    }
}

static void refuses_what_cannot_be_run(void **state)
{
    const struct {
        const char *mesh;
        int batch, unit;
        const char *named;
    } cases[] = {
        {"data=3", 8, 1, "8 units do not divide over data=3"},
        {"data=2", 12, 1, "not a power of two"},
        {"", 8, 3, "--batch 8 is not a multiple of --unit 3"},
        {"pipe=8", 8, 1, "needs at least 8 layers"},
        {"data=8,pipe=2", 4, 1, "4 units do not divide over data=8"},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        hki_train_config_t config = config_of(HKI_MODEL_GPT, cases[i].mesh, "1f1b");
        config.batch = cases[i].batch;
        config.unit = cases[i].unit;
        if (hki_train_config_check(&config) != HK_ERR_INVALID_ARG ||
            strstr(hk_last_error(), cases[i].named) == NULL) {
            fail_msg("%s, batch %d, unit %d: %s", cases[i].mesh, cases[i].batch, cases[i].unit,
                     hk_last_error());
        }
    }
    hki_train_config_t config = config_of(HKI_MODEL_GPT, "data=2", "1f1b");
    config.batch = 12;
    config.eval_units = 12;
    config.is_exact = false; // then it is allowed
    assert_ok(hki_train_config_check(&config));
}

static hk_status_t one_rank(void)
{
    const hki_train_config_t config = config_of(HKI_MODEL_MLP, "", "1f1b");
    hk_comm_t *comm = NULL;
    hki_trainer_t *trainer = NULL;
    hki_step_report_t report;
    hk_status_t status = hk_comm_open_threads(NULL, 1, &comm);

    if (status == HK_OK) {
        status = hki_trainer_create(&config, NULL, comm, &trainer);
    }
    if (status == HK_OK) {
        status = hki_trainer_step(trainer, &report);
    }
    hki_trainer_destroy(&trainer);
    hk_comm_close(&comm);
    return status;
}

static void survives_the_failure_of_any_allocation(void **state)
{
    hk_status_t status = one_rank(); // caches that outlive a trainer are filled
    const size_t live = hki_alloc_live();
    size_t n = 0;
    (void)state;

    assert_ok(status);
    for (status = HK_ERR_NO_MEMORY; status != HK_OK;) {
        hki_alloc_fail_at(++n);
        status = one_rank();
        hki_alloc_fail_at(0);
        if (status != HK_OK && status != HK_ERR_NO_MEMORY) {
            fail_msg("allocation %zu: %s (%s)", n, hk_last_error(), hk_status_text(status));
        }
        assert_int_equal(hki_alloc_live(), live);
    }
    assert_true(n > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trains_a_gpt_to_the_same_bits_on_every_layout),
        cmocka_unit_test(trains_an_mlp_to_the_same_bits_on_every_layout),
        cmocka_unit_test(stays_within_rounding_when_matrices_are_divided),
        cmocka_unit_test(puts_parts_together_to_the_same_weights),
        cmocka_unit_test(refuses_what_cannot_be_run),
        cmocka_unit_test(survives_the_failure_of_any_allocation),
    };
    return cmocka_run_group_tests_name("train/trainer", tests, text_write, text_remove);
}
