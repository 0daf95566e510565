/**
 * @file reference.h
 * @brief The models once more, in f64 and in plain loops, forward only: what the gradients are the
 *        finite differences of. Written from the definitions, with nothing of src/ but the layout.
 */
#ifndef HK_TEST_UNIT_MODEL_REFERENCE_H
#define HK_TEST_UNIT_MODEL_REFERENCE_H

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "model/model.h"

#define REF_PI 3.14159265358979323846

static inline double *ref_doubles(size_t count)
{
    return hki_calloc(count + 1, sizeof(double));
}

static inline double ref_gelu(double x)
{
    return 0.5 * x * (1.0 + tanh(sqrt(2.0 / REF_PI) * (x + 0.044715 * x * x * x)));
}

static inline void ref_norm(const double *x, const double *gamma, const double *beta, size_t rows,
                            size_t n, double *out)
{
    for (size_t r = 0; r < rows; r++) {
        double mean = 0.0;
        double variance = 0.0;

        for (size_t i = 0; i < n; i++) {
            mean += x[r * n + i] / (double)n;
        }
        for (size_t i = 0; i < n; i++) {
            variance += (x[r * n + i] - mean) * (x[r * n + i] - mean) / (double)n;
        }
        for (size_t i = 0; i < n; i++) {
            out[r * n + i] = (x[r * n + i] - mean) / sqrt(variance + 1e-5) * gamma[i] + beta[i];
        }
    }
}

/** y (rows, n) = x (rows, k) @ w, where w is (k, n). */
static inline void ref_matmul(const double *x, const double *w, size_t rows, size_t k, size_t n,
                              double *y)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0.0;

            for (size_t i = 0; i < k; i++) {
                sum += x[r * k + i] * w[i * n + j];
            }
            y[r * n + j] = sum;
        }
    }
}

/** The same plus a bias (n,), which stands behind w. */
static inline void ref_linear(const double *x, const double *w, size_t rows, size_t k, size_t n,
                              double *y)
{
    ref_matmul(x, w, rows, k, n, y);
    for (size_t i = 0; i < rows * n; i++) {
        y[i] += w[k * n + i % n];
    }
}

/** One sequence: out (T, C) from qkv (T, 3C), H heads. */
static inline void ref_attention(const double *qkv, size_t T, size_t C, size_t H, double *out)
{
    const size_t D = C / H;
    double *p = ref_doubles(T);

    for (size_t h = 0; h < H; h++) {
        for (size_t t = 0; t < T; t++) {
            double sum = 0.0;

            for (size_t s = 0; s <= t; s++) {
                double score = 0.0;
                for (size_t d = 0; d < D; d++) {
                    score += qkv[t * 3 * C + h * D + d] * qkv[s * 3 * C + C + h * D + d];
                }
                p[s] = exp(score / sqrt((double)D));
                sum += p[s];
            }
            for (size_t d = 0; d < D; d++) {
                double value = 0.0;
                for (size_t s = 0; s <= t; s++) {
                    value += p[s] / sum * qkv[s * 3 * C + 2 * C + h * D + d];
                }
                out[t * C + h * D + d] = value;
            }
        }
    }
    hki_free(p);
}

static inline void ref_transformer(const hki_model_config_t *c, const hki_unit_t *u,
                                   const double *params, const double *in, double *out)
{
    const size_t T = (size_t)u->num_tokens;
    const size_t rows = (size_t)u->num_sequences * T;
    const size_t C = (size_t)c->num_dim;
    const size_t M = (size_t)c->num_hidden;
    const double *ln_1 = params;
    const double *qkv_w = ln_1 + 2 * C;
    const double *qkv_b = qkv_w + C * 3 * C;
    const double *proj_w = qkv_b + 3 * C;
    const double *proj_b = proj_w + C * C;
    const double *ln_2 = proj_b + C;
    const double *fc_w = ln_2 + 2 * C;
    const double *fc_b = fc_w + C * M;
    const double *fc_proj_w = fc_b + M;
    double *normed = ref_doubles(rows * C);
    double *qkv = ref_doubles(rows * 3 * C);
    double *attention = ref_doubles(rows * C);
    double *mid = ref_doubles(rows * C);
    double *hidden = ref_doubles(rows * M);

    ref_norm(in, ln_1, ln_1 + C, rows, C, normed);
    ref_linear(normed, qkv_w, rows, C, 3 * C, qkv);
    for (int b = 0; b < u->num_sequences; b++) {
        ref_attention(qkv + (size_t)b * T * 3 * C, T, C, (size_t)c->num_heads,
                      attention + (size_t)b * T * C);
    }
    ref_linear(attention, proj_w, rows, C, C, mid);
    for (size_t i = 0; i < rows * C; i++) {
        mid[i] += in[i];
    }
    ref_norm(mid, ln_2, ln_2 + C, rows, C, normed);
    ref_linear(normed, fc_w, rows, C, M, hidden);
    for (size_t i = 0; i < rows * M; i++) {
        hidden[i] = ref_gelu(hidden[i]);
    }
    ref_linear(hidden, fc_proj_w, rows, M, C, out);
    for (size_t i = 0; i < rows * C; i++) {
        out[i] += mid[i];
    }
    hki_free(normed);
    hki_free(qkv);
    hki_free(attention);
    hki_free(mid);
    hki_free(hidden);
}

/** Loss of a GPT's head. */
static inline double ref_head(const hki_model_config_t *c, const hki_unit_t *u,
                              const double *params, const double *in)
{
    const size_t rows = (size_t)u->num_sequences * (size_t)u->num_tokens;
    const size_t C = (size_t)c->num_dim;
    const size_t V = (size_t)c->num_vocab;
    double *normed = ref_doubles(rows * C);
    double loss = 0.0;

    ref_norm(in, params, params + C, rows, C, normed);
    for (size_t r = 0; r < rows; r++) {
        double sum = 0.0;
        double at_target = 0.0;

        for (size_t v = 0; v < V; v++) {
            double logit = 0.0;
            for (size_t i = 0; i < C; i++) {
                logit += normed[r * C + i] * params[2 * C + v * C + i];
            }
            sum += exp(logit);
            at_target = v == (size_t)u->targets[r] ? logit : at_target;
        }
        loss += (log(sum) - at_target) / (double)rows;
    }
    hki_free(normed);
    return loss;
}

/** Forward of any block of a model of one rank. Returns the loss if it is the head, else 0. */
static inline double ref_block(const hki_model_t *model, int block, const hki_unit_t *u,
                               const double *params, const double *in, double *out)
{
    const hki_model_config_t *c = hki_model_config(model);
    const size_t rows = (size_t)u->num_sequences * (size_t)u->num_tokens;
    const size_t C = (size_t)c->num_dim;
    const bool is_head = block == hki_model_num_blocks(model) - 1;
    double loss = 0.0;

    if (c->kind == HKI_MODEL_GPT && is_head) {
        return ref_head(c, u, params, in);
    }
    if (c->kind == HKI_MODEL_GPT && block > 0) {
        ref_transformer(c, u, params, in, out);
        return 0.0;
    }
    if (c->kind == HKI_MODEL_MLP && !is_head) {
        ref_matmul(in, params, rows, C, C, out);
    }
    for (size_t i = 0; i < rows * C; i++) {
        if (c->kind == HKI_MODEL_GPT) {
            const double *positions = params + (size_t)c->num_vocab * C;
            const size_t row = i / C;

            out[i] = params[(size_t)u->ids[row] * C + i % C] +
                     positions[row % (size_t)u->num_tokens * C + i % C];
        } else if (is_head) {
            loss += in[i] * in[i] / (double)(rows * C);
        } else {
            out[i] = ref_gelu(out[i]);
        }
    }
    return loss;
}

/** Loss of one unit; `params` are all of the model. */
static inline double ref_model(const hki_model_t *model, const hki_unit_t *u, const double *params)
{
    const hki_model_config_t *c = hki_model_config(model);
    const size_t count = (size_t)u->num_sequences * (size_t)u->num_tokens * (size_t)c->num_dim;
    double *x = ref_doubles(count);
    double *y = ref_doubles(count);
    double loss = 0.0;

    for (size_t i = 0; i < count && c->kind == HKI_MODEL_MLP; i++) {
        x[i] = (double)u->features[i];
    }
    for (int i = 0; i < hki_model_num_blocks(model); i++) {
        double *swap = x;

        loss = ref_block(model, i, u, params + hki_model_block(model, i)->param_offset, x, y);
        x = y;
        y = swap;
    }
    hki_free(x);
    hki_free(y);
    return loss;
}

#endif /* HK_TEST_UNIT_MODEL_REFERENCE_H */
