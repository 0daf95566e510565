/**
 * @file train_run.h
 * @brief One rank of `hocket train`, from joining the job to the last line printed.
 */
#ifndef HKI_TOOLS_HOCKET_TRAIN_RUN_H
#define HKI_TOOLS_HOCKET_TRAIN_RUN_H

#include "train_options.h"

/** Join the job, train, evaluate, sample, print. Prints its errors. @return the exit status */
int hki_train_run(const hki_train_values_t *values);

#endif /* HKI_TOOLS_HOCKET_TRAIN_RUN_H */
