/**
 * @file train_options.h
 * @brief The options of `hocket train`, and the configuration that they make.
 */
#ifndef HKI_TOOLS_HOCKET_TRAIN_OPTIONS_H
#define HKI_TOOLS_HOCKET_TRAIN_OPTIONS_H

#include "base/options.h"
#include "train/config.h"
#include "train/corpus.h"

typedef struct hki_train_values {
    int model;
    hki_string_list_t data;
    int vocab;
    const char *mesh;
    int nranks;
    int bind;
    double timeout_s;
    int batch, unit, steps;
    int layers, dim, heads, hidden, context;
    double lr, lr_final;
    int warmup, schedule;
    double clip;
    int optimizer;
    double weight_decay, beta1, beta2;
    int pipeline;
    int seed;
    int eval_every, eval_units;
    int sample;
    const char *prompt;
    double temperature;
    const char *log;
    bool is_explaining;
    int exact;
    int threads;
} hki_train_values_t;

extern const hki_command_t hki_train_command;

/** The vocabulary that the values ask for, or that the names of the data files show. */
hki_vocab_t hki_train_vocab(const hki_train_values_t *values);

/**
 * The configuration, checked.
 *
 * @param[in]  values      borrowed
 * @param[in]  nranks      ranks there are or will be; 0: as many as the mesh says
 * @param[out] config_out  set on success only
 */
hk_status_t hki_train_configure(const hki_train_values_t *values, int nranks,
                                hki_train_config_t *config_out);

#endif /* HKI_TOOLS_HOCKET_TRAIN_OPTIONS_H */
