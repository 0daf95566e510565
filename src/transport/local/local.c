/**
 * @file local.c
 * @brief Ranks that are threads of one process: a world of private memory. All memory is direct.
 */
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/error.h"
#include "transport/open.h"
#include "transport/segment/endpoint.h"

static hk_status_t local_commit(hki_world_t *world, uint64_t offset, uint64_t bytes)
{
    (void)world;
    (void)offset;
    (void)bytes;
    return HK_OK; // like heap memory, pages become real when touched
}

static void local_decommit(hki_world_t *world, uint64_t offset, uint64_t bytes)
{
    (void)madvise(world->base + offset, bytes, MADV_DONTNEED);
}

static void local_enlarge(hki_world_t *world, uint64_t offset, uint64_t bytes)
{
    (void)madvise(world->base + offset, bytes, MADV_HUGEPAGE);
}

static int local_find_dead(hki_world_t *world, const int *ranks, const bool *is_asked, int nranks)
{
    (void)world;
    (void)ranks;
    (void)is_asked;
    (void)nranks;
    return -1; // threads do not die alone
}

static bool local_is_stopped(const hki_world_t *world, int rank)
{
    (void)world;
    (void)rank;
    return false;
}

static bool local_describe_end(hki_world_t *world, int rank, char *text, size_t text_bytes)
{
    (void)world;
    (void)rank;
    (void)text;
    (void)text_bytes;
    return false;
}

static void local_destroy(hki_world_t *world)
{
    if (world->base != NULL) {
        (void)munmap(world->base, world->bytes);
    }
    hki_world_end(world);
    hki_free(world->masks);
    hki_free(world);
}

static const hki_world_ops_t LOCAL_WORLD_OPS = {
    .commit = local_commit,
    .enlarge = local_enlarge,
    .decommit = local_decommit,
    .find_dead = local_find_dead,
    .is_stopped = local_is_stopped,
    .describe_end = local_describe_end,
    .destroy = local_destroy,
};

static const hki_endpoint_ops_t LOCAL_OPS = HKI_SEGMENT_OPS("local");

/** Only address space. Where even that is counted (no overcommit), a smaller one must do. */
static hk_status_t reserve(hki_world_t *world)
{
    const uint64_t page = HKI_ARENA_PAGE_BYTES;
    uint64_t bytes = hki_world_arena_bytes(1, hki_world_bytes_max());

    for (; bytes >= page; bytes = bytes / 2 / page * page) {
        char *base = hki_world_reserve(bytes);
        if (base != NULL && mprotect(base, bytes, PROT_READ | PROT_WRITE) != 0) {
            (void)munmap(base, bytes);
            base = NULL;
        }
        if (base != NULL) {
            world->base = base;
            world->bytes = bytes;
            return HK_OK;
        }
    }
    return HKI_FAIL(HK_ERR_NO_MEMORY, "no address space is left; see ulimit -v");
}

static hk_status_t local_world_create(int nranks, int spin, hki_world_t **world_out)
{
    hki_world_t *world = hki_calloc(1, sizeof(*world));

    if (world == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "world of threads, %zu bytes", sizeof(*world));
    }
    world->ops = &LOCAL_WORLD_OPS;
    world->nranks = nranks;
    world->spin = spin;
    world->is_private = true;
    world->unstaged_bytes = 0; // all is direct
    hki_world_begin(world);
    hk_status_t status = HK_OK;
    world->masks = hki_calloc((size_t)nranks, sizeof(*world->masks));
    if (world->masks == NULL) {
        HKI_TRY(status = HKI_FAIL(HK_ERR_NO_MEMORY, "masks of %d ranks", nranks), fail);
    }
    HKI_TRY(status = reserve(world), fail);
    HKI_TRY(status = hki_arena_init(&world->arena, 0, world->bytes), fail);
    *world_out = world;
    return HK_OK;
fail:
    local_destroy(world);
    return status;
}

hk_status_t hki_local_open(const hki_transport_opts_t *opts, int nranks, hki_endpoint_t **eps_out)
{
    const hki_group_shape_t shape = hki_group_shape(nranks, opts->nlanes, opts->staging_bytes);
    hki_world_t *world = NULL;
    hki_endpoint_t **eps = NULL;
    int *ranks = NULL;
    uint64_t offset = 0;
    int opened = 0;
    hk_status_t status = local_world_create(nranks, opts->spin, &world);

    if (status != HK_OK) {
        return status;
    }
    hki_world_retain(world); // until all endpoints hold it
    ranks = hki_calloc((size_t)nranks, sizeof(*ranks));
    eps = hki_calloc((size_t)nranks, sizeof(*eps));
    if (ranks == NULL || eps == NULL) {
        status = HKI_FAIL(HK_ERR_NO_MEMORY, "%d endpoints", nranks);
        goto done;
    }
    for (int rank = 0; rank < nranks; rank++) {
        ranks[rank] = rank;
    }
    HKI_TRY(status = hki_group_create(world, &shape, &offset), done);
    for (; opened < nranks; opened++) {
        const hki_group_seat_t seat = {
            .offset = offset, .world_ranks = ranks, .nranks = nranks, .rank = opened};
        HKI_TRY(status = hki_group_open(world, &LOCAL_OPS, &seat, &eps[opened]), done);
    }
    for (int rank = 0; rank < nranks; rank++) {
        eps_out[rank] = eps[rank];
    }
done:
    for (int rank = 0; status != HK_OK && rank < opened; rank++) {
        hki_segment_close(eps[rank]);
    }
    hki_free(eps);
    hki_free(ranks);
    hki_world_release(world);
    return status;
}
