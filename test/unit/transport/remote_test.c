/*
 * Reading another process. Method: this process plays the other one, which the kernel allows
 * wherever the call exists at all; where it does not, the tests skip.
 */
#include "support/hk_test.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "transport/shm/remote.h"

static uint64_t address_of(const void *memory)
{
    return (uint64_t)(uintptr_t)memory;
}

/** Does the kernel have it, and let us? */
static void skip_if_forbidden(void)
{
    char from = 1;
    char to = 0;

    if (hki_remote_read((int)getpid(), address_of(&from), &to, 1) != 0) {
        skip();
    }
}

static void bytes_are_read_wherever_they_lie(void **state)
{
    static unsigned char from[70000];
    static unsigned char to[sizeof(from) + 3];

    (void)state;
    skip_if_forbidden();
    for (size_t i = 0; i < sizeof(from); i++) {
        from[i] = (unsigned char)(i * 7 + i / 256);
    }
    assert_int_equal(hki_remote_read((int)getpid(), address_of(from + 1), to + 3, sizeof(from) - 1),
                     0);
    assert_memory_equal(to + 3, from + 1, sizeof(from) - 1);
    assert_int_equal(to[2], 0);
    assert_int_equal(hki_remote_read((int)getpid(), address_of(from), to, 0), 0);
}

static void what_is_not_there_is_an_error(void **state)
{
    char byte = 0;

    (void)state;
    skip_if_forbidden();
    assert_int_equal(hki_remote_read((int)getpid(), 8, &byte, 1), EFAULT);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(hki_remote_read((int)pid, address_of(&byte), &byte, 1), ESRCH);
}

static void a_process_is_known_by_its_token(void **state)
{
    uint64_t *block = hki_remote_block(UINT64_C(0x1234567890abcdef));

    (void)state;
    assert_non_null(block);
    hki_token_t token = {.address = address_of(block), .value = *block};
    if (hki_remote_probe((int)getpid(), &token) == 0) {
        (void)hki_remote_pays((int)getpid(), &token, block); // either answer may be right
        token.value++;
        assert_int_equal(hki_remote_probe((int)getpid(), &token), ESRCH);
        token.address = 0;
        assert_int_equal(hki_remote_probe((int)getpid(), &token), EFAULT);
        assert_false(hki_remote_pays((int)getpid(), &token, block));
    }
    hki_free(block);
    assert_int_equal(hki_alloc_live(), 0);
}

static void want_of_memory_means_that_it_does_not_pay(void **state)
{
    uint64_t *block = hki_remote_block(7);
    const hki_token_t token = {.address = address_of(block), .value = 7};

    (void)state;
    assert_non_null(block);
    hki_alloc_fail_at(1);
    assert_false(hki_remote_pays((int)getpid(), &token, block));
    hki_alloc_fail_at(1);
    assert_null(hki_remote_block(7));
    hki_alloc_fail_at(0);
    hki_free(block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_read_wherever_they_lie),
        cmocka_unit_test(what_is_not_there_is_an_error),
        cmocka_unit_test(a_process_is_known_by_its_token),
        cmocka_unit_test(want_of_memory_means_that_it_does_not_pay),
    };

    return cmocka_run_group_tests_name("transport/remote", tests, NULL, NULL);
}
