/**
 * @file trainer_weights.c
 * @brief The digest of all weights, and text from the model: both work on any layout.
 *
 * Ranks with data coordinate 0 hold every weight once. A parameter is put together from its parts
 * on model rank 0 of its stage and sent to rank 0; no rank ever holds more than one that is not its
 * own.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "train/trainer_state.h"

/** Put parameter p together on model rank 0 of its stage. @param[out] whole_out set there only */
static hk_status_t param_assemble(hki_trainer_t *trainer, int p, const float **whole_out)
{
    const hki_param_info_t *info = hki_model_param(trainer->model, p);
    const int nparts = trainer->config.shape.sizes[HKI_AXIS_MODEL];
    const float *part =
        hki_stage_params(trainer->stage) + (info->offset - hki_stage_param_offset(trainer->stage));

    if (nparts == 1 || info->split_dim < 0) {
        *whole_out = part;
        return HK_OK;
    }
    const hk_status_t status = hk_gather(trainer->lines[HKI_AXIS_MODEL], part, trainer->parts,
                                         info->count, HK_F32, 0, NULL, NULL);
    if (status != HK_OK) {
        return status;
    }
    for (int r = 0; trainer->at[HKI_AXIS_MODEL] == 0 && r < nparts; r++) {
        hki_param_put(trainer->model, p, r, trainer->parts + (size_t)r * info->count,
                      trainer->whole);
    }
    *whole_out = trainer->whole;
    return HK_OK;
}

/** Bring parameter p whole to rank 0. @param[out] whole_out  set there; NULL elsewhere */
static hk_status_t param_collect(hki_trainer_t *trainer, int p, const float **whole_out)
{
    const size_t count = hki_model_param(trainer->model, p)->global_count;
    const int owner = hki_trainer_stage_of(trainer, p);
    const int stage = trainer->at[HKI_AXIS_PIPE];
    hk_comm_t *line = trainer->lines[HKI_AXIS_PIPE];
    const float *whole = NULL;
    hk_status_t status = HK_OK;

    if (stage == owner) {
        status = param_assemble(trainer, p, &whole);
    }
    if (status == HK_OK && trainer->at[HKI_AXIS_MODEL] == 0 && owner != 0) {
        if (stage == owner) {
            status = hk_send(line, whole, count, HK_F32, 0, NULL, NULL);
        } else if (stage == 0) {
            status = hk_recv(line, trainer->whole, count, HK_F32, owner, NULL, NULL);
            whole = trainer->whole;
        }
    }
    *whole_out = stage == 0 && trainer->at[HKI_AXIS_MODEL] == 0 ? whole : NULL;
    return status;
}

hk_status_t hki_trainer_digest(hki_trainer_t *trainer, char text[HKI_DIGEST_TEXT_BYTES])
{
    hki_digest_t digest;
    const float *whole = NULL;

    if (trainer->at[HKI_AXIS_DATA] != 0) {
        return HK_OK;
    }
    hki_digest_begin(&digest);
    for (int p = 0; p < hki_model_num_params(trainer->model); p++) {
        const hki_param_info_t *info = hki_model_param(trainer->model, p);
        if (info->tie >= 0) {
            continue;
        }
        const hk_status_t status = param_collect(trainer, p, &whole);
        if (status != HK_OK) {
            return hki_trainer_end(trainer, status);
        }
        if (whole != NULL) {
            hki_digest_add(&digest, whole, info->global_count);
        }
    }
    if (whole != NULL) {
        hki_digest_end(&digest, text);
    }
    return HK_OK;
}

size_t hki_trainer_weight_count(const hki_trainer_t *trainer)
{
    size_t count = 0;

    for (int p = 0; p < hki_model_num_params(trainer->model); p++) {
        const hki_param_info_t *info = hki_model_param(trainer->model, p);
        count += info->tie < 0 ? info->global_count : 0;
    }
    return count;
}

/** Draw a token from the logits: number `index` of the stream of this seed. */
static int32_t token_draw(const float *logits, int count, double temperature, uint64_t seed,
                          uint64_t index)
{
    int best = 0;
    double total = 0;

    for (int i = 1; i < count; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    if (temperature <= 0) {
        return best;
    }
    for (int i = 0; i < count; i++) {
        total += exp(((double)logits[i] - (double)logits[best]) / temperature);
    }
    double left = total * hki_random_uniform(hki_random_key(seed, "sample"), index);
    for (int i = 0; i < count; i++) {
        left -= exp(((double)logits[i] - (double)logits[best]) / temperature);
        if (left < 0) {
            return i;
        }
    }
    return best;
}

/** One more token: the stages one after the other, then the last one tells all. */
static hk_status_t token_next(hki_trainer_t *trainer, double temperature, int32_t *ids, int count)
{
    const hki_model_config_t *config = hki_model_config(trainer->model);
    const int nstages = trainer->config.shape.sizes[HKI_AXIS_PIPE];
    const int stage = trainer->at[HKI_AXIS_PIPE];
    const int window = count < config->num_context ? count : config->num_context;
    const size_t border = hki_stage_activation_count(trainer->stage, 1, window);
    const hki_stage_port_t port = hki_stage_port(trainer->stage, 0);
    hk_comm_t *line = trainer->lines[HKI_AXIS_PIPE];
    int32_t token = 0;
    hk_status_t status;

    memcpy(hki_stage_data(trainer->stage, 0).ids, ids + (count - window),
           (size_t)window * sizeof(*ids));
    if (stage > 0) {
        HKI_TRY(status = hk_recv(line, port.in, border, HK_F32, stage - 1, NULL, NULL), done);
    }
    HKI_TRY(status = hki_stage_logits(trainer->stage, window, trainer->logits), done);
    if (stage < nstages - 1) {
        HKI_TRY(status = hk_send(line, port.out, border, HK_F32, stage + 1, NULL, NULL), done);
    } else {
        token = token_draw(trainer->logits, config->num_vocab, temperature, trainer->config.seed,
                           (uint64_t)count);
    }
    HKI_TRY(status = hk_broadcast(line, &token, &token, 1, HK_I32, nstages - 1, NULL, NULL), done);
    ids[count] = token;
done:
    return status;
}

hk_status_t hki_trainer_sample(hki_trainer_t *trainer, double temperature, int32_t *ids, int count,
                               int num_new)
{
    hk_status_t status = HK_OK;

    if (trainer->config.model.kind != HKI_MODEL_GPT) {
        return HKI_FAIL(HK_ERR_UNSUPPORTED, "an mlp writes no text; use --model gpt");
    }
    if (trainer->at[HKI_AXIS_DATA] != 0) {
        return HK_OK;
    }
    for (int i = 0; status == HK_OK && i < num_new; i++) {
        status = token_next(trainer, temperature, ids, count + i);
    }
    return hki_trainer_end(trainer, status);
}
