/**
 * @file gpt_golden_test.c
 * @brief Losses, gradients and three AdamW steps of a GPT as PyTorch computed them in f64.
 *
 * Method: gpt_tiny.golden (make_gpt.py) holds everything; the AdamW step is written out here, so
 * that the model alone is on trial.
 */
#include "support/hk_test.h"

#include <math.h>

#include "golden/golden_file.h"

#define ROWS_MAX 64

typedef struct setting {
    golden_file_t golden;
    run_t run;
    int32_t ids[ROWS_MAX];
    int32_t targets[ROWS_MAX];
} setting_t;

static void setting_open(setting_t *s)
{
    if (!golden_open(&s->golden, HK_GOLDEN_FILE)) {
        fail_msg("cannot read %s", HK_GOLDEN_FILE);
    }
    assert_true(golden_run_open(&s->golden, &s->run, s->ids, s->targets, ROWS_MAX));
}

static void setting_close(setting_t *s)
{
    golden_close(&s->golden);
    run_close(&s->run);
}

/** x (count,) of parameter p against "prefix" + name in the file, where `mask` is not near zero. */
static void check_param(const setting_t *s, const hki_param_info_t *p, const char *prefix,
                        const char *mask, const float *x, double tolerance)
{
    float *want = run_floats(p->count);
    float *weight = run_floats(p->count);
    double largest = 1e-6;
    double heaviest = 0.0;

    assert_true(golden_get(&s->golden, prefix, p->name, 4, p->count, want));
    assert_true(golden_get(&s->golden, mask, p->name, 4, p->count, weight));
    for (size_t j = 0; j < p->count; j++) {
        largest = fmax(largest, fabs((double)want[j]));
        heaviest = fmax(heaviest, fabs((double)weight[j]));
    }
    for (size_t j = 0; j < p->count; j++) {
        const bool is_checked = fabs((double)weight[j]) >= 1e-5 * heaviest;

        if (is_checked && !(fabs((double)x[j] - (double)want[j]) <= tolerance * largest)) {
            fail_msg("%s%s, element %zu: got %.9g, want %.9g", prefix, p->name, j, (double)x[j],
                     (double)want[j]);
        }
    }
    hki_free(want);
    hki_free(weight);
}

/** Every parameter's x, in the flat layout. */
static void check_all(const setting_t *s, const char *prefix, const char *mask, const float *x,
                      double tolerance)
{
    for (int i = 0; i < hki_model_num_params(s->run.model); i++) {
        const hki_param_info_t *p = hki_model_param(s->run.model, i);

        if (p->tie < 0) {
            check_param(s, p, prefix, mask, x + p->offset, tolerance);
        }
    }
}

static void gradients_are_those_of_pytorch(void **state)
{
    setting_t s;
    double losses[4];

    (void)state;
    setting_open(&s);
    assert_true(golden_get(&s.golden, "", "losses", 8, 4, losses));
    assert_ok(run_forward(&s.run));
    assert_true(fabs(s.run.loss - losses[0]) <= 1e-6 * losses[0]);
    assert_ok(run_backward(&s.run));
    golden_join_ties(&s.run);
    check_all(&s, "grad.", "", s.run.grads, 5e-6);
    setting_close(&s);
}

/** One AdamW step of one parameter; o: rate, beta 1, beta 2, epsilon, decay. */
static void adamw(const double o[5], int step, bool has_decay, double m_v_w[3], double grad)
{
    m_v_w[0] = o[1] * m_v_w[0] + (1.0 - o[1]) * grad;
    m_v_w[1] = o[2] * m_v_w[1] + (1.0 - o[2]) * grad * grad;
    const double m = m_v_w[0] / (1.0 - pow(o[1], step));
    const double v = m_v_w[1] / (1.0 - pow(o[2], step));
    m_v_w[2] -= o[0] * (has_decay ? o[4] * m_v_w[2] : 0.0);
    m_v_w[2] -= o[0] * m / (sqrt(v) + o[3]);
}

/** Step every parameter; tied copies follow their originals. `moments` (count, 2). */
static void step_all(setting_t *s, const double o[5], int step, double *moments)
{
    for (int i = 0; i < hki_model_num_params(s->run.model); i++) {
        const hki_param_info_t *p = hki_model_param(s->run.model, i);
        const size_t from = hki_model_param(s->run.model, p->tie < 0 ? i : p->tie)->offset;

        for (size_t j = 0; j < p->count; j++) {
            double *moment = moments + 2 * (p->offset + j);
            double m_v_w[3] = {moment[0], moment[1], (double)s->run.params[p->offset + j]};

            adamw(o, step, p->has_decay, m_v_w, (double)s->run.grads[from + j]);
            moment[0] = m_v_w[0];
            moment[1] = m_v_w[1];
            s->run.params[p->offset + j] = (float)m_v_w[2];
        }
    }
}

static void three_steps_end_where_pytorch_ends(void **state)
{
    setting_t s;
    double losses[4];
    double options[5];

    (void)state;
    setting_open(&s);
    assert_true(golden_get(&s.golden, "", "losses", 8, 4, losses));
    assert_true(golden_get(&s.golden, "", "adamw", 8, 5, options));
    double *moments = hki_calloc(2 * hki_model_count(s.run.model), sizeof(*moments));
    for (int step = 0; step < 4; step++) {
        assert_ok(run_forward(&s.run));
        if (!(fabs(s.run.loss - losses[step]) <= 1e-5 * losses[step])) {
            fail_msg("step %d: loss %.9g, want %.9g", step, s.run.loss, losses[step]);
        }
        if (step < 3) {
            assert_ok(run_backward(&s.run));
            golden_join_ties(&s.run);
            step_all(&s, options, step + 1, moments);
        }
    }
    // biases of keys have no gradient but for rounding, and AdamW makes whole steps of that
    check_all(&s, "end.", "grad.", s.run.params, 2e-5);
    hki_free(moments);
    setting_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_those_of_pytorch),
        cmocka_unit_test(three_steps_end_where_pytorch_ends),
    };
    return cmocka_run_group_tests_name("golden/gpt", tests, NULL, NULL);
}
