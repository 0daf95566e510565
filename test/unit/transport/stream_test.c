/**
 * @file stream_test.c
 * @brief Method: message by message, over all sizes around the borders; rings and halves run full.
 */
#include "transport/segment/endpoint.h"
#include "unit/transport/ranks.h"

#include <string.h>

static void fill(unsigned char *data, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) {
        data[i] = (unsigned char)(seed * 31 + i * 7 + i / 256);
    }
}

static void payloads_of_all_sizes_and_ways_arrive(void **state)
{
    static unsigned char data[HALF_BYTES];
    const unsigned ways[] = {0, HKI_SEND_COPIED};
    const size_t sizes[] = {0, 1, 8, 39, 40, 41, 64, 4095, HALF_BYTES - 1, HALF_BYTES};

    (void)state;
    open_ranks(2);
    for (size_t i = 0; i < ARRAY_LEN(sizes) * 2; i++) {
        const size_t bytes = sizes[i / 2];
        hki_message_t message;
        fill(data, bytes, (unsigned)i);
        assert_ok(g_eps[0]->ops->begin_run(g_eps[0], 0));
        assert_ok(send_bytes(0, 1, bytes == 0 ? NULL : data, bytes, ways[i % 2]));
        assert_ok(peek(1, 0, &message));
        if (message.bytes != bytes || (bytes != 0 && memcmp(message.payload, data, bytes) != 0)) {
            fail_msg("%zu bytes, flags %u: got %zu bytes or other content", bytes, ways[i % 2],
                     message.bytes);
        }
        assert_int_equal(message.is_direct, bytes > HKI_INLINE_BYTES_MAX && ways[i % 2] == 0);
        assert_int_equal(message.envelope.op_number, 7);
        assert_int_equal(message.envelope.check, 8);
        assert_int_equal(message.envelope.kind, 9);
        release(1, 0);
        assert_int_equal(peek(1, 0, &message), HK_IN_PROGRESS);
    }
}

static bool is_armed(int rank)
{
    return atomic_load(&hki_segment_of(g_eps[0])->bells[rank]) == HKI_BELL_ARMED;
}

static void arm(int rank)
{
    atomic_store(&hki_segment_of(g_eps[0])->bells[rank], HKI_BELL_ARMED);
}

/** Several messages at once are those that send() and peek() know, one by one. */
static void few_are_sent_and_taken_as_one_by_one(void **state)
{
    const hki_envelope_t envelope = {.op_number = 7, .check = 8, .kind = 9};
    const hki_envelope_t other = {.op_number = 7, .check = 9, .kind = 9};
    unsigned char data[2][HKI_INLINE_BYTES_MAX];
    unsigned char got[2][HKI_INLINE_BYTES_MAX];
    hki_message_t message;
    int sent = 0;

    (void)state;
    open_ranks(3);
    for (uint32_t bytes = 0; bytes <= HKI_INLINE_BYTES_MAX; bytes++) {
        const hki_few_t out[] = {{1, bytes, data[0]}, {2, bytes, data[1]}};
        const hki_few_t in[] = {{0, bytes, got[0]}, {2, bytes, got[1]}};

        fill(data[0], bytes, bytes);
        fill(data[1], bytes, bytes + 1);
        arm(2);
        assert_ok(g_eps[0]->ops->send_few(g_eps[0], 0, &envelope, out, 2, &sent));
        assert_int_equal(sent, 2);
        assert_false(is_armed(2));
        assert_ok(peek(2, 0, &message));
        assert_int_equal(message.bytes, bytes);
        assert_true(bytes == 0 || memcmp(message.payload, data[1], bytes) == 0);
        release(2, 0);
        assert_int_equal(g_eps[1]->ops->take_few(g_eps[1], 0, &other, in, 2), 0);
        assert_int_equal(g_eps[1]->ops->take_few(g_eps[1], 0, &envelope, in, 2), 1);
        assert_memory_equal(got[0], data[0], bytes);
        assert_int_equal(peek(1, 0, &message), HK_IN_PROGRESS);
        assert_ok(send_bytes(2, 1, bytes == 0 ? NULL : data[1], bytes, 0));
        assert_int_equal(g_eps[1]->ops->take_few(g_eps[1], 0, &envelope, &in[1], 1), 1);
        assert_memory_equal(got[1], data[1], bytes);
    }
    for (int i = 0; i < 1000 && sent != 0; i++) { // until the ring is full
        const hki_few_t out[] = {{1, 8, data[0]}};

        assert_ok(g_eps[0]->ops->send_few(g_eps[0], 0, &envelope, out, 1, &sent));
    }
    assert_int_equal(sent, 0);
}

/** One line for all: everybody gets it, and it is free only when the slowest has released it. */
static void what_is_cast_reaches_all_others(void **state)
{
    enum { RANKS = 4 };
    const hki_envelope_t envelope = {.op_number = 7, .check = 8, .kind = 0};
    uint64_t got[RANKS] = {0};
    uint64_t sent = 0;
    hki_message_t message;

    (void)state;
    open_ranks(RANKS);
    const int casts = g_eps[0]->nlanes; // where they come by
    for (int round = 0; round < 300; round++) {
        hki_few_t few = {.bytes = sizeof(sent), .data = &sent};

        arm(2);
        while (g_eps[0]->ops->cast(g_eps[0], 0, &envelope, &few) == HK_OK) {
            assert_false(is_armed(2));
            sent++;
        }
        for (int r = 1; r < RANKS; r++) {
            const uint64_t until = r == 1 + round % 3 ? sent : got[r] + (uint64_t)(round * r) % 9;

            while (got[r] < until && got[r] < sent) { // one catches up, the others come slowly
                uint64_t value = 0;
                const hki_few_t want = {.peer = 0, .bytes = sizeof(value), .data = &value};

                if (r == 3) {
                    assert_ok(g_eps[r]->ops->peek(g_eps[r], casts, 0, &message));
                    memcpy(&value, message.payload, sizeof(value));
                    g_eps[r]->ops->release(g_eps[r], casts, 0);
                } else {
                    assert_int_equal(g_eps[r]->ops->take_few(g_eps[r], casts, &envelope, &want, 1),
                                     1);
                }
                assert_int_equal(value, got[r]);
                got[r]++;
            }
            assert_in_range(sent - got[r], 0, 64);
        }
        const int slowest = g_eps[0]->ops->cast_waits_for(g_eps[0], 0);
        for (int r = 1; r < RANKS; r++) { // they tell every half ring
            assert_true(got[slowest] <= got[r] + 32);
        }
    }
    assert_int_equal(peek(1, 0, &message), HK_IN_PROGRESS); // nothing by the usual way
    assert_in_range(sent, 1000, 100000);
}

static void a_full_ring_takes_no_more_until_messages_are_released(void **state)
{
    hki_message_t message;
    uint64_t sent = 0;
    uint64_t got = 0;

    (void)state;
    open_ranks(2);
    for (int round = 0; round < 100; round++) {
        while (send_bytes(0, 1, &sent, sizeof(sent), 0) == HK_OK) {
            sent++;
        }
        assert_int_equal(send_bytes(0, 1, &sent, sizeof(sent), 0), HK_IN_PROGRESS);
        assert_in_range(sent - got, 4, 64);
        while (peek(1, 0, &message) == HK_OK) {
            assert_memory_equal(message.payload, &got, sizeof(got));
            release(1, 0);
            got++;
        }
        assert_int_equal(got, sent);
        hki_waiter_t waiter = {0};
        assert_ok(wait_step(1, &waiter, 0)); // tells the sender what it has released
    }
}

static void a_direct_source_is_free_once_it_is_released(void **state)
{
    static unsigned char data[1000];
    const hki_envelope_t envelope = {0};
    hki_message_t message;
    uint64_t ticket = 0;

    (void)state;
    open_ranks(2);
    assert_true(g_eps[0]->ops->is_direct(g_eps[0], data, sizeof(data)));
    assert_ok(g_eps[0]->ops->send(g_eps[0], 1, 1, &envelope, data, sizeof(data), 0, &ticket));
    assert_ok(g_eps[1]->ops->peek(g_eps[1], 1, 0, &message));
    assert_ptr_equal(message.payload, data);
    assert_false(g_eps[0]->ops->is_consumed(g_eps[0], 1, 1, ticket));
    g_eps[1]->ops->release(g_eps[1], 1, 0);
    assert_true(g_eps[0]->ops->is_consumed(g_eps[0], 1, 1, ticket));
}

static void a_run_stages_up_to_half_and_waits_for_readers_of_its_half(void **state)
{
    static unsigned char data[HALF_BYTES];
    hki_message_t message;

    (void)state;
    open_ranks(3);
    fill(data, HALF_BYTES, 1);
    assert_ok(send_bytes(0, 1, data, HALF_BYTES, HKI_SEND_COPIED));
    assert_ok(send_bytes(0, 2, data, HALF_BYTES,
                         HKI_SEND_COPIED | HKI_SEND_SAME)); // staged once for both
    data[0]++;
    assert_int_equal(send_bytes(0, 1, data, HALF_BYTES, HKI_SEND_COPIED), HK_IN_PROGRESS);
    assert_ok(g_eps[0]->ops->begin_run(g_eps[0], 0));
    assert_ok(send_bytes(0, 1, data, HALF_BYTES, HKI_SEND_COPIED));
    assert_int_equal(g_eps[0]->ops->begin_run(g_eps[0], 0), HK_IN_PROGRESS);
    assert_ok(peek(1, 0, &message));
    release(1, 0);
    assert_int_equal(g_eps[0]->ops->begin_run(g_eps[0], 0), HK_IN_PROGRESS);
    assert_ok(peek(2, 0, &message));
    data[0]--;
    assert_memory_equal(message.payload, data, HALF_BYTES);
    release(2, 0);
    assert_ok(g_eps[0]->ops->begin_run(g_eps[0], 0));
    assert_int_equal(send_bytes(0, 1, data, HALF_BYTES + 1, HKI_SEND_COPIED), HK_ERR_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RANKS_TEST(payloads_of_all_sizes_and_ways_arrive),
        RANKS_TEST(few_are_sent_and_taken_as_one_by_one),
        RANKS_TEST(what_is_cast_reaches_all_others),
        RANKS_TEST(a_full_ring_takes_no_more_until_messages_are_released),
        RANKS_TEST(a_direct_source_is_free_once_it_is_released),
        RANKS_TEST(a_run_stages_up_to_half_and_waits_for_readers_of_its_half),
    };
    return cmocka_run_group_tests_name("transport/stream", tests, NULL, NULL);
}
