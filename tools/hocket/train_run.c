/*
 * One rank of `hocket train`. All ranks run the same loop; rank 0 prints and writes the log.
 */
#include "train_run.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <hocket/coll.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "tensor/threads.h"
#include "tool.h"
#include "train/journal.h"
#include "train/trainer.h"

/** A run on this rank. */
typedef struct session {
    const hki_train_values_t *values;
    hki_train_config_t config;
    hk_comm_t *comm;
    hki_corpus_t *corpus; // NULL for an MLP
    hki_trainer_t *trainer;
    hki_journal_t *journal; // rank 0, if asked for
    bool is_first;          // rank 0
    bool is_accepted;       // the user's input is right; errors from here on are not theirs
    bool is_terminal;       // the progress line is rewritten in place
    uint64_t start_ns;
    hki_step_report_t since; // sums of times since the progress line was printed
    int since_steps;
    double held_out_loss;
    double bigram_nats; // of the held-out part; 0: not known
} session_t;

/** Progress at most so often where lines stay. */
enum { PROGRESS_LINES = 20 };

static int threads_of(const hki_train_values_t *values, int nranks)
{
    cpu_set_t cores;

    if (values->threads > 0) {
        return values->threads;
    }
    CPU_ZERO(&cores);
    const int count = sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) : 1;
    // a rank pinned by the launcher sees only its own cores
    return values->bind == 0 && count > nranks ? count / nranks : 1;
}

static hk_status_t session_open(session_t *session)
{
    const hki_train_values_t *values = session->values;
    hk_status_t status;

    HKI_TRY(status = hk_comm_open(NULL, &session->comm), done);
    if (values->nranks > 0 && values->nranks != hk_comm_size(session->comm)) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "-n %d, and the launcher has started %d ranks; leave -n out or make them "
                        "equal",
                        values->nranks, hk_comm_size(session->comm));
    }
    HKI_TRY(status = hki_train_configure(values, hk_comm_size(session->comm), &session->config),
            done);
    session->is_first = hk_comm_rank(session->comm) == 0;
    session->is_terminal = isatty(STDOUT_FILENO) == 1;
    hki_log_set_rank(hk_comm_rank(session->comm), hk_comm_size(session->comm));
    hki_tensor_set_threads(threads_of(values, hk_comm_size(session->comm)));
    if (values->data.count > 0) {
        HKI_TRY(status = hki_corpus_open(values->data.value, (int)values->data.count,
                                         hki_train_vocab(values), &session->corpus),
                done);
        HKI_TRY(status = hki_corpus_fits(session->corpus, hki_train_tokens(&session->config)),
                done);
    }
    if (session->is_first && session->corpus != NULL) {
        HKI_TRY(status = hki_corpus_check(session->corpus), done);
    }
    if (session->is_first && values->log != NULL) {
        HKI_TRY(status = hki_journal_open(values->log, values->steps, &session->journal), done);
    }
    session->is_accepted = true;
    status =
        hki_trainer_create(&session->config, session->corpus, session->comm, &session->trainer);
done:
    return status;
}

static void session_close(session_t *session)
{
    hki_journal_close(&session->journal);
    hki_trainer_destroy(&session->trainer);
    hki_corpus_close(&session->corpus);
    hk_comm_close(&session->comm);
}

static void intro_print(session_t *session)
{
    const hki_train_config_t *config = &session->config;
    const hki_model_config_t *model = &config->model;
    const bool is_gpt = model->kind == HKI_MODEL_GPT;

    printf("%s, %d layers, width %d, %zu weights", is_gpt ? "gpt" : "mlp", model->num_layers,
           model->num_dim, hki_trainer_weight_count(session->trainer));
    if (session->corpus != NULL) {
        printf("; %zu tokens, %zu held out", hki_corpus_count(session->corpus),
               hki_corpus_count(session->corpus) - hki_corpus_train_count(session->corpus));
    }
    printf("\nmesh pipe=%d data=%d model=%d; %d units of %d x %d tokens a step; %s\n",
           config->shape.sizes[HKI_AXIS_PIPE], config->shape.sizes[HKI_AXIS_DATA],
           config->shape.sizes[HKI_AXIS_MODEL], hki_train_units(config), config->unit,
           hki_train_tokens(config),
           !config->is_exact                         ? "not exact"
           : config->shape.sizes[HKI_AXIS_MODEL] > 1 ? "exact but for the model axis"
                                                     : "exact: the same bits on every mesh");
    if (session->corpus != NULL &&
        hki_corpus_bigram_entropy(session->corpus, &session->bigram_nats) == HK_OK) {
        printf("byte pairs (bigrams) cost %.4f nats a byte on the held-out part\n",
               session->bigram_nats);
    }
    (void)fflush(stdout);
}

/** The progress line: speeds are those since the line before. */
static void progress_print(session_t *session, int step, const hki_step_report_t *report)
{
    const hki_train_config_t *config = &session->config;
    const int steps = config->rate.steps;
    const int every = steps > PROGRESS_LINES ? steps / PROGRESS_LINES : 1;
    const double passed_s = (double)(hki_clock_ns() - session->start_ns) / 1e9;
    const int left_s = (int)(passed_s / step * (steps - step) + 0.5);
    hki_step_report_t *since = &session->since;

    since->step_ns += report->step_ns;
    since->comm_ns += report->comm_ns;
    session->since_steps++;
    if (!session->is_terminal && step != 1 && step != steps && step % every != 0) {
        return;
    }
    const double tokens = (double)session->since_steps * config->batch * hki_train_tokens(config);
    printf("%sstep %d/%d  loss %.4f  %.0f tokens/s  communication %.0f %%  %d:%02d left%s",
           session->is_terminal ? "\r\033[K" : "", step, steps, report->loss,
           tokens / (double)since->step_ns * 1e9,
           100.0 * (double)since->comm_ns / (double)since->step_ns, left_s / 60, left_s % 60,
           session->is_terminal && step != steps ? "" : "\n");
    (void)fflush(stdout);
    *since = (hki_step_report_t){0};
    session->since_steps = 0;
}

static hk_status_t step_record(session_t *session, int step, const hki_step_report_t *report)
{
    const hki_train_config_t *config = &session->config;
    const hki_journal_step_t record = {
        .step = step,
        .loss = report->loss,
        .rate = report->rate,
        .grad_norm = report->grad_norm,
        .tokens_per_s = 1e9 * config->batch * hki_train_tokens(config) / (double)report->step_ns,
        .comm_share = (double)report->comm_ns / (double)report->step_ns,
    };

    return session->journal != NULL ? hki_journal_step(session->journal, &record) : HK_OK;
}

static hk_status_t evaluate(session_t *session, int step)
{
    hk_status_t status = hki_trainer_evaluate(session->trainer, &session->held_out_loss);

    if (status != HK_OK || !session->is_first) {
        return status;
    }
    printf("%sheld-out loss %.4f after %d steps\n", session->is_terminal ? "\r\033[K" : "",
           session->held_out_loss, step);
    (void)fflush(stdout);
    if (session->journal != NULL) {
        status = hki_journal_eval(session->journal, step, session->held_out_loss);
    }
    return status;
}

static hk_status_t step_run(session_t *session, int step)
{
    const int every = session->values->eval_every;
    hki_step_report_t report;
    hk_status_t status = hki_trainer_step(session->trainer, &report);

    if (status == HK_OK && session->is_first) {
        progress_print(session, step, &report);
        status = step_record(session, step, &report);
    }
    if (status == HK_OK &&
        (step == session->config.rate.steps || (every > 0 && step % every == 0))) {
        status = evaluate(session, step);
    }
    return status;
}

static hk_status_t train(session_t *session)
{
    hk_status_t status = HK_OK;

    session->start_ns = hki_clock_ns();
    for (int step = 1; status == HK_OK && step <= session->config.rate.steps; step++) {
        status = step_run(session, step);
    }
    return status;
}

static void sample_print(const session_t *session, const int32_t *ids, int count)
{
    const bool is_text = hki_train_vocab(session->values) == HKI_VOCAB_BYTES;

    printf("--- sample ---\n");
    for (int i = 0; i < count; i++) {
        if (is_text) {
            (void)putchar(ids[i]);
        } else {
            printf("%d ", ids[i]);
        }
    }
    printf("\n--- end of sample ---\n");
}

static hk_status_t sample(session_t *session)
{
    const hki_train_values_t *values = session->values;
    const char *prompt =
        values->prompt != NULL && values->prompt[0] != '\0' ? values->prompt : "\n";
    const int count = (int)strlen(prompt);
    hk_status_t status;

    if (values->sample == 0) {
        return HK_OK;
    }
    int32_t *ids = hki_calloc((size_t)count + (size_t)values->sample, sizeof(*ids));
    if (ids == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "sample of %d tokens", values->sample);
    }
    for (int i = 0; i < count; i++) {
        ids[i] = (unsigned char)prompt[i];
    }
    status = hki_trainer_sample(session->trainer, values->temperature, ids, count, values->sample);
    if (status == HK_OK && session->is_first) {
        sample_print(session, ids, count + values->sample);
    }
    hki_free(ids);
    return status;
}

static hk_status_t finish(session_t *session)
{
    const double seconds = (double)(hki_clock_ns() - session->start_ns) / 1e9;
    char digest[HKI_DIGEST_TEXT_BYTES] = "";
    hk_status_t status = hki_trainer_digest(session->trainer, digest);

    if (status != HK_OK || !session->is_first) {
        return status;
    }
    if (session->bigram_nats > 0) {
        printf("held-out loss %.4f nats a byte; byte pairs cost %.4f\n", session->held_out_loss,
               session->bigram_nats);
    }
    printf("weights_digest %s\n", digest);
    if (session->journal != NULL) {
        status = hki_journal_end(session->journal, digest, seconds);
    }
    return status;
}

int hki_train_run(const hki_train_values_t *values)
{
    session_t session = {.values = values};
    bool is_usage;
    hk_status_t status;

    HKI_TRY(status = session_open(&session), done);
    if (session.is_first) {
        intro_print(&session);
    }
    HKI_TRY(status = train(&session), done);
    HKI_TRY(status = sample(&session), done);
    HKI_TRY(status = finish(&session), done);
    status = hk_barrier(session.comm, NULL, NULL);
done:
    is_usage = session.comm != NULL && !session.is_accepted;
    // all ranks read the same input: one of them says what is wrong with it
    if (status != HK_OK && (!is_usage || hk_comm_rank(session.comm) == 0)) {
        (void)hki_tool_failed(&hki_train_command);
    }
    session_close(&session);
    return status == HK_OK ? 0 : is_usage ? HKI_EXIT_USAGE : HKI_EXIT_FAILED;
}
