/**
 * @file gradient_test.c
 * @brief Gradients of each block, and of whole models, against finite differences in f64.
 *
 * Method: reference.h computes the same functions in f64. Each parameter and each input is moved by
 * +-1e-5 there; the difference quotient, exact to about 1e-9, must equal what backward computed in
 * f32 to 2e-5 of the largest gradient in the same tensor. For a block other than the head the
 * function is the sum of its outputs times random weights, which are then its dout.
 */
#include "support/hk_test.h"

#include <math.h>

#include "unit/model/reference.h"
#include "unit/model/run.h"

#define STEP      1e-5
#define TOLERANCE 2e-5

static const hki_model_config_t gpt_config = {
    .kind = HKI_MODEL_GPT,
    .num_layers = 2,
    .num_dim = 8,
    .num_heads = 2,
    .num_hidden = 20,
    .num_vocab = 11,
    .num_context = 70,
};

static const hki_model_config_t mlp_config = {
    .kind = HKI_MODEL_MLP,
    .num_layers = 3,
    .num_dim = 10,
};

typedef struct data {
    int32_t ids[140];
    int32_t targets[140];
    float features[140];
    hki_unit_t unit;
} data_t;

static void data_make(data_t *data, const hki_model_config_t *config, int sequences, int tokens)
{
    run_ids("ids", config->kind == HKI_MODEL_GPT ? config->num_vocab : 2, 140, data->ids);
    run_ids("targets", config->kind == HKI_MODEL_GPT ? config->num_vocab : 2, 140, data->targets);
    run_normal("features", 1.0, 140, data->features);
    data->unit = (hki_unit_t){
        .num_sequences = sequences,
        .num_tokens = tokens,
        .ids = data->ids,
        .targets = data->targets,
        .features = data->features,
    };
}

static double *to_doubles(const float *x, size_t count)
{
    double *y = ref_doubles(count);

    for (size_t i = 0; i < count; i++) {
        y[i] = (double)x[i];
    }
    return y;
}

/** The function whose gradient is wanted, of a block or (block == -1) of the whole model. */
typedef struct function {
    const run_t *run;
    int block;
    double *params;
    double *in;
    double *out;
    const float *dout;
    size_t out_count;
} function_t;

static double function_value(const function_t *f)
{
    double value = 0.0;

    if (f->block < 0) {
        return ref_model(f->run->model, &f->run->unit, f->params);
    }
    value = ref_block(f->run->model, f->block, &f->run->unit, f->params, f->in, f->out);
    for (size_t i = 0; i < f->out_count; i++) {
        value += f->out[i] * (double)f->dout[i];
    }
    return value;
}

static double difference_quotient(const function_t *f, double *x)
{
    const double kept = *x;

    *x = kept + STEP;
    const double above = function_value(f);
    *x = kept - STEP;
    const double below = function_value(f);
    *x = kept;
    return (above - below) / (2.0 * STEP);
}

/** Every `every`-th of the (count,) gradients against the quotients at x. */
static void check_gradient(const function_t *f, const char *name, double *x, const float *grad,
                           size_t count, size_t every)
{
    double largest = 1e-3;

    for (size_t i = 0; i < count; i++) {
        largest = fabs((double)grad[i]) > largest ? fabs((double)grad[i]) : largest;
    }
    for (size_t i = 0; i < count; i += every) {
        const double want = difference_quotient(f, x + i);

        if (!(fabs((double)grad[i] - want) <= TOLERANCE * largest)) {
            fail_msg("block %d, %s, element %zu: gradient %.9g, finite difference %.9g", f->block,
                     name, i, (double)grad[i], want);
        }
    }
}

static void check_params(const function_t *f, int first, int count, const float *grads,
                         size_t grads_offset, size_t every)
{
    for (int i = first; i < first + count; i++) {
        const hki_param_info_t *p = hki_model_param(f->run->model, i);
        const size_t at = p->offset - grads_offset;

        check_gradient(f, p->name, f->params + at, grads + at, p->count, every);
    }
}

/** Run one block alone on random input and compare its output and gradients. */
static void check_block(const hki_model_config_t *config, int block, int sequences, int tokens,
                        size_t every)
{
    data_t data;
    run_t run;

    data_make(&data, config, sequences, tokens);
    assert_ok(run_open(&run, config, 0, 1, &data.unit));
    run_disturb(&run);
    const hki_block_info_t *info = hki_model_block(run.model, block);
    const size_t act = hki_model_activation_count(run.model, sequences, tokens);
    const bool is_first = block == 0;
    const bool is_head = block == hki_model_num_blocks(run.model) - 1;
    float *in = run_floats(act);
    float *dout = run_floats(act);
    hki_block_io_t io = run_io(&run, block);

    run_normal("in", 1.0, act, in);
    run_normal("dout", 1.0, act, dout);
    io.in = in;
    io.out = is_head ? NULL : run.acts;
    io.dout = is_head ? NULL : dout;
    io.din = is_first ? NULL : run.dacts;
    assert_ok(hki_block_forward(run.model, block, &io));

    const bool is_mlp_first = is_first && config->kind == HKI_MODEL_MLP;
    const function_t f = {
        .run = &run,
        .block = block,
        .params = to_doubles(run.params + info->param_offset, info->param_count),
        .in = to_doubles(is_mlp_first ? data.features : in, act),
        .out = ref_doubles(act),
        .dout = dout,
        .out_count = is_head ? 0 : act,
    };
    const double value = function_value(&f);
    for (size_t i = 0; i < f.out_count; i++) {
        assert_true(fabs((double)run.acts[i] - f.out[i]) < 2e-5 * (1.0 + fabs(f.out[i])));
    }
    if (is_head) {
        assert_true(fabs(run.loss - value) < 1e-5 * (1.0 + fabs(value)));
    }
    assert_ok(hki_block_backward(run.model, block, &io));
    check_params(&f, info->first_param, info->num_params, io.dparams, info->param_offset, every);
    if (!is_first) {
        check_gradient(&f, "input", f.in, io.din, act, every);
    }
    hki_free(f.params);
    hki_free(f.in);
    hki_free(f.out);
    hki_free(in);
    hki_free(dout);
    run_close(&run);
}

/** Run the whole model and compare its loss and the gradient of every parameter. */
static void check_model(const hki_model_config_t *config, int sequences, int tokens, size_t every)
{
    data_t data;
    run_t run;

    data_make(&data, config, sequences, tokens);
    assert_ok(run_open(&run, config, 0, 1, &data.unit));
    run_disturb(&run);
    assert_ok(run_forward(&run));
    assert_ok(run_backward(&run));
    const function_t f = {
        .run = &run,
        .block = -1,
        .params = to_doubles(run.params, hki_model_count(run.model)),
    };
    const double want = function_value(&f);

    assert_true(fabs(run.loss - want) < 1e-5 * (1.0 + fabs(want)));
    check_params(&f, 0, hki_model_num_params(run.model), run.grads, 0, every);
    hki_free(f.params);
    run_close(&run);
}

static void embedding_has_the_gradient_of_its_output(void **state)
{
    (void)state;
    check_block(&gpt_config, 0, 2, 5, 1);
    check_block(&gpt_config, 0, 3, 1, 1);
}

static void transformer_block_has_the_gradient_of_its_output(void **state)
{
    (void)state;
    check_block(&gpt_config, 1, 2, 5, 1);
    check_block(&gpt_config, 2, 1, 1, 1);
}

static void transformer_block_is_right_beyond_one_block_of_queries(void **state)
{
    (void)state;
    check_block(&gpt_config, 1, 1, 70, 13);
}

static void head_has_the_gradient_of_its_loss(void **state)
{
    (void)state;
    check_block(&gpt_config, 3, 2, 5, 1);
    check_block(&gpt_config, 3, 1, 1, 1);
}

static void mlp_blocks_have_the_gradients_of_their_outputs(void **state)
{
    (void)state;
    check_block(&mlp_config, 0, 7, 1, 1);
    check_block(&mlp_config, 1, 7, 1, 1);
    check_block(&mlp_config, 3, 7, 1, 1);
}

static void every_parameter_of_a_gpt_has_the_gradient_of_the_loss(void **state)
{
    (void)state;
    check_model(&gpt_config, 2, 5, 1);
}

static void every_parameter_of_an_mlp_has_the_gradient_of_the_loss(void **state)
{
    (void)state;
    check_model(&mlp_config, 7, 1, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(embedding_has_the_gradient_of_its_output),
        cmocka_unit_test(transformer_block_has_the_gradient_of_its_output),
        cmocka_unit_test(transformer_block_is_right_beyond_one_block_of_queries),
        cmocka_unit_test(head_has_the_gradient_of_its_loss),
        cmocka_unit_test(mlp_blocks_have_the_gradients_of_their_outputs),
        cmocka_unit_test(every_parameter_of_a_gpt_has_the_gradient_of_the_loss),
        cmocka_unit_test(every_parameter_of_an_mlp_has_the_gradient_of_the_loss),
    };
    return cmocka_run_group_tests_name("model/gradient", tests, NULL, NULL);
}
