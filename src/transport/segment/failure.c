/**
 * @file failure.c
 * @brief The failure of a group: first come, first kept.
 *
 * One 64-bit word holds what must never be seen half-written: 1 | -status << 8 | (rank + 1) << 32.
 * Its first writer then writes the text and says so. A reader waits a little for the text, and does
 * without if the writer died in between.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "transport/segment/endpoint.h"
#include "transport/segment/futex.h"

enum { TEXT_YIELDS_MAX = 1000 };

static uint64_t failure_pack(hk_status_t status, int rank)
{
    return 1 | (uint64_t)(uint8_t) - (int)status << 8 | (uint64_t)(uint32_t)(rank + 1) << 32;
}

void hki_segment_describe(const hki_segment_t *seg, int rank, char *text, size_t text_bytes)
{
    const int world_rank = seg->world_ranks[rank];

    if (seg->world->pids == NULL) {
        (void)snprintf(text, text_bytes, "rank %d", rank);
    } else if (world_rank == rank) {
        (void)snprintf(text, text_bytes, "rank %d (pid %d)", rank, seg->world->pids[rank]);
    } else {
        (void)snprintf(text, text_bytes, "rank %d (rank %d of the job, pid %d)", rank, world_rank,
                       seg->world->pids[world_rank]);
    }
}

void hki_segment_fail(hki_endpoint_t *ep, hk_status_t status, int rank, const char *text)
{
    hki_segment_t *seg = hki_segment_of(ep);
    hki_head_t *head = seg->head;
    uint64_t none = 0;

    HKI_ASSERT(status < 0);
    if (hki_segment_is_forked(seg) ||
        !atomic_compare_exchange_strong(&head->failure, &none, failure_pack(status, rank))) {
        return;
    }
    (void)snprintf(head->failure_text, sizeof(head->failure_text), "%s", text);
    atomic_store_explicit(&head->failure_text_is_ready, 1, memory_order_release);
    hki_segment_ring_all(seg);
}

void hki_segment_failure(const hki_endpoint_t *ep, hki_failure_t *failure_out)
{
    const hki_segment_t *seg = hki_segment_of_const(ep);
    const hki_head_t *head = seg->head;

    if (hki_segment_is_forked(seg)) {
        failure_out->status = HK_ERR_ABORTED;
        failure_out->rank = -1;
        (void)snprintf(failure_out->text, sizeof(failure_out->text),
                       "this process was forked from rank %d: the communicator stays with the "
                       "parent; open one here",
                       seg->base.rank);
        return;
    }
    const uint64_t packed = atomic_load_explicit(&head->failure, memory_order_acquire);
    failure_out->status = packed == 0 ? HK_OK : (hk_status_t) - (int)(packed >> 8 & 0xff);
    failure_out->rank = (int)(packed >> 32) - 1;
    failure_out->text[0] = '\0';
    if (packed == 0) {
        return;
    }
    for (int i = 0; i < TEXT_YIELDS_MAX; i++) {
        if (atomic_load_explicit(&head->failure_text_is_ready, memory_order_acquire) != 0) {
            memcpy(failure_out->text, head->failure_text, sizeof(failure_out->text));
            failure_out->text[sizeof(failure_out->text) - 1] = '\0';
            return;
        }
        (void)sched_yield();
    }
    (void)snprintf(failure_out->text, sizeof(failure_out->text), "rank %d: %s", failure_out->rank,
                   hk_status_text(failure_out->status));
}

bool hki_segment_is_failed(const hki_endpoint_t *ep)
{
    return hki_segment_is_broken(hki_segment_of_const(ep));
}

hk_status_t hki_segment_report(const hki_segment_t *seg)
{
    hki_failure_t failure;

    hki_segment_failure(&seg->base, &failure);
    return hki_fail_again(failure.status, failure.text);
}
