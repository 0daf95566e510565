/*
 * The executor. Method: all ranks' engines run in this one thread over a fake net whose seed
 * decides when anything finds room, is seen or counts as read; schedules are built here by hand,
 * so that no algorithm of the library is needed. Whatever the order, the results are the same.
 */
#include "support/hk_test.h"

#include <stdio.h>

#include "exec/exec.h"
#include "fake.h"

enum { NRANKS = 4, COUNT_MAX = 200, SEEDS = 40, ROUNDS_MAX = 100000 };

/** Every rank: send both halves of IN to all, reduce both into OUT. */
static hk_schedule_t *all_reduce_schedule(int rank, int nranks, size_t count)
{
    hk_schedule_opts_t opts = hk_schedule_opts_default();
    hk_builder_t *builder = NULL;
    hk_schedule_t *schedule = NULL;
    const size_t half = count / 2;

    opts.rank = rank;
    opts.nranks = nranks;
    opts.count = count;
    assert_ok(hk_builder_open(&opts, &builder));
    for (int part = 0; part < 2; part++) {
        const size_t length = part == 0 ? half : count - half;
        const hk_span_t in = {HK_REGION_IN, 0, part == 0 ? 0 : half, length};
        const hk_span_t out = {HK_REGION_OUT, 0, in.offset, length};
        hk_operand_t operands[FAKE_RANKS_MAX];

        for (int r = 0; r < nranks; r++) {
            operands[r] = (hk_operand_t){.peer = r == rank ? -1 : r, .is_partial = 0, .span = in};
            if (r != rank) {
                hk_builder_send(builder, r, in);
            }
        }
        hk_builder_reduce(builder, out, operands, nranks);
    }
    assert_ok(hk_builder_finish(&builder, &schedule));
    return schedule;
}

/** Around the ring, twice through TMP: every pass overwrites what was sent direct before. */
static hk_schedule_t *ring_schedule(int rank, int nranks, size_t count)
{
    hk_schedule_opts_t opts = hk_schedule_opts_default();
    hk_builder_t *builder = NULL;
    hk_schedule_t *schedule = NULL;
    const hk_span_t in = {HK_REGION_IN, 0, 0, count};
    const hk_span_t out = {HK_REGION_OUT, 0, 0, count};
    const hk_span_t tmp = {HK_REGION_TMP, 0, 0, count};
    const hk_span_t second = {HK_REGION_TMP, 0, count, count};
    const int right = (rank + 1) % nranks;
    const int left = (rank + nranks - 1) % nranks;

    opts.rank = rank;
    opts.nranks = nranks;
    opts.count = count;
    opts.tmp_count = 2 * count;
    assert_ok(hk_builder_open(&opts, &builder));
    hk_builder_copy(builder, tmp, in);
    for (int hop = 0; hop < 2 * nranks; hop++) { // back to where it came from, twice
        hk_builder_send(builder, right, tmp);
        hk_builder_recv(builder, left, second);
        hk_builder_copy(builder, tmp, second);
    }
    hk_builder_copy(builder, out, tmp);
    assert_ok(hk_builder_finish(&builder, &schedule));
    return schedule;
}

typedef hk_schedule_t *(*schedule_fn)(int rank, int nranks, size_t count);

/** All engines of a net. */
typedef struct cluster {
    fake_net_t net;
    fake_endpoint_t eps[NRANKS];
    hki_engine_t *engines[NRANKS];
    bool is_brief; /**< use brief forms where there are some */
    bool is_cast;  /**< of those, use casts where all ranks can */
    int briefs;    /**< operations that have one */
    int casts;
} cluster_t;

static void cluster_open(cluster_t *c, uint64_t seed)
{
    const hki_engine_opts_t opts = {
        .lane_first = 0, .lane_count = FAKE_LANES, .scratch_bytes = 4096};

    memset(c, 0, sizeof(*c));
    c->net.nranks = NRANKS;
    c->net.failure.rank = -1;
    c->net.dice = hki_random_key(seed, "fake");
    c->net.is_direct = seed % 2 == 1;
    c->net.is_remote = seed % 4 == 1;
    c->is_brief = seed % 8 < 4;
    c->is_cast = seed % 16 < 8;
    for (int r = 0; r < NRANKS; r++) {
        c->eps[r] = fake_endpoint(&c->net, r);
        assert_ok(hki_engine_create(&c->eps[r].base, &opts, &c->engines[r]));
    }
}

static void cluster_close(cluster_t *c)
{
    for (int r = 0; r < NRANKS; r++) {
        hki_engine_destroy(&c->engines[r]);
        for (int s = 0; s < NRANKS; s++) {
            for (int lane = 0; lane < 2 * FAKE_LANES; lane++) {
                fake_stream_t *stream = &c->net.streams[lane][r][s];

                while (stream->released < stream->sent) {
                    fake_release(&c->eps[s].base, lane, r);
                }
            }
        }
    }
    assert_int_equal(c->net.allocations, 0);
}

/** Random ranks make progress until all operations are done. What was done may be overwritten. */
static void cluster_run(cluster_t *c, hki_op_t *ops, size_t op_count, const char *where)
{
    for (int round = 0; round < ROUNDS_MAX; round++) {
        size_t done = 0;

        c->net.thrown++;
        (void)hki_engine_progress(c->engines[hki_random_below(c->net.dice, c->net.thrown, NRANKS)]);
        for (size_t i = 0; i < op_count; i++) {
            done += ops[i].is_done;
            if (ops[i].is_done && ops[i].in.base != NULL) {
                memset(ops[i].in.base, 0x77, ops[i].in.count * ops[i].elem_bytes);
                ops[i].in.base = NULL;
            }
        }
        if (done == op_count) {
            return;
        }
    }
    fail_msg("%s: not done after %d rounds", where, ROUNDS_MAX);
}

/** One operation on one rank, cut into tiles of `tile` elements. */
typedef struct job {
    hk_schedule_t *schedules[NRANKS];
    hk_schedule_t *lasts[NRANKS];
    hki_brief_t *briefs[NRANKS];
    int32_t in[NRANKS][COUNT_MAX];
    int32_t kept[NRANKS][COUNT_MAX]; /**< of in */
    int32_t out[NRANKS][COUNT_MAX];
} job_t;

static void job_post_rank(cluster_t *c, job_t *job, hki_op_t *op, int r, size_t count, size_t tile)
{
    const uint32_t number = op->op_number;
    const hki_brief_shape_t shape = {.count = count,
                                     .elem_bytes = 4,
                                     .acc_bytes = 4,
                                     .most_bytes = c->eps[r].base.inline_bytes,
                                     .is_cast =
                                         c->is_cast && hki_schedule_is_cast(job->schedules[r])};

    assert_ok(hki_engine_reserve(c->engines[r], job->schedules[r], 4, 4));
    if (c->is_brief && tile == count) {
        assert_ok(hki_brief_create(job->schedules[r], &shape, &job->briefs[r]));
        c->briefs += job->briefs[r] != NULL;
        c->casts += job->briefs[r] != NULL && shape.is_cast;
    }
    *op = (hki_op_t){
        .schedule = job->schedules[r],
        .last_schedule = job->lasts[r],
        .brief = job->briefs[r],
        .in = {.base = (char *)job->in[r], .stride = count, .count = count},
        .out = {.base = (char *)job->out[r], .stride = count, .count = count},
        .reduction = {.dtype = HK_I32, .op = HK_SUM, .nranks = NRANKS, .scalar = 1.0},
        .elem_bytes = 4,
        .acc_bytes = 4,
        .tile_count = tile,
        .ntiles = (count + tile - 1) / tile,
        .op_number = number,
        .check = 77,
        .hears_all = number % 3 == 0,
        .needs_agreement = number % 3 == 1,
        .deadline_ns = UINT64_MAX,
        .announcement = {.signature = "test"},
    };
    hki_engine_post(c->engines[r], op);
}

static void job_post(cluster_t *c, job_t *job, hki_op_t *ops, size_t count, size_t tile,
                     uint32_t number)
{
    for (int r = 0; r < NRANKS; r++) {
        ops[r].op_number = number;
        job_post_rank(c, job, &ops[r], r, count, tile);
    }
}

static void job_init(job_t *job, schedule_fn fn, size_t count, size_t tile, int which)
{
    const size_t last = count - (count - 1) / tile * tile;

    for (int r = 0; r < NRANKS; r++) {
        job->schedules[r] = fn(r, NRANKS, tile);
        job->lasts[r] = fn(r, NRANKS, last);
        job->briefs[r] = NULL;
        for (size_t i = 0; i < count; i++) { // each hexadecimal digit counts one rank
            job->in[r][i] = (int32_t)((i + 1 + (size_t)which) % 9 << (4 * r));
            job->kept[r][i] = job->in[r][i];
            job->out[r][i] = -1;
        }
    }
}

static void job_fini(job_t *job)
{
    for (int r = 0; r < NRANKS; r++) {
        hk_schedule_destroy(&job->schedules[r]);
        hk_schedule_destroy(&job->lasts[r]);
        hki_brief_destroy(&job->briefs[r]);
    }
}

static void job_check(const job_t *job, bool is_sum, size_t count, const char *where)
{
    for (int r = 0; r < NRANKS; r++) {
        for (size_t i = 0; i < count; i++) {
            int32_t want = job->kept[r][i];

            if (is_sum) {
                want = job->kept[0][i] + job->kept[1][i] + job->kept[2][i] + job->kept[3][i];
            }
            if (job->out[r][i] != want) {
                fail_msg("%s, rank %d, element %zu: got 0x%x, want 0x%x", where, r, i,
                         (unsigned)job->out[r][i], (unsigned)want);
            }
        }
    }
}

/** Several operations of both kinds outstanding at once, in every order the dice make. */
static void results_do_not_depend_on_the_order_of_events(void **state)
{
    const size_t counts[] = {1, 2, 3, 30, 200};
    const size_t tiles[] = {1, 2, 7, 200};

    int briefs = 0;
    int casts = 0;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const size_t count = counts[seed % ARRAY_LEN(counts)];
        const size_t tile =
            tiles[seed % ARRAY_LEN(tiles)] < count ? tiles[seed % ARRAY_LEN(tiles)] : count;
        static cluster_t c;
        static job_t jobs[3];
        static hki_op_t ops[3 * NRANKS];
        char where[96];

        (void)snprintf(where, sizeof(where), "seed %d, %zu elements in tiles of %zu", (int)seed,
                       count, tile);
        cluster_open(&c, seed);
        for (int j = 0; j < 3; j++) {
            job_init(&jobs[j], j == 1 ? ring_schedule : all_reduce_schedule, count, tile, j);
            job_post(&c, &jobs[j], &ops[j * NRANKS], count, tile, (uint32_t)j);
        }
        cluster_run(&c, ops, ARRAY_LEN(ops), where);
        for (int j = 0; j < 3; j++) {
            job_check(&jobs[j], j != 1, count, where);
            job_fini(&jobs[j]);
        }
        briefs += c.briefs;
        casts += c.casts;
        cluster_close(&c);
    }
    assert_in_range(briefs, 3 * NRANKS, SEEDS * 3 * NRANKS - 1);
    assert_in_range(casts, NRANKS, briefs - NRANKS);
}

/** Rank 0 posts more operations than may be started at once, before anyone else posts one. */
static void operations_beyond_the_limit_queue(void **state)
{
    enum { OPS = 3 * HKI_STARTED_MAX / 2 };
    static cluster_t c;
    static job_t jobs[OPS];
    static hki_op_t ops[OPS * NRANKS];

    (void)state;
    cluster_open(&c, 3);
    for (int r = 0; r < NRANKS; r++) {
        for (int k = 0; k < OPS; k++) {
            hki_op_t *op = &ops[k * NRANKS + r];

            if (r == 0) {
                job_init(&jobs[k], all_reduce_schedule, 3, 3, k);
            }
            op->op_number = (uint32_t)k;
            job_post_rank(&c, &jobs[k], op, r, 3, 3);
        }
        if (r == 0) {
            assert_true(c.net.is_logged[0][HKI_STARTED_MAX - 1]);
            assert_false(c.net.is_logged[0][HKI_STARTED_MAX]);
        }
    }
    cluster_run(&c, ops, ARRAY_LEN(ops), "queue");
    for (int k = 0; k < OPS; k++) {
        job_check(&jobs[k], true, 3, "queue");
        job_fini(&jobs[k]);
    }
    cluster_close(&c);
}

static void a_different_check_fails_all_ranks_and_names_both_calls(void **state)
{
    static cluster_t c;
    static job_t job;
    static hki_op_t ops[NRANKS];

    (void)state;
    cluster_open(&c, 1);
    job_init(&job, all_reduce_schedule, 3, 3, 0);
    for (int r = 0; r < NRANKS; r++) {
        const uint32_t check = r == 2 ? 88 : 77;

        assert_ok(hki_engine_reserve(c.engines[r], job.schedules[r], 4, 4));
        ops[r] = (hki_op_t){
            .schedule = job.schedules[r],
            .last_schedule = job.lasts[r],
            .in = {.base = (char *)job.in[r], .count = 3},
            .out = {.base = (char *)job.out[r], .count = 3},
            .reduction = {.dtype = HK_I32, .op = HK_SUM, .nranks = NRANKS},
            .elem_bytes = 4,
            .acc_bytes = 4,
            .tile_count = 3,
            .ntiles = 1,
            .check = check,
            .deadline_ns = UINT64_MAX,
        };
        (void)snprintf(ops[r].announcement.signature, HKI_SIGNATURE_BYTES, "call %s",
                       r == 2 ? "odd" : "usual");
        hki_engine_post(c.engines[r], &ops[r]);
    }
    cluster_run(&c, ops, NRANKS, "mismatch");
    for (int r = 0; r < NRANKS; r++) {
        assert_int_equal(ops[r].status, HK_ERR_MISMATCH);
    }
    assert_non_null(strstr(c.net.failure.text, "call odd"));
    assert_non_null(strstr(c.net.failure.text, "call usual"));
    assert_non_null(strstr(c.net.failure.text, "as operation 0"));
    job_fini(&job);
    cluster_close(&c);
}

static void watch_finds_a_difference_that_no_message_shows(void **state)
{
    static cluster_t c;
    static job_t job;
    static hki_op_t ops[NRANKS];
    const hki_announcement_t other = {.op_number = 0, .check = 99, .signature = "another call"};

    (void)state;
    cluster_open(&c, 1);
    job_init(&job, all_reduce_schedule, 3, 3, 0);
    fake_announce(&c.eps[1].base, &other, true);
    for (int r = 0; r < NRANKS; r++) {
        ops[r].is_done = true;
    }
    assert_ok(hki_engine_reserve(c.engines[0], job.schedules[0], 4, 4));
    ops[0] = (hki_op_t){.schedule = job.schedules[0],
                        .last_schedule = job.lasts[0],
                        .in = {.base = (char *)job.in[0], .count = 3},
                        .out = {.base = (char *)job.out[0], .count = 3},
                        .elem_bytes = 4,
                        .acc_bytes = 4,
                        .tile_count = 3,
                        .ntiles = 1,
                        .check = 77,
                        .deadline_ns = 5,
                        .announcement = {.signature = "this call"}};
    hki_engine_post(c.engines[0], &ops[0]);
    assert_null(hki_engine_overdue(c.engines[0], 4));
    assert_ptr_equal(hki_engine_overdue(c.engines[0], 5), &ops[0]);
    assert_ptr_equal(hki_engine_oldest(c.engines[0]), &ops[0]);
    hki_engine_watch(c.engines[0]);
    assert_true(ops[0].is_done);
    assert_int_equal(ops[0].status, HK_ERR_MISMATCH);
    assert_int_equal(c.net.failure.rank, 1);
    assert_null(hki_engine_oldest(c.engines[0]));
    job_fini(&job);
    cluster_close(&c);
}

static void cancel_ends_operations_now_and_later(void **state)
{
    static cluster_t c;
    static job_t job;
    static hki_op_t ops[NRANKS];

    (void)state;
    cluster_open(&c, 2);
    job_init(&job, all_reduce_schedule, 3, 3, 0);
    assert_ok(hki_engine_reserve(c.engines[0], job.schedules[0], 4, 4));
    hki_engine_cancel(c.engines[0], HK_ERR_ABORTED);
    job_post(&c, &job, ops, 3, 3, 0);
    assert_true(ops[0].is_done);
    assert_int_equal(ops[0].status, HK_ERR_ABORTED);
    assert_false(hki_engine_progress(c.engines[0]));
    for (int r = 1; r < NRANKS; r++) {
        hki_engine_cancel(c.engines[r], HK_ERR_PEER_FAILED);
        assert_int_equal(ops[r].status, HK_ERR_PEER_FAILED);
    }
    job_fini(&job);
    cluster_close(&c);
}

static void what_was_read_while_the_group_failed_is_no_success(void **state)
{
    static cluster_t c;
    static job_t job;
    static hki_op_t ops[NRANKS];

    (void)state;
    cluster_open(&c, 2);
    job_init(&job, all_reduce_schedule, 1, 1, 0); // a single message from each rank
    c.net.fails_after_reading = true;
    job_post(&c, &job, ops, 1, 1, 0);
    cluster_run(&c, ops, NRANKS, "failed meanwhile");
    for (int r = 0; r < NRANKS; r++) {
        assert_int_equal(ops[r].status, HK_ERR_TIMED_OUT);
    }
    job_fini(&job);
    c.net.fails_after_reading = false;
    cluster_close(&c);
}

static void scratch_beyond_the_limit_is_refused(void **state)
{
    static cluster_t c;
    hk_schedule_t *schedule = ring_schedule(0, NRANKS, 600); // TMP of 1200 elements

    (void)state;
    cluster_open(&c, 0);
    assert_int_equal(hki_engine_reserve(c.engines[0], schedule, 4, 4), HK_ERR_LIMIT);
    assert_ok(hki_engine_reserve(c.engines[0], schedule, 2, 4));
    hk_schedule_destroy(&schedule);
    cluster_close(&c);
}

static void every_allocation_may_fail(void **state)
{
    hk_schedule_t *schedule = ring_schedule(0, NRANKS, 10);
    bool has_failed = true;

    (void)state;
    for (size_t n = 1; has_failed; n++) {
        static fake_net_t net;
        const size_t live = hki_alloc_live();
        const hki_engine_opts_t opts = {
            .lane_first = 0, .lane_count = FAKE_LANES, .scratch_bytes = 4096};
        hki_engine_t *engine = NULL;

        net.nranks = NRANKS;
        fake_endpoint_t ep = fake_endpoint(&net, 0);
        hki_alloc_fail_at(n);
        hk_status_t status = hki_engine_create(&ep.base, &opts, &engine);
        if (status == HK_OK) {
            status = hki_engine_reserve(engine, schedule, 4, 4);
        }
        hki_alloc_fail_at(0);
        has_failed = status != HK_OK;
        if (has_failed) {
            assert_int_equal(status, HK_ERR_NO_MEMORY);
        }
        hki_engine_destroy(&engine);
        assert_int_equal(hki_alloc_live(), live);
        assert_in_range(n, 1, 100);
    }
    hk_schedule_destroy(&schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_do_not_depend_on_the_order_of_events),
        cmocka_unit_test(operations_beyond_the_limit_queue),
        cmocka_unit_test(a_different_check_fails_all_ranks_and_names_both_calls),
        cmocka_unit_test(watch_finds_a_difference_that_no_message_shows),
        cmocka_unit_test(cancel_ends_operations_now_and_later),
        cmocka_unit_test(what_was_read_while_the_group_failed_is_no_success),
        cmocka_unit_test(scratch_beyond_the_limit_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests_name("exec/engine", tests, NULL, NULL);
}
