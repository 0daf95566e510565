/**
 * @file parallel_test.c
 * @brief Tensor parallel models against the model of one rank.
 *
 * Method: each model rank is a thread; the hook adds the ranks' buffers in the order of the ranks
 * between two barriers. Loss within 1e-5 relative; gradients, put together from the parts, within
 * 1e-5 of the largest in their tensor; replicated gradients equal to the bit on all ranks.
 */
#include "support/hk_test.h"

#include <math.h>
#include <pthread.h>

#include "unit/model/run.h"

#define RANKS_MAX 4
#define ROWS      24

typedef struct group {
    int nranks;
    pthread_barrier_t barrier;
    float *buffers[RANKS_MAX];
    int calls; // of the hook, by rank 0
} group_t;

typedef struct member {
    group_t *group;
    int rank;
    run_t run;
    const hki_model_config_t *config;
    const hki_unit_t *unit;
    hk_status_t status;
    int sums_forward;
} member_t;

static const hki_model_config_t gpt_config = {
    .kind = HKI_MODEL_GPT,
    .num_layers = 2,
    .num_dim = 16,
    .num_heads = 4,
    .num_vocab = 13,
    .num_context = 12,
};

static const hki_model_config_t mlp_config = {
    .kind = HKI_MODEL_MLP,
    .num_layers = 3,
    .num_dim = 12,
};

static hk_status_t sum_ranks(void *cookie, float *x, size_t count)
{
    member_t *member = cookie;
    group_t *group = member->group;

    group->buffers[member->rank] = x;
    pthread_barrier_wait(&group->barrier);
    if (member->rank == 0) {
        group->calls++;
        for (size_t i = 0; i < count; i++) {
            float sum = group->buffers[0][i];

            for (int r = 1; r < group->nranks; r++) {
                sum += group->buffers[r][i];
            }
            for (int r = 0; r < group->nranks; r++) {
                group->buffers[r][i] = sum;
            }
        }
    }
    pthread_barrier_wait(&group->barrier);
    return HK_OK;
}

static void *member_main(void *cookie)
{
    member_t *m = cookie;

    m->status = run_open(&m->run, m->config, m->rank, m->group->nranks, m->unit);
    if (m->status != HK_OK) {
        return NULL; // all ranks fail alike: nobody waits in the hook
    }
    run_disturb(&m->run);
    m->run.sum = m->group->nranks > 1 ? sum_ranks : NULL;
    m->run.sum_cookie = m;
    m->status = run_forward(&m->run);
    m->sums_forward = m->group->calls;
    if (m->status == HK_OK) {
        m->status = run_backward(&m->run);
    }
    return NULL;
}

static void group_run(const hki_model_config_t *config, const hki_unit_t *unit, int nranks,
                      member_t members[RANKS_MAX], group_t *group)
{
    pthread_t threads[RANKS_MAX];

    *group = (group_t){.nranks = nranks};
    assert_int_equal(pthread_barrier_init(&group->barrier, NULL, (unsigned)nranks), 0);
    for (int r = 0; r < nranks; r++) {
        members[r] = (member_t){.group = group, .rank = r, .config = config, .unit = unit};
        assert_int_equal(pthread_create(&threads[r], NULL, member_main, &members[r]), 0);
    }
    for (int r = 0; r < nranks; r++) {
        pthread_join(threads[r], NULL);
    }
    pthread_barrier_destroy(&group->barrier);
    for (int r = 0; r < nranks; r++) {
        assert_ok(members[r].status);
    }
}

static void check_gradients(const member_t *one, const member_t *members, int nranks)
{
    for (int i = 0; i < hki_model_num_params(one->run.model); i++) {
        const hki_param_info_t *whole = hki_model_param(one->run.model, i);
        const float *want = one->run.grads + whole->offset;
        float *got = run_floats(whole->global_count);
        double largest = 1e-4;

        for (int r = 0; r < nranks; r++) {
            const hki_param_info_t *p = hki_model_param(members[r].run.model, i);
            const float *part = members[r].run.grads + p->offset;

            if (p->split_dim < 0 && r > 0) {
                assert_memory_equal(part, got, p->count * sizeof(*part));
            }
            hki_param_put(members[r].run.model, i, r, part, got);
        }
        for (size_t j = 0; j < whole->count; j++) {
            largest = fabs((double)want[j]) > largest ? fabs((double)want[j]) : largest;
        }
        for (size_t j = 0; j < whole->count; j++) {
            if (!(fabs((double)got[j] - (double)want[j]) <= 1e-5 * largest)) {
                fail_msg("%d ranks, %s, element %zu: got %.9g, want %.9g", nranks, whole->name, j,
                         (double)got[j], (double)want[j]);
            }
        }
        hki_free(got);
    }
}

static void check_parallel(const hki_model_config_t *config, int nranks, int sequences, int tokens)
{
    int32_t ids[ROWS];
    int32_t targets[ROWS];
    float features[ROWS * 16];
    const hki_unit_t unit = {
        .num_sequences = sequences,
        .num_tokens = tokens,
        .ids = ids,
        .targets = targets,
        .features = features,
    };
    member_t one[RANKS_MAX];
    member_t members[RANKS_MAX];
    group_t group;
    int forward = 0;
    int backward = 0;

    run_ids("ids", 13, ROWS, ids);
    run_ids("targets", 13, ROWS, targets);
    run_normal("features", 1.0, ARRAY_LEN(features), features);
    group_run(config, &unit, 1, one, &group);
    group_run(config, &unit, nranks, members, &group);
    for (int i = 0; i < hki_model_num_blocks(members[0].run.model); i++) {
        forward += hki_model_block(members[0].run.model, i)->num_sums_forward;
        backward += hki_model_block(members[0].run.model, i)->num_sums_backward;
    }
    assert_int_equal(members[0].sums_forward, forward);
    assert_int_equal(group.calls, forward + backward);
    for (int r = 0; r < nranks; r++) {
        assert_true(fabs(members[r].run.loss - one[0].run.loss) <= 1e-5 * one[0].run.loss);
        assert_true(members[r].run.loss == members[0].run.loss);
    }
    check_gradients(&one[0], members, nranks);
    run_close(&one[0].run);
    for (int r = 0; r < nranks; r++) {
        run_close(&members[r].run);
    }
}

static void gpt_of_2_and_4_model_ranks_equals_that_of_one(void **state)
{
    (void)state;
    check_parallel(&gpt_config, 2, 2, 12);
    check_parallel(&gpt_config, 4, 2, 12);
    check_parallel(&gpt_config, 4, 1, 1);
}

static void mlp_of_2_and_4_model_ranks_equals_that_of_one(void **state)
{
    (void)state;
    check_parallel(&mlp_config, 2, 9, 1);
    check_parallel(&mlp_config, 4, 9, 1);
    check_parallel(&mlp_config, 3, 1, 1);
}

static hk_status_t sum_fails(void *cookie, float *x, size_t count)
{
    int *left = cookie;

    (void)x;
    (void)count;
    return --*left < 0 ? HK_ERR_PEER_FAILED : HK_OK;
}

static void status_of_the_hook_is_passed_on(void **state)
{
    int32_t ids[ROWS] = {0};
    const hki_unit_t unit = {.num_sequences = 2, .num_tokens = 3, .ids = ids, .targets = ids};
    run_t run;

    (void)state;
    assert_ok(run_open(&run, &gpt_config, 1, 2, &unit));
    run.sum = sum_fails;
    for (int calls = 0; calls < 8; calls++) { // 2 layers, 2 sums each, forward and backward
        int left = calls;

        run.sum_cookie = &left;
        hk_status_t status = run_forward(&run);
        if (status == HK_OK) {
            status = run_backward(&run);
        }
        assert_int_equal(status, HK_ERR_PEER_FAILED);
        assert_int_equal(left, -1);
    }
    run_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpt_of_2_and_4_model_ranks_equals_that_of_one),
        cmocka_unit_test(mlp_of_2_and_4_model_ranks_equals_that_of_one),
        cmocka_unit_test(status_of_the_hook_is_passed_on),
    };
    return cmocka_run_group_tests_name("model/parallel", tests, NULL, NULL);
}
