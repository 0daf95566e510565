/*
 * Memory of a communicator. Method: all numbers of ranks; what is reported must be what the layout
 * and the arena hand out, and stay below the bound. test/multiproc/topo_test.c holds it to what
 * processes really take.
 */
#include "support/hk_test.h"

#include "comm/comm.h"
#include "comm/memory.h"
#include "comm/p2p_match.h"
#include "transport/segment/layout.h"

enum { RANKS_MAX = 1024, BOUND = 4 << 20 };

static void by_default_a_rank_stays_below_four_mebibytes(void **state)
{
    (void)state;
    for (int n = 1; n <= RANKS_MAX; n++) {
        const hki_comm_memory_t memory = hki_comm_memory(n, 0);
        if (memory.total >= BOUND) {
            fail_msg("%d ranks: %llu bytes", n, (unsigned long long)memory.total);
        }
        assert_int_equal(memory.total,
                         memory.streams + memory.staging + memory.scratch + memory.transfers);
    }
}

static void parts_are_those_of_the_layout(void **state)
{
    const int counts[] = {1, 2, 16, 17, 64, 65, 1024};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        const int n = counts[i];
        const size_t lane = hki_comm_lane_bytes(0, n);
        const hki_layout_t layout = hki_layout(n, HKI_LANES, lane);
        const hki_comm_memory_t memory = hki_comm_memory(n, 0);
        const uint64_t group = (memory.streams + memory.staging) * (uint64_t)n;
        assert_in_range(group, layout.bytes, layout.bytes + (uint64_t)n);
        assert_int_equal(lane % 4096, 0);
        assert_true(memory.transfers >= HKI_SLOTS_BYTES);
        assert_true(memory.scratch >= 8 * hki_comm_scratch_bytes(lane));
    }
}

static void what_the_user_wants_is_divided_among_lanes(void **state)
{
    (void)state;
    assert_int_equal(hki_comm_lane_bytes(HKI_LANES * 40960, 2), 40960);
    assert_int_equal(hki_comm_lane_bytes(HKI_LANES * 40960, 1000), 40960);
    assert_int_equal(hki_comm_lane_bytes(1, 2), 8192); // the least there is
    assert_int_equal(hki_comm_memory(2, HKI_LANES * 40960).staging, HKI_LANES * 40960);
    assert_true(hki_comm_lane_bytes(0, 64) > hki_comm_lane_bytes(0, 65));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_default_a_rank_stays_below_four_mebibytes),
        cmocka_unit_test(parts_are_those_of_the_layout),
        cmocka_unit_test(what_the_user_wants_is_divided_among_lanes),
    };

    return cmocka_run_group_tests_name("comm/memory", tests, NULL, NULL);
}
