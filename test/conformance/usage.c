/*
 * What /proc says about this process.
 */
#include "usage.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

/*
 * How much more of each there may be at the end of a mix than after a tenth of it: staging, scratch
 * and plans have a limit, but become real as they are used. In a million operations, 14 bytes, 4 of
 * them shared, or a thousandth of a block lost in each would be too much.
 */
enum {
    RESIDENT_MORE = 12 << 20, /**< [bytes] a rank of this process */
    SHARED_MORE = 4 << 20,    /**< [bytes] a rank of the job: all that the world may hold */
    MAPPINGS_MORE = 8,
    BLOCKS_MORE = 600, /**< a rank of this process */
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool MEMORY_IS_OURS =
    false; // the sanitizer keeps what was freed, and maps notes of it
#else
static const bool MEMORY_IS_OURS = true;
#endif

static size_t lines_of(const char *path)
{
    FILE *file = fopen(path, "r");
    size_t lines = 0;
    int c;

    while (file != NULL && (c = getc(file)) != EOF) {
        lines += c == '\n';
    }
    if (file == NULL || fclose(file) != 0) {
        perror(path);
        abort();
    }
    return lines;
}

/** Without what is shared with other processes: of that, each comes to touch all there is. */
static size_t resident_now(void)
{
    unsigned long total = 0;
    unsigned long resident = 0;
    unsigned long shared = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file == NULL || fscanf(file, "%lu %lu %lu", &total, &resident, &shared) != 3) {
        perror("/proc/self/statm");
        abort();
    }
    (void)fclose(file);
    return (size_t)(resident - shared) * (size_t)sysconf(_SC_PAGESIZE);
}

static void look_at_descriptors(usage_t *usage)
{
    DIR *folder = opendir("/proc/self/fd");

    if (folder == NULL) {
        perror("/proc/self/fd");
        abort();
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        struct stat about;

        if (entry->d_name[0] == '.' || fstat(atoi(entry->d_name), &about) != 0) {
            continue;
        }
        usage->descriptors++;
        if (S_ISREG(about.st_mode) && about.st_nlink == 0) {
            usage->shared_bytes += (size_t)about.st_blocks * 512;
        }
    }
    (void)closedir(folder);
}

usage_t usage_now(void)
{
    usage_t usage = {0};

    (void)malloc_trim(0);
    usage.blocks = hki_alloc_live();
    look_at_descriptors(&usage);
    usage.mappings = lines_of("/proc/self/maps");
    usage.resident_bytes = resident_now();
    return usage;
}

static bool has_grown(size_t before, size_t after, size_t more)
{
    return after > before + more;
}

bool usage_is_flat(const usage_t *before, const usage_t *after, int nranks, int here)
{
    const size_t resident_more = (size_t)RESIDENT_MORE * (size_t)here;

    return (!MEMORY_IS_OURS ||
            (!has_grown(before->resident_bytes, after->resident_bytes, resident_more) &&
             !has_grown(before->mappings, after->mappings, MAPPINGS_MORE))) &&
           !has_grown(before->shared_bytes, after->shared_bytes,
                      (size_t)SHARED_MORE * (size_t)nranks) &&
           !has_grown(before->descriptors, after->descriptors, 0) &&
           !has_grown(before->blocks, after->blocks, (size_t)BLOCKS_MORE * (size_t)here);
}

void usage_say(const usage_t *before, const usage_t *after, int rank)
{
    fprintf(stderr,
            "rank %d: resident %zu -> %zu KiB, shared %zu -> %zu KiB, %zu -> %zu descriptors, %zu "
            "-> %zu mappings, %zu -> %zu blocks\n",
            rank, before->resident_bytes >> 10, after->resident_bytes >> 10,
            before->shared_bytes >> 10, after->shared_bytes >> 10, before->descriptors,
            after->descriptors, before->mappings, after->mappings, before->blocks, after->blocks);
}
