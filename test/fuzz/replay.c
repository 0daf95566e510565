/*
 * Runs a fuzz target without a fuzzer: every seed file, all its prefixes, and mutations of it drawn
 * from a fixed seed. Each input lies in a heap block of exactly its size, so that ASan sees a read
 * beyond it.
 */
#include <dirent.h>

#include "fuzz.h"

enum { SEED_BYTES_MAX = 65536, MUTATIONS = 2000, EDITS_MAX = 4 };

static uint64_t g_random = 42;

static uint64_t next_random(void) // splitmix64
{
    uint64_t z = (g_random += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void run(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size == 0 ? 1 : size);

    FUZZ_CHECK(exact != NULL);
    if (size != 0) {
        memcpy(exact, data, size);
    }
    FUZZ_CHECK(LLVMFuzzerTestOneInput(exact, size) == 0);
    free(exact);
}

/** Overwrite, insert, delete or repeat bytes of `data`. @return the new size, <= SEED_BYTES_MAX */
static size_t mutate(uint8_t *data, size_t size)
{
    const size_t edits = 1 + next_random() % EDITS_MAX;

    for (size_t i = 0; i < edits; i++) {
        const size_t at = size == 0 ? 0 : next_random() % size;
        switch (next_random() % 4) {
        case 0:
            if (size != 0) {
                data[at] = (uint8_t)next_random();
            }
            break;
        case 1:
            if (size < SEED_BYTES_MAX) {
                memmove(data + at + 1, data + at, size - at);
                data[at] = (uint8_t)next_random();
                size++;
            }
            break;
        case 2:
            if (size != 0) {
                memmove(data + at, data + at + 1, size - at - 1);
                size--;
            }
            break;
        default:
            if (size != 0) {
                data[at] = data[next_random() % size];
            }
            break;
        }
    }
    return size;
}

static void replay(const uint8_t *seed, size_t size)
{
    static uint8_t scratch[SEED_BYTES_MAX];

    for (size_t prefix = 0; prefix <= size; prefix++) {
        run(seed, prefix);
    }
    for (int i = 0; i < MUTATIONS; i++) {
        memcpy(scratch, seed, size);
        run(scratch, mutate(scratch, size));
    }
}

int main(int argc, char **argv)
{
    static uint8_t seed[SEED_BYTES_MAX];
    int seeds = 0;
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;

    if (folder == NULL) {
        (void)fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
        return 2;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char path[4096];
        if (entry->d_name[0] == '.') {
            continue;
        }
        (void)snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
        FILE *file = fopen(path, "rb");
        FUZZ_CHECK(file != NULL);
        const size_t size = fread(seed, 1, sizeof(seed), file);
        FUZZ_CHECK(fclose(file) == 0);
        replay(seed, size);
        seeds++;
    }
    (void)closedir(folder);
    (void)printf("%d seeds\n", seeds);
    return seeds == 0 ? 1 : 0; // an empty corpus tests nothing
}
