/**
 * @file notice.c
 * @brief What ranks say about themselves: announcements, and who is to blame for a passed deadline.
 *
 * A slot of the log is a sequence lock: its stamp says which operation it holds and whether it is
 * being written. The words are atomic so that reading them at the wrong moment is harmless.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "transport/segment/endpoint.h"

enum { STAMP_WRITING = 1, STAMP_VALID = 2, STAMP_BITS = 2 };

enum { CALL_WORD = 1 }; // after number and check

_Static_assert(offsetof(hki_announcement_t, call) == CALL_WORD * sizeof(uint64_t), "its place");
_Static_assert(offsetof(hki_announcement_t, signature) == HKI_NOTICE_HEAD_WORDS * sizeof(uint64_t),
               "the signature follows the head");

#define HEARTBEAT_FRESH_NS UINT64_C(1000000000)

static uint64_t stamp_of(uint32_t op_number, unsigned state)
{
    return (uint64_t)op_number << STAMP_BITS | state;
}

static void write_text(hki_slot_text_t *text, const hki_announcement_t *announcement)
{
    uint64_t words[HKI_SIGNATURE_WORDS];

    memcpy(words, announcement->signature, sizeof(words));
    for (int i = 0; i < HKI_SIGNATURE_WORDS; i++) {
        atomic_store_explicit(&text->words[i], words[i], memory_order_release); // as below
    }
}

void hki_segment_announce(hki_endpoint_t *ep, const hki_announcement_t *announcement,
                          bool is_awaited)
{
    hki_segment_t *seg = hki_segment_of(ep);
    uint64_t head[HKI_NOTICE_HEAD_WORDS];

    if (hki_segment_is_forked(seg)) {
        return;
    }
    const uint32_t at = announcement->op_number % HKI_ANNOUNCEMENTS;
    hki_slot_t *slot = &seg->mine->log[at];
    memcpy(head, announcement, sizeof(head));
    // Loops call the same again and again: what is there already is not written again.
    const bool is_new =
        atomic_load_explicit(&slot->stamp, memory_order_relaxed) == 0 ||
        atomic_load_explicit(&slot->head[CALL_WORD], memory_order_relaxed) != announcement->call;
    atomic_store_explicit(&slot->stamp, stamp_of(announcement->op_number, STAMP_WRITING),
                          memory_order_relaxed);
    for (int i = 0; i < HKI_NOTICE_HEAD_WORDS; i++) {
        // release: who reads this word sees the stamp above, and drops what it has read
        atomic_store_explicit(&slot->head[i], head[i], memory_order_release);
    }
    if (is_new) {
        write_text(&seg->mine->texts[at], announcement);
    }
    atomic_store_explicit(&slot->stamp, stamp_of(announcement->op_number, STAMP_VALID),
                          memory_order_release);
    hki_segment_show_busy(seg);
    if (is_awaited) {
        hki_segment_ring_all(seg);
    }
}

/** Copy the head of what peer announced as op_number, and its text unless that is NULL; see
 *  announced(). */
static hk_status_t read_notice(const hki_segment_t *seg, int peer, uint32_t op_number,
                               uint64_t *head, uint64_t *text)
{
    const uint32_t at = op_number % HKI_ANNOUNCEMENTS;
    const hki_slot_t *slot = &seg->blocks[peer].log[at];

    if (hki_segment_is_broken(seg)) {
        return hki_segment_report(seg);
    }
    const uint64_t stamp = atomic_load_explicit(&slot->stamp, memory_order_acquire);
    if (stamp != stamp_of(op_number, STAMP_VALID)) {
        const int32_t ahead = (int32_t)((uint32_t)(stamp >> STAMP_BITS) - op_number);
        return stamp != 0 && ahead > 0 ? HK_ERR_LIMIT : HK_IN_PROGRESS;
    }
    for (int i = 0; i < HKI_NOTICE_HEAD_WORDS; i++) {
        head[i] = atomic_load_explicit(&slot->head[i], memory_order_acquire);
    }
    for (int i = 0; text != NULL && i < HKI_SIGNATURE_WORDS; i++) {
        text[i] = atomic_load_explicit(&seg->blocks[peer].texts[at].words[i], memory_order_acquire);
    }
    // else it was overwritten meanwhile: forgotten
    return atomic_load_explicit(&slot->stamp, memory_order_relaxed) == stamp ? HK_OK : HK_ERR_LIMIT;
}

hk_status_t hki_segment_announced(hki_endpoint_t *ep, int peer, uint32_t op_number,
                                  hki_announcement_t *announcement_out)
{
    uint64_t head[HKI_NOTICE_HEAD_WORDS];
    uint64_t text[HKI_SIGNATURE_WORDS];
    const hk_status_t status = read_notice(hki_segment_of(ep), peer, op_number, head, text);

    if (status == HK_OK) {
        memcpy(announcement_out, head, sizeof(head));
        memcpy(announcement_out->signature, text, sizeof(text));
    }
    return status;
}

hk_status_t hki_segment_announced_check(hki_endpoint_t *ep, int peer, uint32_t op_number,
                                        uint32_t *check_out)
{
    uint64_t head[HKI_NOTICE_HEAD_WORDS] = {0};
    hki_announcement_t other;
    const hk_status_t status = read_notice(hki_segment_of(ep), peer, op_number, head, NULL);

    memcpy(&other, head, sizeof(head));
    if (status == HK_OK) {
        *check_out = other.check;
    }
    return status;
}

/** Does this rank wait for another one, here and now? */
static bool is_waiting(const hki_segment_t *seg, int rank, uint64_t now_ns)
{
    const hki_block_t *block = &seg->blocks[rank];
    const uint64_t beat_ns = atomic_load_explicit(&block->heartbeat_ns, memory_order_relaxed);

    return rank == seg->base.rank ||
           (atomic_load_explicit(&block->waits_for, memory_order_relaxed) != HKI_WAITS_NOT &&
            beat_ns + HEARTBEAT_FRESH_NS >= now_ns);
}

/** Follow who waits for whom from this rank on. @return the rank that does not wait, or -1 */
static int chain_end(const hki_segment_t *seg, uint64_t now_ns)
{
    int rank = seg->base.rank;

    for (int steps = 0; steps < seg->base.nranks; steps++) {
        rank = atomic_load_explicit(&seg->blocks[rank].waits_for, memory_order_relaxed);
        if (rank < 0) {
            return -1;
        }
        if (!is_waiting(seg, rank, now_ns)) {
            return rank;
        }
    }
    return -1; // a circle
}

/** What a rank that does not wait is doing instead. */
static const char *excuse(const hki_segment_t *seg, int rank)
{
    switch (atomic_load_explicit(&seg->blocks[rank].state, memory_order_relaxed)) {
    case HKI_RANK_ABSENT:
        return "has not joined the group";
    case HKI_RANK_CLOSED:
        return "has closed the communicator";
    case HKI_RANK_EXITED:
        return "has exited";
    default:
        return "is busy elsewhere: it does not wait in this group";
    }
}

static bool is_member(const hki_segment_t *seg, int world_rank)
{
    for (int rank = 0; rank < seg->base.nranks; rank++) {
        if (seg->world_ranks[rank] == world_rank) {
            return true;
        }
    }
    return false;
}

/** Is this rank of the job stopped or killed; or, if exits count, has it ended with an error? */
static bool is_lost(hki_world_t *world, int rank, bool do_exits_count, char *how, size_t how_bytes)
{
    const bool is_asked = true;

    if (world->ops->is_stopped(world, rank)) {
        (void)snprintf(how, how_bytes, "is stopped");
        return true;
    }
    return world->ops->find_dead(world, &rank, &is_asked, 1) == 0 &&
           world->ops->describe_end(world, rank, how, how_bytes) &&
           (do_exits_count ? strcmp(how, "exited with status 0") != 0
                           : strncmp(how, "exited", 6) != 0);
}

bool hki_segment_outsider(const hki_segment_t *seg, char *text, size_t text_bytes)
{
    hki_world_t *world = seg->world;
    char how[128];

    // who has exited with an error may have done so because of another who is stopped or killed
    for (int pass = 0; pass < 2 && world->pids != NULL; pass++) {
        for (int rank = 0; rank < world->nranks; rank++) {
            if (!is_member(seg, rank) && is_lost(world, rank, pass == 1, how, sizeof(how))) {
                (void)snprintf(text, text_bytes, "rank %d of the job (pid %d) %s", rank,
                               world->pids[rank], how);
                return true;
            }
        }
    }
    return false;
}

int hki_segment_blame(hki_endpoint_t *ep, char *text, size_t text_bytes)
{
    hki_segment_t *seg = hki_segment_of(ep);
    const uint64_t now_ns = hki_clock_ns();
    char who[64];
    char outsider[160] = "";
    int culprit = -1;
    const char *what = "is stopped";

    for (int rank = 0; rank < seg->base.nranks && culprit < 0; rank++) {
        if (seg->world->ops->is_stopped(seg->world, seg->world_ranks[rank])) {
            culprit = rank;
        }
    }
    const bool is_stopped = culprit >= 0;
    if (culprit < 0) {
        culprit = chain_end(seg, now_ns);
        for (int rank = 0; rank < seg->base.nranks && culprit < 0; rank++) {
            culprit = is_waiting(seg, rank, now_ns) ? -1 : rank;
        }
        what = culprit < 0 ? "" : excuse(seg, culprit);
    }
    if (culprit < 0) {
        (void)snprintf(text, text_bytes, "all ranks wait for one another");
        return -1;
    }
    hki_segment_describe(seg, culprit, who, sizeof(who));
    const bool is_own = is_stopped || !hki_segment_outsider(seg, outsider, sizeof(outsider));
    (void)snprintf(text, text_bytes, "%s %s%s%s", who, what, is_own ? "" : "; ",
                   is_own ? "" : outsider);
    return culprit;
}
