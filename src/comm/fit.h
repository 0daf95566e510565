/**
 * @file fit.h
 * @brief Costs that `hocket bench --fit` has measured on this machine: their file, and constants
 *        for where there is none.
 *
 * There is one file for each processor model, number of cores, transport and number of ranks, in
 * the user's cache folder. All ranks must choose the same algorithms, so those of a communicator go
 * by what its rank 0 has read, whatever the others would find.
 *
 *     hocket fit 1
 *     common 350 0.12 0.05
 *     all_reduce direct 340.5 0.11 0.04
 *     cross memory 90 0.029 0
 *
 * A line holds alpha [ns a message], beta [ns a byte] and gamma [ns a byte reduced]. Lines "cross
 * cache" and "cross memory" tell what crossing costs more (hki_cross_params_t); without them, that
 * is the constants'.
 */
#ifndef HKI_COMM_FIT_H
#define HKI_COMM_FIT_H

#include "algo/algo.h"
#include "base/text.h"

/** Constants that are sane on any machine: with more ranks than cores, a message waits for the turn
 *  of its receiver. @param transport  "shm" or "local" */
void hki_fit_preset(const char *transport, int nranks, hki_costs_t *costs);

/**
 * Read the text of a file. Algorithms it does not name get its common costs; names that are not
 * known here are skipped, so that files of other versions serve.
 *
 * @param[out] costs_out  set on success only
 * @return 0, or the number of the first line that cannot be right
 */
int hki_fit_parse(const char *text, hki_costs_t *costs_out);

/** The text of a file.
 *  @param is_measured  (HKI_ALGOS_MAX,): which algorithms get a line
 *  @param is_crossed   (HKI_CROSS_LEVELS,): which levels get one */
void hki_fit_format(const hki_costs_t *costs, const bool *is_measured, const bool *is_crossed,
                    hki_text_t *text);

/** "cache", "memory". */
const char *hki_fit_level_name(int level);

/** Where the file is, whether or not there is one. @return HK_OK, HK_ERR_UNSUPPORTED (no home; no
 *  text is stored) */
HK_NODISCARD hk_status_t hki_fit_path(const char *transport, int nranks, char *path,
                                      size_t path_bytes);

/**
 * The costs of a communicator: the file that HOCKET_FIT names, else that of hki_fit_path(), else
 * the constants. A file that cannot be right, or a named one that cannot be read, gives one warning
 * and the constants.
 */
void hki_fit_load(const char *transport, int nranks, hki_costs_t *costs_out);

/** The same. @param[out] source  the path of the file they are from; "": the constants */
void hki_fit_find(const char *transport, int nranks, hki_costs_t *costs_out, char *source,
                  size_t source_bytes);

#endif /* HKI_COMM_FIT_H */
