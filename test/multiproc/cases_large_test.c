/*
 * Calls of more than 2^32 bytes and 2^31 elements, by two processes of 5 GB each. Skipped where
 * there is not so much memory. Part of `make stress` only.
 */
#include "support/hk_test.h"

#include <stdio.h>
#include <unistd.h>

#include "job.h"

#define NEEDED_BYTES UINT64_C(12000000000)

static job_t job;

static uint64_t free_bytes(void)
{
    unsigned long kb = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "re");

    while (file != NULL && fgets(line, sizeof(line), file) != NULL &&
           sscanf(line, "MemAvailable: %lu", &kb) != 1) {
    }
    (void)(file != NULL && fclose(file));
    return (uint64_t)kb * 1024;
}

static void five_gigabytes_arrive(void **state)
{
    const char *const args[] = {"run",   "-n", "2", "--timeout", "600", job_rank_program("cases"),
                                "large", NULL};

    (void)state;
    if (free_bytes() < NEEDED_BYTES) {
        print_message("[  SKIPPED ] not 12 GB of free memory\n");
        skip();
    }
    assert_int_equal(job_run(&job, args), 0);
    assert_int_equal(job_count(&job, "rank 0 is right"), 1);
    assert_int_equal(job_count(&job, "rank 1 is right"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five_gigabytes_arrive),
    };

    return cmocka_run_group_tests_name("multiproc/cases_large", tests, NULL, NULL);
}
