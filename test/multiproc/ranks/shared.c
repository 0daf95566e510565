/*
 * One rank of a job that runs all collectives on memory of several kinds: `shared KIND...`
 *
 *   malloc   from malloc()
 *   mem      from hk_mem_alloc() of the communicator
 *   sub      from hk_mem_alloc() of a communicator that was split from it
 *   across   over the border of two blocks of hk_mem_alloc()
 *   edge     begins in the shared heap and ends outside of it
 *   mixed    malloc() on the ranks of even number, hk_mem_alloc() on the others
 *
 * On the whole communicator, on halves of it in reversed order, and on halves of these; at several
 * offsets. Each kind ends with "rank R KIND: W wrong, S staged, D direct": results that are not
 * what they should be, and how the messages that do not fit into a line have travelled.
 */
#include <dlfcn.h>
#include <hocket/hocket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "comm/comm.h"
#include "transport/shm/shared_heap.h"

enum { RANKS_MAX = 16, LEVELS = 3, COUNT_MAX = 6000, WHO = 64, EDGE_BYTES = 65536 };

static const size_t g_offsets[] = {0, 8, 4096 + 24, 1};
static const size_t g_counts[] = {3, 700, COUNT_MAX};

enum { OFFSETS = sizeof(g_offsets) / sizeof(g_offsets[0]), COUNTS = 3 };

/** A communicator, and who its ranks are in the whole one. */
typedef struct level {
    hk_comm_t *comm;
    int members[RANKS_MAX];
    int nranks;
    int rank;
} level_t;

/** Both buffers of a call: (nranks * count,) each. */
typedef struct area {
    char *in;
    char *out;
    size_t count;
    int salt;
    long wrong;
} area_t;

static int64_t value(int who, size_t i, int salt)
{
    return (int64_t)who * 1000003 + (int64_t)i * 7 + salt;
}

static void put(char *at, size_t i, int64_t number)
{
    memcpy(at + i * sizeof(number), &number, sizeof(number)); // it may lie anywhere
}

static int64_t get(const char *at, size_t i)
{
    int64_t number = 0;

    memcpy(&number, at + i * sizeof(number), sizeof(number));
    return number;
}

static int64_t sum_of(const level_t *level, size_t i, int salt)
{
    int64_t sum = 0;

    for (int r = 0; r < level->nranks; r++) {
        sum += value(level->members[r], i, salt);
    }
    return sum;
}

/** Write in[i] = value(who, i), and forget what is in out. */
static void prepare(const level_t *level, area_t *area, int who)
{
    area->salt++;
    for (size_t i = 0; i < (size_t)level->nranks * area->count; i++) {
        put(area->in, i, value(who, i, area->salt));
        put(area->out, i, -1);
    }
}

static void expect(area_t *area, size_t i, int64_t want)
{
    area->wrong += get(area->out, i) != want;
}

static hk_status_t reductions(const level_t *level, area_t *area)
{
    const int me = level->members[level->rank];
    const int last = level->nranks - 1;
    const size_t n = area->count;
    hk_status_t status;

    prepare(level, area, me);
    status = hk_all_reduce(level->comm, area->in, area->out, n, HK_I64, HK_SUM, NULL, NULL);
    for (size_t i = 0; i < n; i++) {
        expect(area, i, sum_of(level, i, area->salt));
    }
    prepare(level, area, me);
    memcpy(area->out, area->in, n * 8);
    if (status == HK_OK) {
        status = hk_all_reduce(level->comm, area->out, area->out, n, HK_I64, HK_SUM, NULL, NULL);
    }
    for (size_t i = 0; i < n; i++) {
        expect(area, i, sum_of(level, i, area->salt));
    }
    prepare(level, area, me);
    if (status == HK_OK) {
        status = hk_reduce(level->comm, area->in, area->out, n, HK_I64, HK_SUM, last, NULL, NULL);
    }
    for (size_t i = 0; i < n; i++) {
        expect(area, i, level->rank == last ? sum_of(level, i, area->salt) : -1);
    }
    prepare(level, area, me);
    if (status == HK_OK) {
        status = hk_reduce_scatter(level->comm, area->in, area->out, n, HK_I64, HK_SUM, NULL, NULL);
    }
    for (size_t i = 0; i < n; i++) {
        expect(area, i, sum_of(level, (size_t)level->rank * n + i, area->salt));
    }
    return status;
}

static hk_status_t copies(const level_t *level, area_t *area)
{
    const int me = level->members[level->rank];
    const int last = level->nranks - 1;
    const size_t n = area->count;
    hk_status_t status;

    prepare(level, area, me);
    status = hk_broadcast(level->comm, area->in, area->out, n, HK_I64, 0, NULL, NULL);
    for (size_t i = 0; i < n; i++) {
        expect(area, i, value(level->members[0], i, area->salt));
    }
    prepare(level, area, me);
    if (status == HK_OK) {
        status = hk_all_gather(level->comm, area->in, area->out, n, HK_I64, NULL, NULL);
    }
    for (size_t i = 0; i < (size_t)level->nranks * n; i++) {
        expect(area, i, value(level->members[i / n], i % n, area->salt));
    }
    prepare(level, area, me);
    if (status == HK_OK) {
        status = hk_gather(level->comm, area->in, area->out, n, HK_I64, last, NULL, NULL);
    }
    for (size_t i = 0; i < (size_t)level->nranks * n; i++) {
        const int64_t all = value(level->members[i / n], i % n, area->salt);
        expect(area, i, level->rank == last ? all : -1);
    }
    prepare(level, area, me);
    if (status == HK_OK) {
        status = hk_scatter(level->comm, area->in, area->out, n, HK_I64, 0, NULL, NULL);
    }
    for (size_t i = 0; i < n; i++) {
        expect(area, i, value(level->members[0], (size_t)level->rank * n + i, area->salt));
    }
    return status;
}

static hk_status_t exchanges(const level_t *level, area_t *area)
{
    const int me = level->members[level->rank];
    const int next = (level->rank + 1) % level->nranks;
    const int before = (level->rank + level->nranks - 1) % level->nranks;
    const size_t n = area->count;
    hk_request_t *requests[2] = {NULL, NULL};
    hk_status_t status;

    prepare(level, area, me);
    status = hk_all_to_all(level->comm, area->in, area->out, n, HK_I64, NULL, NULL);
    for (size_t i = 0; i < (size_t)level->nranks * n; i++) {
        expect(area, i, value(level->members[i / n], (size_t)level->rank * n + i % n, area->salt));
    }
    prepare(level, area, me);
    if (status == HK_OK) {
        status = hk_recv(level->comm, area->out, n, HK_I64, before, NULL, &requests[0]);
    }
    if (status == HK_OK) {
        status = hk_send(level->comm, area->in, n, HK_I64, next, NULL, &requests[1]);
    }
    const hk_status_t ended = hk_request_wait_all(requests, 2);
    for (size_t i = 0; i < n; i++) {
        expect(area, i, value(level->members[before], i, area->salt));
    }
    return status == HK_OK ? ended : status;
}

/** All of it, at several places of two blocks. */
static hk_status_t run_level(const level_t *level, char *in, char *out, area_t *area)
{
    hk_status_t status = HK_OK;

    for (int o = 0; o < OFFSETS && status == HK_OK; o++) {
        for (int c = 0; c < COUNTS && status == HK_OK; c++) {
            area->in = in + g_offsets[o];
            area->out = out + g_offsets[OFFSETS - 1 - o];
            area->count = g_counts[c];
            status = reductions(level, area);
            status = status == HK_OK ? copies(level, area) : status;
            status = status == HK_OK ? exchanges(level, area) : status;
        }
    }
    return status;
}

/** Halves of a level, in reversed order. */
static hk_status_t split(const level_t *whole, level_t *part)
{
    const int color = whole->rank % 2;
    const hk_status_t status = hk_comm_split(whole->comm, color, -whole->rank, &part->comm);

    part->nranks = 0;
    for (int r = whole->nranks - 1; r >= 0; r--) {
        if (r % 2 == color) {
            part->rank = r == whole->rank ? part->nranks : part->rank;
            part->members[part->nranks++] = whole->members[r];
        }
    }
    return status;
}

/** A block that begins in the shared heap and ends outside; the same one each time. */
static char *edge_get(size_t bytes)
{
    static char *edge;
    hki_shared_heap_t heap;
    hki_shared_heap_fn describe = NULL;

    *(void **)&describe = dlsym(RTLD_DEFAULT, HKI_SHARED_HEAP_SYMBOL);
    if (edge == NULL && describe != NULL && describe(HKI_SHARED_HEAP_VERSION, &heap)) {
        char *end = heap.base + heap.bytes;
        if (mmap(end, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == end) {
            edge = end - EDGE_BYTES;
        }
    }
    return edge;
}

static char *across_get(hk_comm_t *comm, size_t bytes)
{
    void *blocks[2] = {NULL, NULL};

    if (hk_mem_alloc(comm, EDGE_BYTES, &blocks[0]) != HK_OK ||
        hk_mem_alloc(comm, bytes, &blocks[1]) != HK_OK ||
        (char *)blocks[1] - (char *)blocks[0] != EDGE_BYTES) {
        return NULL;
    }
    return (char *)blocks[0] + EDGE_BYTES / 3;
}

/** From malloc(), and never freed: a sanitizer must still see it. */
static char *private_get(size_t bytes)
{
    enum { KEPT = 32 };
    static char *kept[KEPT];
    static int n;

    kept[n % KEPT] = malloc(bytes);
    return kept[n++ % KEPT];
}

static char *area_get(const char *kind, const level_t *levels, size_t bytes)
{
    const bool is_malloc =
        strcmp(kind, "malloc") == 0 || (strcmp(kind, "mixed") == 0 && levels[0].rank % 2 == 0);
    const int level = strcmp(kind, "sub") == 0 ? LEVELS - 1 : 0;
    void *block = NULL;

    if (strcmp(kind, "edge") == 0) {
        return edge_get(bytes);
    }
    if (strcmp(kind, "across") == 0) {
        return across_get(levels[0].comm, bytes);
    }
    return is_malloc                                                  ? private_get(bytes)
           : hk_mem_alloc(levels[level].comm, bytes, &block) == HK_OK ? block
                                                                      : NULL;
}

static hk_status_t run_kind(const char *kind, const level_t *levels)
{
    const size_t bytes = (size_t)levels[0].nranks * COUNT_MAX * 8 + 2 * EDGE_BYTES;
    uint64_t before[LEVELS][HKI_PAYLOADS];
    uint64_t staged = 0;
    uint64_t direct = 0;
    area_t area = {0};
    hk_status_t status = HK_OK;
    char *in = area_get(kind, levels, bytes);
    char *out = strcmp(kind, "edge") == 0 ? private_get(bytes) : area_get(kind, levels, bytes);

    if (in == NULL || out == NULL) {
        (void)printf("rank %d has no memory of kind %s\n", levels[0].rank, kind);
        return HK_ERR_NO_MEMORY;
    }
    for (int l = 0; l < LEVELS && status == HK_OK; l++) {
        memcpy(before[l], levels[l].comm->ep->counts.sent, sizeof(before[l]));
        status = run_level(&levels[l], in, out, &area);
    }
    for (int l = 0; l < LEVELS && status == HK_OK; l++) {
        const uint64_t *sent = levels[l].comm->ep->counts.sent;
        staged += sent[HKI_PAYLOAD_STAGED] - before[l][HKI_PAYLOAD_STAGED];
        direct += sent[HKI_PAYLOAD_DIRECT] - before[l][HKI_PAYLOAD_DIRECT];
    }
    if (status == HK_OK) {
        (void)printf("rank %d %s: %ld wrong, %llu staged, %llu direct\n", levels[0].rank, kind,
                     area.wrong, (unsigned long long)staged, (unsigned long long)direct);
    }
    return status; // what was taken goes with the process
}

int main(int argc, char **argv)
{
    level_t levels[LEVELS] = {{.comm = NULL}};
    hk_status_t status = hk_comm_open(NULL, &levels[0].comm);

    if (status == HK_OK) {
        levels[0].nranks = hk_comm_size(levels[0].comm);
        levels[0].rank = hk_comm_rank(levels[0].comm);
        for (int r = 0; r < levels[0].nranks; r++) {
            levels[0].members[r] = r;
        }
    }
    for (int l = 1; l < LEVELS && status == HK_OK; l++) {
        status = split(&levels[l - 1], &levels[l]);
    }
    for (int i = 1; i < argc && status == HK_OK; i++) {
        status = run_kind(argv[i], levels);
    }
    if (status != HK_OK) {
        (void)printf("rank %d failed: %s\n", levels[0].rank, hk_last_error());
    }
    for (int l = LEVELS - 1; l >= 0; l--) {
        hk_comm_close(&levels[l].comm);
    }
    return status == HK_OK ? 0 : 3;
}
