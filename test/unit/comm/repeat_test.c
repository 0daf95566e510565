/*
 * Calls without options, made again and again with buffers that lie differently each time: apart,
 * in place, one inside the other, other memory. Method: every sequence of three placements, every
 * collective, results against what they must be; other arguments in between.
 */
#include "support/hk_test.h"

#include "threads.h"

enum { NRANKS = 3, COUNT = 5, ROOM = NRANKS * COUNT, PLACES = 4, COLLS = 8, TURNS = 3 };

typedef struct memory {
    int32_t in[ROOM];
    int32_t out[ROOM];
    int32_t other[ROOM];
} memory_t;

/** The value of element i of rank r's input. */
static int32_t value_of(int r, int i)
{
    return (int32_t)(1000 * (r + 1) + i);
}

static bool is_in_large(int coll)
{
    return coll == 2 || coll == 5 || coll == 7; // scatter, reduce_scatter, all_to_all
}

static bool is_out_large(int coll)
{
    return coll == 3 || coll == 4 || coll == 7; // gather, all_gather, all_to_all
}

/** Where in and out lie: 0 apart, 1 in place, 2 this rank's part of the larger, 3 other memory. */
static void lay(memory_t *m, int rank, int coll, int place, int32_t **in, int32_t **out)
{
    const bool is_gather = is_out_large(coll) && !is_in_large(coll);
    const bool is_scatter = is_in_large(coll) && !is_out_large(coll);

    *in = place == 3 ? m->other : m->in;
    *out = m->out;
    if (place == 1) {
        *in = m->out;
    } else if (place == 2 && is_gather) {
        *in = m->out + (size_t)rank * COUNT;
    } else if (place == 2 && is_scatter) {
        *out = m->in + (size_t)rank * COUNT;
    }
}

static hk_status_t call(hk_comm_t *c, int coll, const int32_t *in, int32_t *out)
{
    switch (coll) {
    case 0:
        return hk_broadcast(c, in, out, COUNT, HK_I32, 1, NULL, NULL);
    case 1:
        return hk_reduce(c, in, out, COUNT, HK_I32, HK_SUM, 1, NULL, NULL);
    case 2:
        return hk_scatter(c, in, out, COUNT, HK_I32, 1, NULL, NULL);
    case 3:
        return hk_gather(c, in, out, COUNT, HK_I32, 1, NULL, NULL);
    case 4:
        return hk_all_gather(c, in, out, COUNT, HK_I32, NULL, NULL);
    case 5:
        return hk_reduce_scatter(c, in, out, COUNT, HK_I32, HK_SUM, NULL, NULL);
    case 6:
        return hk_all_reduce(c, in, out, COUNT, HK_I32, HK_SUM, NULL, NULL);
    default:
        return hk_all_to_all(c, in, out, COUNT, HK_I32, NULL, NULL);
    }
}

/** What element i of the output must be; only where this rank has one. */
static int32_t expected(int rank, int coll, int i)
{
    const int block = i / COUNT;
    const int at = i % COUNT;
    const int base = coll == 5 ? rank * COUNT : 0;

    switch (coll) {
    case 0:
        return value_of(1, i);
    case 2:
        return value_of(1, rank * COUNT + i);
    case 3:
    case 4:
        return value_of(block, at);
    case 7:
        return value_of(block, rank * COUNT + at);
    default:
        return value_of(0, base + i) + value_of(1, base + i) + value_of(2, base + i);
    }
}

static hk_status_t one(test_rank_t *self, int coll, int place)
{
    memory_t m;
    int32_t *in;
    int32_t *out;
    const bool has_out = (coll != 1 && coll != 3) || self->rank == 1;
    const int in_count = is_in_large(coll) ? ROOM : COUNT;
    const int out_count = is_out_large(coll) ? ROOM : COUNT;

    memset(&m, 0x5a, sizeof(m));
    lay(&m, self->rank, coll, place, &in, &out);
    for (int i = 0; i < in_count; i++) {
        in[i] = value_of(self->rank, i);
    }
    const hk_status_t status = call(self->comm, coll, in, out);
    for (int i = 0; status == HK_OK && has_out && i < out_count; i++) {
        if (out[i] != expected(self->rank, coll, i)) {
            print_error("rank %d, collective %d, place %d, element %d: got %d, want %d\n",
                        self->rank, coll, place, i, (int)out[i],
                        (int)expected(self->rank, coll, i));
            hk_comm_abort(self->comm, "wrong");
            return HK_ERR_INTERNAL;
        }
    }
    return status;
}

static hk_status_t all_sequences(test_rank_t *self)
{
    hk_status_t status = HK_OK;

    for (int coll = 0; coll < COLLS; coll++) {
        for (int s = 0; s < PLACES * PLACES * PLACES && status == HK_OK; s++) {
            const int places[TURNS] = {s % PLACES, s / PLACES % PLACES, s / (PLACES * PLACES)};

            for (int t = 0; t < TURNS && status == HK_OK; t++) {
                status = one(self, coll, places[t]);
            }
            if (s % 5 == 0 && status == HK_OK) {
                status = one(self, (coll + s) % COLLS, 0);
            }
        }
    }
    return status;
}

static void repeated_calls_follow_their_buffers(void **state)
{
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(NULL, NRANKS, all_sequences, NULL, ranks);
    test_ranks_expect(ranks, NRANKS, HK_OK, "sequences of placements");
}

/** What the first call was refused for the repeated one is refused for too. */
static hk_status_t refuse(test_rank_t *self)
{
    int32_t in[2 * COUNT] = {0};
    int32_t out[COUNT];
    hk_status_t status = hk_all_reduce(self->comm, in, out, COUNT, HK_I32, HK_SUM, NULL, NULL);

    for (int i = 0; i < 3 && status == HK_OK; i++) {
        int32_t *const bad[] = {NULL, in + 1, in + COUNT - 1};
        if (hk_all_reduce(self->comm, in, bad[i], COUNT, HK_I32, HK_SUM, NULL, NULL) !=
            HK_ERR_INVALID_ARG) {
            return HK_ERR_INTERNAL;
        }
        status = hk_all_reduce(self->comm, in, out, COUNT, HK_I32, HK_SUM, NULL, NULL);
    }
    return status;
}

static void repeated_calls_are_checked(void **state)
{
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(NULL, NRANKS, refuse, NULL, ranks);
    test_ranks_expect(ranks, NRANKS, HK_OK, "bad buffers between good ones");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeated_calls_follow_their_buffers),
        cmocka_unit_test(repeated_calls_are_checked),
    };

    return cmocka_run_group_tests_name("comm/repeat", tests, NULL, NULL);
}
