/**
 * @file hocket/schedule.h
 * @brief Collective algorithms as data: build, check and read a schedule.
 *
 * A schedule is the straight-line program of one rank for one collective: which elements it sends,
 * receives, copies and reduces. It holds no user pointers and does no I/O, so the same schedule can
 * be checked, printed, costed, simulated and executed, any number of times, on any transport.
 *
 * Memory is four regions. IN and OUT are the caller's and consist of blocks of `count` elements
 * (one block, or one a rank: see in_blocks, out_blocks). TMP holds elements, ACC holds *partial
 * sums* in the accumulator type of the element type (hocket/types.h); both are scratch, one block.
 *
 * Three rules give it meaning:
 *   - Matching: the k-th send from rank a to rank b pairs with the k-th receive on b from a, be it
 *     a recv step or an operand of a reduce step. Both have the same length and the same kind:
 *     elements (sent from IN, OUT or TMP) or partial sums (sent from ACC).
 *   - Order: two steps of one rank run in program order if their spans overlap and one of them
 *     writes; messages between two ranks keep their order. All else may run in any order.
 *   - Sends: hk_builder_send() may let the receiver read the source where it lies; a later step
 *     that overwrites the source then waits until the receiver has read it.
 *     hk_builder_send_copied() copies the source before the step ends, so nothing waits for it.
 *
 * Running a schedule on fewer elements than it was built for is allowed: with blocks that hold only
 * n < count elements every span is clipped to what its block has (a message may become empty, but
 * is still sent). That is how a large operation runs one schedule once for each tile, also the
 * last. Scratch is clipped alike: it consists of slots of `count` elements, and a span of TMP or
 * ACC lies within one slot (clipped as in a block) or covers several whole ones (then it is not
 * clipped).
 *
 * Threads: a finished schedule is immutable and may be shared. A builder belongs to one thread.
 */
#ifndef HK_SCHEDULE_H
#define HK_SCHEDULE_H

#include <hocket/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hk_builder hk_builder_t;   /**< a schedule being written */
typedef struct hk_schedule hk_schedule_t; /**< a finished, immutable schedule */

/** Memory a step may name. */
typedef enum hk_region {
    HK_REGION_IN = 0,  /**< caller's input, read only */
    HK_REGION_OUT = 1, /**< caller's output */
    HK_REGION_TMP = 2, /**< scratch, `tmp_count` elements, undefined at start */
    HK_REGION_ACC = 3, /**< scratch, `acc_count` partial sums, undefined at start */
} hk_region_t;

/** A range: region[block][offset, offset + length). A length of 0 means "nothing". */
typedef struct hk_span {
    hk_region_t region;
    int block;     /**< 0 <= block < blocks of the region; 0 for TMP and ACC */
    size_t offset; /**< [elements] from the start of the block */
    size_t length; /**< [elements] */
} hk_span_t;

/** One input of a reduce step: a span of this rank, or the next message of a peer. */
typedef struct hk_operand {
    int peer;       /**< -1: `span` of this rank; else the next message from this rank */
    int is_partial; /**< peer >= 0: 1 if the peer sends partial sums (from ACC), 0 if elements */
    hk_span_t span; /**< peer == -1: IN, OUT, TMP (an element each) or ACC (a partial sum each) */
} hk_operand_t;

/** How the caller's IN and OUT share memory. */
typedef enum hk_alias {
    HK_ALIAS_NONE = 0,    /**< not at all */
    HK_ALIAS_SAME = 1,    /**< IN block b is OUT block b (broadcast, reduce, all_reduce in
                                place) */
    HK_ALIAS_OWN_OUT = 2, /**< IN block 0 is OUT block `rank` (gathers in place) */
    HK_ALIAS_OWN_IN = 3,  /**< OUT block 0 is IN block `rank` (scatters in place) */
} hk_alias_t;

/** Options of hk_builder_open(). Start from hk_schedule_opts_default(), then set fields. */
typedef struct hk_schedule_opts {
    size_t struct_size; /**< set by the default; tells the library which fields you know */
    const char *name;   /**< label for tools; copied; NULL means "unnamed" */
    int rank;           /**< this rank, 0 <= rank < nranks */
    int nranks;         /**< ranks in the group, >= 1 */
    int root;           /**< root of rooted collectives, else 0 */
    hk_alias_t alias;   /**< default HK_ALIAS_NONE */
    size_t count;       /**< elements in every block of IN and OUT, default 0 */
    int in_blocks;      /**< blocks in IN: 1 (default) or nranks */
    int out_blocks;     /**< blocks in OUT: 1 (default) or nranks */
    size_t tmp_count;   /**< elements of TMP, default 0 */
    size_t acc_count;   /**< partial sums in ACC, default 0 */
    int near_ranks;     /**< ranks come in groups of so many, the last perhaps of fewer, that are
                             nearer to each other than to others; default 1: all are alike */
} hk_schedule_opts_t;

static inline hk_schedule_opts_t hk_schedule_opts_default(void)
{
    const hk_schedule_opts_t opts = {sizeof(opts), NULL, 0, 1, 0, HK_ALIAS_NONE, 0, 1, 1, 0, 0, 1};
    return opts;
}

/**
 * Start writing a schedule.
 *
 * @param[in]  opts         copied; may be freed after the call
 * @param[out] builder_out  set on success only; end it with hk_builder_finish()
 * @return HK_OK, HK_ERR_INVALID_ARG (rank, nranks, root or blocks out of range), HK_ERR_NO_MEMORY
 */
HK_API HK_NODISCARD hk_status_t hk_builder_open(const hk_schedule_opts_t *opts,
                                                hk_builder_t **builder_out);

/**
 * Append one step. A step of length 0 is dropped.
 *
 * These return nothing on purpose: the builder keeps the first error and ignores later steps, and
 * hk_builder_finish() reports it. An algorithm thus reads as the algorithm.
 *
 * @param peer  the other rank, 0 <= peer < nranks, not this rank
 */
HK_API void hk_builder_send(hk_builder_t *builder, int peer, hk_span_t src);
HK_API void hk_builder_send_copied(hk_builder_t *builder, int peer, hk_span_t src);
/** Overwrite dst with the next message from peer. dst in ACC: a message of partial sums. */
HK_API void hk_builder_recv(hk_builder_t *builder, int peer, hk_span_t dst);
/** Overwrite dst with src; both of elements, or both in ACC. Same span (also by alias): dropped. */
HK_API void hk_builder_copy(hk_builder_t *builder, hk_span_t dst, hk_span_t src);
/**
 * dst = tree(operands), combined in list order by the tree of hocket/types.h. dst in ACC: stays a
 * partial sum. dst in OUT or TMP: the end result; rounded, and divided for HK_AVG. Elements enter
 * as contributions of a rank (scaled for HK_PREMULSUM). dst may be one of the operands. One operand
 * alone is allowed: it converts.
 *
 * @param operands  (operand_count,) copied; every local span has dst's length
 */
HK_API void hk_builder_reduce(hk_builder_t *builder, hk_span_t dst, const hk_operand_t *operands,
                              int operand_count);

/**
 * Order that overlap does not show: append a step without effect that waits for a message of length
 * 0 (recv_token), or sends one. A token step stays in program order with all other steps of its
 * rank. Barriers are made of these.
 */
HK_API void hk_builder_send_token(hk_builder_t *builder, int peer);
HK_API void hk_builder_recv_token(hk_builder_t *builder, int peer);

/**
 * End a builder. Frees it and sets *builder to NULL, whatever the result.
 *
 * @param[in,out] builder       may point to NULL, then the call returns HK_ERR_INVALID_ARG
 * @param[out]    schedule_out  set on success only; free it with hk_schedule_destroy()
 * @return HK_OK, or the first error of any step: HK_ERR_INVALID_ARG (span or peer out of range,
 *         write to IN), HK_ERR_NO_MEMORY
 */
HK_API HK_NODISCARD hk_status_t hk_builder_finish(hk_builder_t **builder,
                                                  hk_schedule_t **schedule_out);

/** Free a schedule and set *schedule to NULL. Does nothing if it is NULL already. */
HK_API void hk_schedule_destroy(hk_schedule_t **schedule);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* HK_SCHEDULE_H */
