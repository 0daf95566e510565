/**
 * @file mesh_test.c
 * @brief Tests of src/parallel/mesh.c, with ranks as threads.
 *
 * Method: on an axis of coordinate c, contribute 16^c; the sum along the axis then shows in its
 * digits which coordinates took part, and how often. Rank threads only note what they find.
 */
#include "support/hk_test.h"

#include <pthread.h>
#include <string.h>

#include <hocket/coll.h>
#include <hocket/mesh.h>

#include "base/alloc.h"
#include "parallel/shape.h"

enum { RANKS_MAX = 12 };

typedef struct rank {
    hk_comm_t *comm;
    const char *axes;
    hk_status_t status;
    int at[HKI_AXIS_COUNT];
    int sizes[HKI_AXIS_COUNT];
    int ranks[HKI_AXIS_COUNT]; // in the communicators of the axes
    uint64_t sums[HKI_AXIS_COUNT];
} rank_t;

static rank_t ranks[RANKS_MAX];

static void *rank_run(void *cookie)
{
    rank_t *rank = cookie;
    hk_mesh_t *mesh = NULL;

    rank->status = hk_mesh_open(rank->comm, rank->axes, &mesh);
    for (int a = 0; rank->status == HK_OK && a < HKI_AXIS_COUNT; a++) {
        const char *name = hki_axis_name((hki_axis_t)a);
        hk_comm_t *line = hk_mesh_axis_comm(mesh, name);
        rank->at[a] = hk_mesh_axis_rank(mesh, name);
        rank->sizes[a] = hk_mesh_axis_size(mesh, name);
        rank->ranks[a] = hk_comm_rank(line);
        const uint64_t digit = UINT64_C(1) << (4 * rank->at[a]);
        rank->status = hk_all_reduce(line, &digit, &rank->sums[a], 1, HK_U64, HK_SUM, NULL, NULL);
    }
    hk_mesh_close(&mesh);
    hk_comm_close(&rank->comm);
    return NULL;
}

static void mesh_run(const char *axes, int nranks)
{
    hk_comm_t *comms[RANKS_MAX];
    pthread_t threads[RANKS_MAX];

    memset(ranks, 0, sizeof(ranks));
    assert_ok(hk_comm_open_threads(NULL, nranks, comms));
    for (int r = 0; r < nranks; r++) {
        ranks[r].comm = comms[r];
        ranks[r].axes = axes;
        assert_int_equal(pthread_create(&threads[r], NULL, rank_run, &ranks[r]), 0);
    }
    for (int r = 0; r < nranks; r++) {
        assert_int_equal(pthread_join(threads[r], NULL), 0);
    }
}

static void joins_the_ranks_along_each_axis_in_order(void **state)
{
    static const struct {
        const char *axes;
        int nranks;
    } cases[] = {
        {"data=2,pipe=3,model=2", 12}, {"pipe=4", 4}, {"model=2,data=2", 4}, {"", 5}, {NULL, 1},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        mesh_run(cases[i].axes, cases[i].nranks);
        for (int r = 0; r < cases[i].nranks; r++) {
            assert_ok(ranks[r].status);
            int number = 0;
            for (int a = 0; a < HKI_AXIS_COUNT; a++) {
                const int ranks_there = ranks[r].sizes[a];
                const uint64_t ones = UINT64_C(0x1111111111111111) >> (4 * (16 - ranks_there));
                number = number * ranks_there + ranks[r].at[a];
                if (ranks[r].sums[a] != ones || ranks[r].ranks[a] != ranks[r].at[a]) {
                    fail_msg("case %zu rank %d axis %d: sum 0x%" PRIx64 ", rank %d at %d", i, r, a,
                             ranks[r].sums[a], ranks[r].ranks[a], ranks[r].at[a]);
                }
            }
            assert_int_equal(number, r); // pipe outermost, model fastest
        }
    }
}

static void refuses_axes_that_do_not_fit(void **state)
{
    static const char *const axes[] = {"data=3", "data=2,pipe=2", "ship=2", "data=0"};
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(axes); i++) {
        mesh_run(axes[i], 2);
        assert_int_equal(ranks[0].status, HK_ERR_INVALID_ARG);
        assert_int_equal(ranks[1].status, HK_ERR_INVALID_ARG);
    }
}

static void knows_no_axis_that_is_not_there(void **state)
{
    hk_comm_t *comm = NULL;
    hk_mesh_t *mesh = NULL;
    (void)state;

    assert_ok(hk_comm_open_threads(NULL, 1, &comm));
    assert_ok(hk_mesh_open(comm, NULL, &mesh));
    assert_int_equal(hk_mesh_axis_size(mesh, "expert"), -1);
    assert_int_equal(hk_mesh_axis_rank(mesh, NULL), -1);
    assert_null(hk_mesh_axis_comm(mesh, "expert"));
    assert_int_equal(hk_mesh_axis_size(NULL, "data"), -1);
    hk_mesh_close(&mesh);
    assert_null(mesh);
    hk_mesh_close(&mesh);
    assert_int_equal(hk_mesh_open(NULL, NULL, &mesh), HK_ERR_INVALID_ARG);
    hk_comm_close(&comm);
}

static void survives_the_failure_of_any_allocation(void **state)
{
    hk_status_t status = HK_ERR_NO_MEMORY;
    size_t n = 0;
    (void)state;

    while (status != HK_OK) {
        hk_comm_t *comm = NULL;
        hk_mesh_t *mesh = NULL;
        assert_ok(hk_comm_open_threads(NULL, 1, &comm));
        hki_alloc_fail_at(++n);
        status = hk_mesh_open(comm, "data=1", &mesh);
        hki_alloc_fail_at(0);
        assert_true(status == HK_OK || (status == HK_ERR_NO_MEMORY && mesh == NULL));
        hk_mesh_close(&mesh);
        hk_comm_close(&comm);
        assert_int_equal(hki_alloc_live(), 0);
    }
    assert_true(n > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_the_ranks_along_each_axis_in_order),
        cmocka_unit_test(refuses_axes_that_do_not_fit),
        cmocka_unit_test(knows_no_axis_that_is_not_there),
        cmocka_unit_test(survives_the_failure_of_any_allocation),
    };
    return cmocka_run_group_tests_name("parallel/mesh", tests, NULL, NULL);
}
