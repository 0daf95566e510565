/**
 * @file buffer_test.c
 * @brief Tests of src/parallel/buffer.c.
 *
 * Method: the heap's count of blocks tells which memory was taken. That messages from it are not
 * copied between processes is tested in test/multiproc/shared_heap_test.c.
 */
#include "support/hk_test.h"

#include <stdint.h>

#include <hocket/comm.h>

#include "base/alloc.h"
#include "parallel/buffer.h"

enum { COUNT = 5000 };

static hk_comm_t *open_alone(void)
{
    hk_comm_opts_t opts = hk_comm_opts_default();
    hk_comm_t *comm = NULL;

    opts.rank = 0;
    opts.nranks = 1;
    assert_ok(hk_comm_open(&opts, &comm));
    return comm;
}

static void takes_shared_memory_of_a_communicator(void **state)
{
    hk_comm_t *comm = open_alone();
    const size_t live = hki_alloc_live();
    (void)state;

    hki_alloc_fail_at(2); // the first is the shared memory's book
    float *buffer = hki_buffer_create(comm, COUNT);
    hki_alloc_fail_at(0);
    assert_non_null(buffer);
    assert_int_equal(hki_alloc_live(), live + 1);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(buffer[i] == 0);
        buffer[i] = (float)i;
    }
    hki_buffer_destroy(comm, buffer);
    hk_comm_close(&comm);
}

static void takes_the_heap_without_a_communicator(void **state)
{
    const size_t live = hki_alloc_live();
    float *buffer = hki_buffer_create(NULL, COUNT);
    (void)state;

    assert_non_null(buffer);
    assert_int_equal(hki_alloc_live(), live + 1);
    assert_int_equal((uintptr_t)buffer % 64, 0);
    hki_buffer_destroy(NULL, buffer);
    assert_int_equal(hki_alloc_live(), live);
}

static void survives_the_failure_of_any_allocation(void **state)
{
    hk_comm_t *comm = open_alone();
    (void)state;

    for (int i = 0; i < 2; i++) {
        hki_alloc_fail_at(1);
        assert_null(hki_buffer_create(i == 0 ? NULL : comm, COUNT));
    }
    hki_alloc_fail_at(0);
    hk_comm_close(&comm);
}

static void takes_no_elements_and_refuses_too_many(void **state)
{
    hk_comm_t *comm = open_alone();
    (void)state;

    for (int i = 0; i < 2; i++) {
        hk_comm_t *owner = i == 0 ? NULL : comm;
        float *empty = hki_buffer_create(owner, 0);
        assert_non_null(empty);
        hki_buffer_destroy(owner, empty);
        hki_buffer_destroy(owner, NULL);
        assert_null(hki_buffer_create(owner, SIZE_MAX / 2));
    }
    assert_null(hki_buffer_create(comm, SIZE_MAX / 8));
    hk_comm_close(&comm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_shared_memory_of_a_communicator),
        cmocka_unit_test(takes_the_heap_without_a_communicator),
        cmocka_unit_test(survives_the_failure_of_any_allocation),
        cmocka_unit_test(takes_no_elements_and_refuses_too_many),
    };
    return cmocka_run_group_tests_name("parallel/buffer", tests, NULL, NULL);
}
