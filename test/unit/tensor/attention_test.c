/**
 * @file attention_test.c
 * @brief Causal attention, forward and backward, against plain loops in f64, for lengths around the
 *        block of queries; nothing depends on later tokens or on other sequences.
 */
#include "support/hk_test.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/random.h"
#include "tensor/attention.h"

/** All buffers of one attention. */
typedef struct setting {
    hki_attention_t t;
    size_t rows;
    size_t width;
    float *qkv;
    float *dout;
} setting_t;

static float *random_floats(const char *name, size_t count)
{
    const hki_random_key_t key = hki_random_key(9, name);
    float *x = hki_calloc(count, sizeof(*x));

    for (size_t i = 0; i < count; i++) {
        x[i] = (float)hki_random_normal(key, i);
    }
    return x;
}

static setting_t setting_open(size_t sequences, size_t tokens, size_t heads, size_t head_dim)
{
    setting_t s = {.rows = sequences * tokens, .width = heads * head_dim};
    const size_t scratch = hki_attention_scratch_count(sequences, tokens, heads);

    s.qkv = random_floats("qkv", s.rows * 3 * s.width);
    s.dout = random_floats("dout", s.rows * s.width);
    s.t = (hki_attention_t){
        .num_sequences = sequences,
        .num_tokens = tokens,
        .num_heads = heads,
        .head_dim = head_dim,
        .qkv = s.qkv,
        .out = random_floats("junk", s.rows * s.width),
        .log_sums = random_floats("junk", s.rows * heads),
        .scratch = random_floats("junk", scratch),
        .dout = s.dout,
        .dqkv = random_floats("junk", s.rows * 3 * s.width),
    };
    return s;
}

static void setting_close(setting_t *s)
{
    hki_free(s->qkv);
    hki_free(s->dout);
    hki_free(s->t.out);
    hki_free(s->t.log_sums);
    hki_free(s->t.scratch);
    hki_free(s->t.dqkv);
}

/** Probabilities of query `t` of head `h` of sequence `b`, (t + 1,). */
static void probabilities(const setting_t *s, size_t b, size_t h, size_t t, double *p)
{
    const size_t stride = 3 * s->width;
    const float *q = s->qkv + (b * s->t.num_tokens + t) * stride + h * s->t.head_dim;
    double sum = 0.0;

    for (size_t j = 0; j <= t; j++) {
        const float *k = s->qkv + (b * s->t.num_tokens + j) * stride + s->width + h * s->t.head_dim;
        double score = 0.0;

        for (size_t d = 0; d < s->t.head_dim; d++) {
            score += (double)q[d] * (double)k[d];
        }
        p[j] = exp(score / sqrt((double)s->t.head_dim));
        sum += p[j];
    }
    for (size_t j = 0; j <= t; j++) {
        p[j] /= sum;
    }
}

/** One query's share in out (rows, width) and dqkv (rows, 3 width), which start as zeros. */
static void reference_query(const setting_t *s, size_t b, size_t h, size_t t, double *out,
                            double *dqkv)
{
    const size_t D = s->t.head_dim;
    const size_t W = s->width;
    const size_t row = b * s->t.num_tokens + t;
    const float *dout = s->dout + row * W + h * D;
    double *p = hki_calloc(t + 1, sizeof(*p));
    double *dp = hki_calloc(t + 1, sizeof(*dp));
    double mean = 0.0;

    probabilities(s, b, h, t, p);
    for (size_t j = 0; j <= t; j++) {
        const size_t at = (b * s->t.num_tokens + j) * 3 * W + 2 * W + h * D; // value j

        for (size_t d = 0; d < D; d++) {
            out[row * W + h * D + d] += p[j] * (double)s->qkv[at + d];
            dp[j] += (double)dout[d] * (double)s->qkv[at + d];
            dqkv[at + d] += p[j] * (double)dout[d];
        }
        mean += p[j] * dp[j];
    }
    for (size_t j = 0; j <= t; j++) {
        const double ds = p[j] * (dp[j] - mean) / sqrt((double)D);
        const size_t q = row * 3 * W + h * D;
        const size_t k = (b * s->t.num_tokens + j) * 3 * W + W + h * D;

        for (size_t d = 0; d < D; d++) {
            dqkv[q + d] += ds * (double)s->qkv[k + d];
            dqkv[k + d] += ds * (double)s->qkv[q + d];
        }
    }
    hki_free(p);
    hki_free(dp);
}

static void assert_floats_close(const char *what, size_t tokens, const float *got,
                                const double *want, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!(fabs((double)got[i] - want[i]) <= 1e-5 * (1.0 + fabs(want[i])))) {
            fail_msg("%s, %zu tokens, element %zu: got %.9g, want %.9g", what, tokens, i,
                     (double)got[i], want[i]);
        }
    }
}

static void check_attention(size_t sequences, size_t tokens, size_t heads, size_t head_dim)
{
    setting_t s = setting_open(sequences, tokens, heads, head_dim);
    double *out = hki_calloc(s.rows * s.width, sizeof(*out));
    double *dqkv = hki_calloc(s.rows * 3 * s.width, sizeof(*dqkv));

    for (size_t i = 0; i < s.rows * heads; i++) {
        reference_query(&s, i / heads / tokens, i % heads, i / heads % tokens, out, dqkv);
    }
    hki_attention_forward(&s.t);
    assert_floats_close("out", tokens, s.t.out, out, s.rows * s.width);
    hki_attention_backward(&s.t);
    assert_floats_close("dqkv", tokens, s.t.dqkv, dqkv, s.rows * 3 * s.width);
    hki_free(out);
    hki_free(dqkv);
    setting_close(&s);
}

static void forward_and_backward_are_right_for_all_lengths(void **state)
{
    static const size_t lengths[] = {1, 2, 3, 17, 63, 64, 65, 128, 150};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        check_attention(2, lengths[i], 3, 5);
    }
    check_attention(1, 20, 1, 64);
    check_attention(3, 9, 4, 1);
}

static void later_tokens_and_other_sequences_change_no_bit(void **state)
{
    enum { T = 100, CHANGED = 70 };
    setting_t s = setting_open(2, T, 2, 8);
    float *before = hki_calloc(s.rows * s.width, sizeof(*before));

    (void)state;
    hki_attention_forward(&s.t);
    memcpy(before, s.t.out, s.rows * s.width * sizeof(*before));
    for (size_t i = CHANGED * 3 * s.width; i < T * 3 * s.width; i++) {
        s.qkv[i] += 1.0F; // the end of the first sequence
    }
    hki_attention_forward(&s.t);
    assert_memory_equal(s.t.out, before, CHANGED * s.width * sizeof(*before));
    assert_memory_not_equal(s.t.out + CHANGED * s.width, before + CHANGED * s.width,
                            s.width * sizeof(*before));
    assert_memory_equal(s.t.out + T * s.width, before + T * s.width, T * s.width * sizeof(*before));
    hki_free(before);
    setting_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_and_backward_are_right_for_all_lengths),
        cmocka_unit_test(later_tokens_and_other_sequences_change_no_bit),
    };
    return cmocka_run_group_tests_name("tensor/attention", tests, NULL, NULL);
}
