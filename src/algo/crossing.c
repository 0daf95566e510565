/**
 * @file crossing.c
 * @brief Counts what crosses between parts of a machine. Method: the schedules of all ranks are
 *        built, one after the other, for blocks that every algorithm can cut evenly, and their
 *        sends are looked at. Rooted collectives are counted with rank 0 as the root.
 */
#include "algo/algo.h"

#include "algo/build.h"
#include "base/alloc.h"
#include "base/error.h"
#include "sched/schedule.h"

/** What has been counted so far at one level: (nranks,) each, by rank or by part. */
typedef struct tally {
    double sent; /**< messages, by rank */
    double received;
    double elements_out; /**< by part */
    double elements_in;
    int part; /**< of the rank, numbered from 0 in the order in which they appear */
} tally_t;

static void number_parts(const int *parts, int nranks, tally_t *tallies)
{
    int count = 0;

    for (int rank = 0; rank < nranks; rank++) {
        int same = 0;

        while (parts[same] != parts[rank]) {
            same++;
        }
        tallies[rank].part = same == rank ? count++ : tallies[same].part;
    }
}

static void add_sends(const hk_schedule_t *schedule, tally_t *tallies)
{
    tally_t *self = &tallies[schedule->opts.rank];

    for (uint32_t i = 0; i < schedule->step_count; i++) {
        const hki_step_t *step = &schedule->steps[i];

        if (step->kind == HKI_STEP_SEND && tallies[step->peer].part != self->part) {
            const double elements = step->is_token ? 0.0 : (double)step->src.length;

            self->sent++;
            tallies[step->peer].received++;
            tallies[self->part].elements_out += elements;
            tallies[tallies[step->peer].part].elements_in += elements;
        }
    }
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static hki_crossing_t sum_up(const tally_t *tallies, int nranks, size_t count)
{
    hki_crossing_t crossing = {0.0, 0.0};

    for (int i = 0; i < nranks; i++) {
        const tally_t *tally = &tallies[i];

        crossing.messages = larger(crossing.messages, larger(tally->sent, tally->received));
        crossing.bytes = larger(crossing.bytes, larger(tally->elements_out, tally->elements_in));
    }
    crossing.bytes /= (double)count;
    return crossing;
}

hk_status_t hki_algo_crossing(const hki_algo_t *algo, int nranks, int near_ranks,
                              const int *const parts[HKI_CROSS_LEVELS],
                              hki_crossing_t *crossings_out)
{
    // chunks are of all ranks, or of the largest power of two up to that
    const size_t count = (size_t)nranks * (size_t)hki_power_floor(nranks);
    tally_t *tallies = hki_calloc(HKI_CROSS_LEVELS * (size_t)nranks, sizeof(*tallies));
    hk_status_t status = HK_OK;

    if (tallies == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "messages of %d ranks", nranks);
    }
    for (int level = 0; level < HKI_CROSS_LEVELS; level++) {
        if (parts[level] != NULL) {
            number_parts(parts[level], nranks, tallies + (size_t)level * (size_t)nranks);
        }
    }
    for (int rank = 0; rank < nranks; rank++) {
        hk_schedule_opts_t opts = hk_schedule_opts_default();
        hk_schedule_t *schedule = NULL;

        opts.rank = rank;
        opts.nranks = nranks;
        opts.near_ranks = near_ranks;
        opts.count = count;
        HKI_TRY(status = algo->build(&opts, &schedule), done);
        for (int level = 0; level < HKI_CROSS_LEVELS; level++) {
            add_sends(schedule, tallies + (size_t)level * (size_t)nranks);
        }
        hk_schedule_destroy(&schedule);
    }
    for (int level = 0; level < HKI_CROSS_LEVELS; level++) {
        crossings_out[level] = sum_up(tallies + (size_t)level * (size_t)nranks, nranks, count);
    }
done:
    hki_free(tallies);
    return status;
}
