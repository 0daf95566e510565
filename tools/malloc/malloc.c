/**
 * @file malloc.c
 * @brief The drop-in malloc: large blocks of an unchanged program from a heap that the ranks of a
 *        job can share, all others from the C library.
 *
 * Loaded before the program (LD_PRELOAD; `hocket run --shared-heap`). Whose a block is, its address
 * tells. The heap is made when the first large block is asked for, or when a communicator is opened
 * (hocket_shared_heap()); where that fails, or the heap has no memory, the C library serves.
 *
 * The C library's functions are found by dlsym(), which may itself ask for memory: until they are
 * known, requests of the thread that looks are served from a few static bytes, never freed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heap.h"

#define EXPORT __attribute__((visibility("default")))

enum {
    FIRST_BYTES = 16384,  /**< for dlsym() */
    FIRST_ALIGNMENT = 16, /**< as malloc() has it */
    BLOCK_BYTES_MIN = 65536,
    WORD_BYTES = sizeof(void *),
};

/** The C library's, or of the next drop-in malloc. */
typedef struct next {
    void *(*malloc)(size_t bytes);
    void *(*calloc)(size_t n, size_t bytes);
    void *(*realloc)(void *block, size_t bytes);
    void (*free)(void *block);
    int (*posix_memalign)(void **block, size_t alignment, size_t bytes);
    size_t (*malloc_usable_size)(void *block);
} next_t;

static next_t g_next;
static _Atomic bool g_has_next;
static _Atomic bool g_watches_forks;

static _Alignas(FIRST_ALIGNMENT) char g_first[FIRST_BYTES];
static _Atomic size_t g_first_used;

static hki_heap_t g_heap;
static _Atomic bool g_has_heap;
static pthread_once_t g_heap_once = PTHREAD_ONCE_INIT;
static size_t g_bytes_min = SIZE_MAX; // until start() has run, nothing is large

/** This thread is inside the heap's code: what that asks for is the C library's. */
static _Thread_local bool g_is_inside __attribute__((tls_model("initial-exec")));

/* Fork. */

/** What other handlers of this thread ask for until the heap is unlocked is the C library's. */
static void fork_prepare(void)
{
    g_is_inside = true;
    if (atomic_load_explicit(&g_has_heap, memory_order_acquire)) {
        hki_heap_fork_prepare(&g_heap);
    }
}

static void fork_parent(void)
{
    if (atomic_load_explicit(&g_has_heap, memory_order_acquire)) {
        hki_heap_fork_parent(&g_heap);
    }
    g_is_inside = false;
}

static void fork_child(void)
{
    if (atomic_load_explicit(&g_has_heap, memory_order_acquire)) {
        hki_heap_fork_child(&g_heap);
    }
    g_is_inside = false;
}

/* The C library. */

static bool is_first(const void *block)
{
    return (uintptr_t)block - (uintptr_t)g_first < FIRST_BYTES;
}

/** Zeroed bytes, without any allocator. */
static void *first_get(size_t bytes)
{
    if (bytes > FIRST_BYTES) {
        return NULL;
    }
    const size_t rounded = (bytes + FIRST_ALIGNMENT - 1) / FIRST_ALIGNMENT * FIRST_ALIGNMENT;
    const size_t at = atomic_fetch_add_explicit(&g_first_used, rounded, memory_order_relaxed);

    return at > FIRST_BYTES - rounded ? NULL : g_first + at;
}

/** dlsym() gives an object's address where a function's is wanted; POSIX lets them be the same. */
static void *find(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);

    if (function == NULL) {
        static const char text[] = "hocket: the C library has no malloc() to build on\n";
        const ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
        (void)written;
        abort();
    }
    return function;
}

/** @return false: this thread is just looking for them, and must do without */
static bool has_next(void)
{
    static _Thread_local bool is_looking __attribute__((tls_model("initial-exec")));

    if (atomic_load_explicit(&g_has_next, memory_order_acquire)) {
        return true;
    }
    if (is_looking) {
        return false;
    }
    is_looking = true;
    next_t next;
    *(void **)&next.malloc = find("malloc");
    *(void **)&next.calloc = find("calloc");
    *(void **)&next.realloc = find("realloc");
    *(void **)&next.free = find("free");
    *(void **)&next.posix_memalign = find("posix_memalign");
    *(void **)&next.malloc_usable_size = find("malloc_usable_size");
    is_looking = false;
    g_next = next; // several threads at once write the same
    atomic_store_explicit(&g_has_next, true, memory_order_release);
    // At the first block, so that our part of a fork is the last before it and the first after:
    // the handlers of others may use theirs.
    if (!atomic_exchange_explicit(&g_watches_forks, true, memory_order_relaxed)) {
        (void)pthread_atfork(fork_prepare, fork_parent, fork_child);
    }
    return true;
}

/* The heap. */

static void heap_open(void)
{
    if (hki_heap_open(&g_heap, UINT64_MAX)) {
        atomic_store_explicit(&g_has_heap, true, memory_order_release);
    }
}

/** A number of bytes, with K, M or G; 0: that is none. */
static size_t parse_bytes(const char *text)
{
    static const char units[] = "KMG";
    char *end = NULL;
    const unsigned long long number = strtoull(text, &end, 10);
    const char *unit = *end == '\0' ? NULL : strchr(units, *end);
    const unsigned shift = unit == NULL ? 0 : 10U * (unsigned)(unit - units + 1);

    if (text[0] < '0' || text[0] > '9' || end[unit == NULL ? 0 : 1] != '\0' ||
        number > SIZE_MAX >> shift) {
        return 0;
    }
    return (size_t)number << shift;
}

/** From here on there are large blocks: the environment can be read only now. */
__attribute__((constructor)) static void start(void)
{
    const char *text = getenv("HOCKET_SHARED_HEAP_MIN");
    size_t bytes = text == NULL || text[0] == '\0' ? BLOCK_BYTES_MIN : parse_bytes(text);

    (void)has_next();
    if (bytes < HKI_HEAP_PAGE_BYTES) {
        (void)dprintf(STDERR_FILENO,
                      "hocket: HOCKET_SHARED_HEAP_MIN is %.40s; write a number of bytes, at least "
                      "%d, e.g. 64K, which is used now\n",
                      text, (int)HKI_HEAP_PAGE_BYTES);
        bytes = BLOCK_BYTES_MIN;
    }
    g_bytes_min = bytes;
}

static bool is_ours(const void *block)
{
    return atomic_load_explicit(&g_has_heap, memory_order_acquire) && hki_heap_owns(&g_heap, block);
}

/** A large block, or NULL: the C library's part. Keeps errno. */
static void *large_get(size_t bytes, size_t alignment, bool *is_zero_out)
{
    const int saved = errno;
    void *block = NULL;

    if (bytes < g_bytes_min || g_is_inside) {
        return NULL;
    }
    g_is_inside = true;
    (void)pthread_once(&g_heap_once, heap_open);
    if (atomic_load_explicit(&g_has_heap, memory_order_acquire)) {
        block = hki_heap_get(&g_heap, bytes, alignment, is_zero_out);
    }
    g_is_inside = false;
    errno = saved;
    return block;
}

static void large_put(void *block)
{
    const int saved = errno;

    hki_heap_put(&g_heap, block);
    errno = saved;
}

static bool large_resize(void *block, size_t bytes)
{
    const int saved = errno;

    g_is_inside = true;
    const bool is_done = hki_heap_resize(&g_heap, block, bytes);
    g_is_inside = false;
    errno = saved;
    return is_done;
}

EXPORT bool hocket_shared_heap(unsigned version, hki_shared_heap_t *heap_out);
bool hocket_shared_heap(unsigned version, hki_shared_heap_t *heap_out)
{
    if (version != HKI_SHARED_HEAP_VERSION || g_bytes_min == SIZE_MAX) {
        return false;
    }
    g_is_inside = true;
    (void)pthread_once(&g_heap_once, heap_open);
    g_is_inside = false;
    if (!atomic_load_explicit(&g_has_heap, memory_order_acquire) || !hki_heap_is_shared(&g_heap)) {
        return false;
    }
    *heap_out = (hki_shared_heap_t){.base = g_heap.base, .bytes = g_heap.bytes, .fd = g_heap.fd};
    return true;
}

/* What the program calls. */

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): headers call them __size

EXPORT void *malloc(size_t bytes)
{
    bool is_zero = false;

    if (!has_next()) {
        return first_get(bytes);
    }
    void *block = large_get(bytes, 1, &is_zero);
    return block != NULL ? block : g_next.malloc(bytes);
}

EXPORT void *calloc(size_t n, size_t bytes)
{
    bool is_zero = false;
    size_t total = 0;

    if (__builtin_mul_overflow(n, bytes, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    if (!has_next()) {
        return first_get(total);
    }
    void *block = large_get(total, 1, &is_zero);
    if (block == NULL) {
        return g_next.calloc(n, bytes);
    }
    return is_zero ? block : memset(block, 0, total);
}

EXPORT void free(void *block)
{
    if (block == NULL || is_first(block)) {
        return;
    }
    if (is_ours(block)) {
        large_put(block);
    } else if (has_next()) {
        g_next.free(block);
    }
}

EXPORT size_t malloc_usable_size(void *block)
{
    if (is_ours(block)) {
        return hki_heap_block_bytes(&g_heap, block);
    }
    if (is_first(block)) {
        return (size_t)(g_first + FIRST_BYTES - (char *)block);
    }
    return block == NULL || !has_next() ? 0 : g_next.malloc_usable_size(block);
}

/** Move what is in `block` to the `bytes` bytes of another one, unless that is NULL. */
static void *moved_to(void *fresh, void *block, size_t bytes)
{
    const size_t have = malloc_usable_size(block);

    if (fresh != NULL) {
        memcpy(fresh, block, have < bytes ? have : bytes);
        free(block);
    }
    return fresh;
}

EXPORT void *realloc(void *block, size_t bytes)
{
    bool is_zero = false;

    if (block == NULL) {
        return malloc(bytes);
    }
    if (is_first(block)) {
        return moved_to(malloc(bytes), block, bytes);
    }
    if (!is_ours(block)) {
        void *large = large_get(bytes, 1, &is_zero);
        return large != NULL ? moved_to(large, block, bytes) : g_next.realloc(block, bytes);
    }
    if (bytes == 0) { // as the C library does
        large_put(block);
        return NULL;
    }
    if (bytes >= g_bytes_min && large_resize(block, bytes)) {
        return block;
    }
    void *moved = moved_to(malloc(bytes), block, bytes);
    return moved == NULL && large_resize(block, bytes) ? block : moved; // cutting cannot fail
}

EXPORT void *reallocarray(void *block, size_t n, size_t bytes)
{
    size_t total = 0;

    if (__builtin_mul_overflow(n, bytes, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(block, total);
}

/** All aligned blocks. @return 0, EINVAL, ENOMEM */
static int aligned_get(void **block_out, size_t alignment, size_t bytes)
{
    bool is_zero = false;

    if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
        return EINVAL;
    }
    if (!has_next()) {
        return ENOMEM;
    }
    void *block = large_get(bytes, alignment, &is_zero);
    if (block != NULL) {
        *block_out = block;
        return 0;
    }
    return g_next.posix_memalign(block_out, alignment < WORD_BYTES ? WORD_BYTES : alignment, bytes);
}

EXPORT int posix_memalign(void **block_out, size_t alignment, size_t bytes)
{
    return alignment % WORD_BYTES != 0 ? EINVAL : aligned_get(block_out, alignment, bytes);
}

/** The form of the older calls. */
static void *aligned_or_null(size_t alignment, size_t bytes)
{
    void *block = NULL;
    const int error = aligned_get(&block, alignment, bytes);

    if (error != 0) {
        errno = error;
        return NULL;
    }
    return block;
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
    return aligned_or_null(alignment, bytes);
}

EXPORT void *memalign(size_t alignment, size_t bytes)
{
    size_t power = 1;

    while (power < alignment && power <= SIZE_MAX / 2) { // it takes any number
        power *= 2;
    }
    return aligned_or_null(power, bytes);
}

EXPORT void *valloc(size_t bytes)
{
    return aligned_or_null(HKI_HEAP_PAGE_BYTES, bytes);
}

EXPORT void *pvalloc(size_t bytes)
{
    const size_t page = HKI_HEAP_PAGE_BYTES;

    if (bytes > SIZE_MAX - page) {
        errno = ENOMEM;
        return NULL;
    }
    return aligned_or_null(page, bytes == 0 ? page : (bytes + page - 1) / page * page);
}

EXPORT void free_sized(void *block, size_t bytes);
void free_sized(void *block, size_t bytes)
{
    (void)bytes;
    free(block);
}

EXPORT void free_aligned_sized(void *block, size_t alignment, size_t bytes);
void free_aligned_sized(void *block, size_t alignment, size_t bytes)
{
    (void)alignment;
    (void)bytes;
    free(block);
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
