/*
 * The options of `hocket train`.
 */
#include "train_options.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "launch.h"

static const hki_option_t train_options[] = {
    {.name = "model",
     .kind = HKI_OPTION_CHOICE,
     .arg = "NAME",
     .preset = "gpt",
     .choices = "gpt|mlp",
     .offset = offsetof(hki_train_values_t, model),
     .help = "what to train: a GPT on text, or a deep MLP on random features",
     .hint = "choose gpt or mlp"},
    {.name = "data",
     .kind = HKI_OPTION_STRINGS,
     .arg = "FILE",
     .offset = offsetof(hki_train_values_t, data),
     .help = "text files, or files of 16-bit GPT-2 tokens (.bin); the last tenth is held out",
     .hint = "name readable files, e.g. --data book.txt"},
    {.name = "vocab",
     .kind = HKI_OPTION_CHOICE,
     .arg = "NAME",
     .preset = "auto",
     .choices = "auto|bytes|gpt2",
     .offset = offsetof(hki_train_values_t, vocab),
     .help = "what the files hold; auto: gpt2 if all names end in .bin, else bytes",
     .hint = "choose bytes for text, gpt2 for token files"},
    {.name = "mesh",
     .kind = HKI_OPTION_STRING,
     .arg = "AXES",
     .offset = offsetof(hki_train_values_t, mesh),
     .help = "the grid of ranks, e.g. data=2,pipe=2,model=1; without it all ranks along data",
     .hint = "write it like data=2,pipe=2"},
    {.name = "ranks",
     .letter = 'n',
     .kind = HKI_OPTION_INT,
     .arg = "N",
     .min = 1,
     .max = 1024,
     .offset = offsetof(hki_train_values_t, nranks),
     .help = "start this many ranks here; without it as many as the mesh has",
     .hint = "say how many, e.g. -n 4"},
    {.name = "bind",
     .kind = HKI_OPTION_CHOICE,
     .arg = "WHERE",
     .preset = "none",
     .choices = HKI_BIND_CHOICES,
     .offset = offsetof(hki_train_values_t, bind),
     .help = "core: pin each rank to a core",
     .hint = "write --bind core to pin each rank"},
    {.name = "timeout",
     .kind = HKI_OPTION_DOUBLE,
     .arg = "SECONDS",
     .min = 0.001,
     .max = 1000000.0,
     .offset = offsetof(hki_train_values_t, timeout_s),
     .help = "deadline of every wait for another rank; without it half an hour",
     .hint = "give seconds, e.g. --timeout 30"},
    {.name = "batch",
     .letter = 'b',
     .kind = HKI_OPTION_INT,
     .arg = "N",
     .preset = "32",
     .min = 1,
     .max = 1048576,
     .offset = offsetof(hki_train_values_t, batch),
     .help = "sequences of a step, over all ranks",
     .hint = "give how many, e.g. --batch 32"},
    {.name = "unit",
     .letter = 'u',
     .kind = HKI_OPTION_INT,
     .arg = "N",
     .preset = "1",
     .min = 1,
     .max = 1048576,
     .offset = offsetof(hki_train_values_t, unit),
     .help = "sequences of a unit, which is computed whole by one rank",
     .hint = "give a divisor of --batch, e.g. --unit 1"},
    {.name = "steps",
     .letter = 's',
     .kind = HKI_OPTION_INT,
     .arg = "N",
     .preset = "200",
     .min = 1,
     .max = 10000000,
     .offset = offsetof(hki_train_values_t, steps),
     .help = "training steps",
     .hint = "give at least 1, e.g. --steps 200"},
    {.name = "layers",
     .kind = HKI_OPTION_INT,
     .arg = "N",
     .preset = "4",
     .min = 1,
     .max = 4096,
     .offset = offsetof(hki_train_values_t, layers),
     .help = "layers of the model",
     .hint = "give at least 1, e.g. --layers 4"},
    {.name = "dim",
     .kind = HKI_OPTION_INT,
     .arg = "N",
     .preset = "128",
     .min = 1,
     .max = 65536,
     .offset = offsetof(hki_train_values_t, dim),
     .help = "width of the activations",
     .hint = "give a multiple of --heads, e.g. --dim 128"},
    {.name = "heads",
     .kind = HKI_OPTION_INT,
     .arg = "N",
     .preset = "4",
     .min = 1,
     .max = 1024,
     .offset = offsetof(hki_train_values_t, heads),
     .help = "attention heads of a GPT",
     .hint = "give a divisor of --dim, e.g. --heads 4"},
    {.name = "hidden",
     .kind = HKI_OPTION_INT,
     .arg = "N",
     .preset = "0",
     .min = 0,
     .max = 1048576,
     .offset = offsetof(hki_train_values_t, hidden),
     .help = "width inside the MLPs of a GPT; 0: four times --dim",
     .hint = "give a width, e.g. --hidden 512"},
    {.name = "context",
     .kind = HKI_OPTION_INT,
     .arg = "N",
     .preset = "128",
     .min = 1,
     .max = 65536,
     .offset = offsetof(hki_train_values_t, context),
     .help = "tokens of a sequence of a GPT",
     .hint = "give at least 1, e.g. --context 128"},
    {.name = "lr",
     .kind = HKI_OPTION_DOUBLE,
     .arg = "RATE",
     .preset = "0.003",
     .min = 0,
     .max = 100,
     .offset = offsetof(hki_train_values_t, lr),
     .help = "learning rate after the warm-up",
     .hint = "give a number, e.g. --lr 0.003"},
    {.name = "lr-final",
     .kind = HKI_OPTION_DOUBLE,
     .arg = "SHARE",
     .preset = "0.1",
     .min = 0,
     .max = 1,
     .offset = offsetof(hki_train_values_t, lr_final),
     .help = "cosine: share of --lr at the last step",
     .hint = "give a number from 0 to 1"},
    {.name = "warmup",
     .kind = HKI_OPTION_INT,
     .arg = "STEPS",
     .preset = "20",
     .min = 0,
     .max = 10000000,
     .offset = offsetof(hki_train_values_t, warmup),
     .help = "steps in which the rate rises from 0",
     .hint = "give steps, e.g. --warmup 20"},
    {.name = "schedule",
     .kind = HKI_OPTION_CHOICE,
     .arg = "NAME",
     .preset = "cosine",
     .choices = "cosine|constant",
     .offset = offsetof(hki_train_values_t, schedule),
     .help = "the rate after the warm-up",
     .hint = "choose cosine or constant"},
    {.name = "clip",
     .kind = HKI_OPTION_DOUBLE,
     .arg = "NORM",
     .preset = "1",
     .min = 0,
     .max = 1000000000.0,
     .offset = offsetof(hki_train_values_t, clip),
     .help = "most norm of the gradient; 0: any",
     .hint = "give a norm, e.g. --clip 1"},
    {.name = "optimizer",
     .kind = HKI_OPTION_CHOICE,
     .arg = "NAME",
     .preset = "adamw",
     .choices = "adamw|sgd",
     .offset = offsetof(hki_train_values_t, optimizer),
     .help = "what steps the weights",
     .hint = "choose adamw or sgd"},
    {.name = "weight-decay",
     .kind = HKI_OPTION_DOUBLE,
     .arg = "SHARE",
     .preset = "0.1",
     .min = 0,
     .max = 1000000.0,
     .offset = offsetof(hki_train_values_t, weight_decay),
     .help = "decoupled weight decay of matrices",
     .hint = "give a number, e.g. --weight-decay 0.1"},
    {.name = "beta1",
     .kind = HKI_OPTION_DOUBLE,
     .arg = "BETA",
     .preset = "0.9",
     .min = 0,
     .max = 0.999999,
     .offset = offsetof(hki_train_values_t, beta1),
     .help = "adamw: decay of the first moment",
     .hint = "give a number from 0 to below 1"},
    {.name = "beta2",
     .kind = HKI_OPTION_DOUBLE,
     .arg = "BETA",
     .preset = "0.95",
     .min = 0,
     .max = 0.999999999,
     .offset = offsetof(hki_train_values_t, beta2),
     .help = "adamw: decay of the second moment",
     .hint = "give a number from 0 to below 1"},
    {.name = "pipeline",
     .kind = HKI_OPTION_CHOICE,
     .arg = "NAME",
     .preset = "1f1b",
     .choices = "1f1b|gpipe",
     .offset = offsetof(hki_train_values_t, pipeline),
     .help = "schedule of the pipeline",
     .hint = "choose 1f1b or gpipe"},
    {.name = "seed",
     .kind = HKI_OPTION_INT,
     .arg = "N",
     .preset = "1",
     .min = 0,
     .max = 2147483647,
     .offset = offsetof(hki_train_values_t, seed),
     .help = "initial weights, order of data and samples are functions of it",
     .hint = "give a number, e.g. --seed 1"},
    {.name = "eval-every",
     .kind = HKI_OPTION_INT,
     .arg = "STEPS",
     .preset = "0",
     .min = 0,
     .max = 10000000,
     .offset = offsetof(hki_train_values_t, eval_every),
     .help = "measure the held-out loss every so many steps; 0: at the end only",
     .hint = "give steps, e.g. --eval-every 100"},
    {.name = "eval-units",
     .kind = HKI_OPTION_INT,
     .arg = "N",
     .preset = "0",
     .min = 0,
     .max = 1048576,
     .offset = offsetof(hki_train_values_t, eval_units),
     .help = "units of a held-out measurement; 0: four times those of a step",
     .hint = "give units, e.g. --eval-units 64"},
    {.name = "sample",
     .kind = HKI_OPTION_INT,
     .arg = "N",
     .preset = "0",
     .min = 0,
     .max = 1048576,
     .offset = offsetof(hki_train_values_t, sample),
     .help = "write so many tokens with the trained GPT",
     .hint = "give tokens, e.g. --sample 300"},
    {.name = "prompt",
     .kind = HKI_OPTION_STRING,
     .arg = "TEXT",
     .offset = offsetof(hki_train_values_t, prompt),
     .help = "how the sample begins; without it a line end",
     .hint = "give a text"},
    {.name = "temperature",
     .kind = HKI_OPTION_DOUBLE,
     .arg = "T",
     .preset = "0.8",
     .min = 0,
     .max = 100,
     .offset = offsetof(hki_train_values_t, temperature),
     .help = "of the sample; 0: always the likeliest token",
     .hint = "give a number, e.g. --temperature 0.8"},
    {.name = "log",
     .letter = 'l',
     .kind = HKI_OPTION_STRING,
     .arg = "FILE",
     .offset = offsetof(hki_train_values_t, log),
     .help = "write a JSON record a step and one at the end",
     .hint = "give a writable path"},
    {.name = "explain",
     .kind = HKI_OPTION_FLAG,
     .offset = offsetof(hki_train_values_t, is_explaining),
     .help = "print where every parameter and activation lives, what moves when, and how many "
             "bytes; train nothing"},
    {.name = "exact",
     .kind = HKI_OPTION_CHOICE,
     .arg = "WHETHER",
     .preset = "on",
     .choices = "on|off",
     .offset = offsetof(hki_train_values_t, exact),
     .help = "on: refuse a mesh whose sums would differ in the last bits",
     .hint = "choose on or off"},
    {.name = "threads",
     .kind = HKI_OPTION_INT,
     .arg = "N",
     .preset = "0",
     .min = 0,
     .max = 1024,
     .offset = offsetof(hki_train_values_t, threads),
     .help = "threads of a rank; 0: the cores here divided by the ranks; changes no bit",
     .hint = "give threads, e.g. --threads 1"},
    {.name = NULL},
};

const hki_command_t hki_train_command = {
    .name = "train",
    .summary = "train a GPT or an MLP on any number of ranks",
    .description =
        "A step's batch is cut into units; each is computed whole by one rank, and gradients are "
        "summed in one fixed tree over the units. So the losses and the weights are the same to "
        "the "
        "bit for every way of dividing the batch along the mesh axes data and pipe. With model "
        "above 1, matrices are divided and results agree within rounding.\n\n"
        "Under hocket run the ranks join its job; otherwise the command starts them itself.",
    .options = train_options,
    .values_bytes = sizeof(hki_train_values_t),
};

static bool ends_in(const char *text, const char *end)
{
    const size_t length = strlen(text);

    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

hki_vocab_t hki_train_vocab(const hki_train_values_t *values)
{
    bool are_tokens = values->data.count > 0;

    if (values->vocab != 0) {
        return values->vocab == 2 ? HKI_VOCAB_GPT2 : HKI_VOCAB_BYTES;
    }
    for (size_t i = 0; i < values->data.count; i++) {
        are_tokens = are_tokens && ends_in(values->data.value[i], ".bin");
    }
    return are_tokens ? HKI_VOCAB_GPT2 : HKI_VOCAB_BYTES;
}

/** What only makes sense together. */
static hk_status_t combination_check(const hki_train_values_t *values)
{
    const bool is_gpt = values->model == 0;

    if (is_gpt && values->data.count == 0 && !values->is_explaining) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "--data names no file; name at least one, e.g. --data "
                                            "book.txt");
    }
    if (!is_gpt && values->data.count > 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "--data %.160s: an mlp makes its own random features; leave --data out, or "
                        "use --model gpt",
                        values->data.value[0]);
    }
    if (!is_gpt && values->sample > 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "--sample %d: an mlp writes no text; leave it out, or use --model gpt",
                        values->sample);
    }
    return HK_OK;
}

static hki_model_config_t model_of(const hki_train_values_t *values)
{
    const bool is_gpt = values->model == 0;

    return (hki_model_config_t){
        .kind = is_gpt ? HKI_MODEL_GPT : HKI_MODEL_MLP,
        .num_layers = values->layers,
        .num_dim = values->dim,
        .num_heads = is_gpt ? values->heads : 0,
        .num_hidden = is_gpt ? values->hidden : 0,
        .num_vocab = is_gpt ? hki_vocab_count(hki_train_vocab(values)) : 0,
        .num_context = is_gpt ? values->context : 0,
    };
}

hk_status_t hki_train_configure(const hki_train_values_t *values, int nranks,
                                hki_train_config_t *config_out)
{
    const bool is_exact = values->exact == 0;
    hki_train_config_t config = {
        .model = model_of(values),
        .pipeline = values->pipeline == 0 ? "1f1b" : "gpipe",
        .batch = values->batch,
        .unit = values->unit,
        .seed = (uint64_t)values->seed,
        .rate = {.kind = values->schedule == 0 ? HKI_RATE_COSINE : HKI_RATE_CONSTANT,
                 .peak = values->lr,
                 .floor = values->lr * values->lr_final,
                 .warmup = values->warmup,
                 .steps = values->steps},
        .optimizer = {.kind = values->optimizer == 0 ? HKI_OPTIMIZER_ADAMW : HKI_OPTIMIZER_SGD,
                      .beta1 = values->beta1,
                      .beta2 = values->beta2,
                      .epsilon = 1e-8,
                      .weight_decay = values->weight_decay},
        .clip = values->clip,
        .eval_units =
            values->eval_units > 0 ? values->eval_units : 4 * (values->batch / values->unit),
        .is_exact = is_exact,
    };
    hk_status_t status;

    HKI_TRY(status = combination_check(values), fail);
    HKI_TRY(status = hki_mesh_shape_parse(values->mesh, &config.shape), fail);
    if (values->mesh == NULL && nranks > 0) {
        config.shape.sizes[HKI_AXIS_DATA] = nranks;
    }
    if (nranks > 0) {
        HKI_TRY(status = hki_mesh_shape_check(&config.shape, nranks), fail);
    }
    HKI_TRY(status = hki_train_config_check(&config), fail);
    *config_out = config;
    return HK_OK;
fail:
    return status;
}
