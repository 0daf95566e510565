/**
 * @file gpt_run.c
 * @brief For compare_torch.py: read a configuration, parameters and a unit from a file, write the
 *        loss and all gradients to another.
 */
#include "golden/golden_file.h"

#define ROWS_MAX 4096

static bool result_write(const run_t *run, const char *path)
{
    FILE *file = fopen(path, "wb");

    if (file == NULL) {
        return false;
    }
    (void)fprintf(file, "loss f64 1\n");
    (void)fwrite(&run->loss, sizeof(run->loss), 1, file);
    for (int i = 0; i < hki_model_num_params(run->model); i++) {
        const hki_param_info_t *p = hki_model_param(run->model, i);

        if (p->tie < 0) {
            (void)fprintf(file, "%s f32 %zu\n", p->name, p->count);
            (void)fwrite(run->grads + p->offset, sizeof(float), p->count, file);
        }
    }
    return fclose(file) == 0;
}

int main(int argc, char **argv)
{
    static int32_t ids[ROWS_MAX];
    static int32_t targets[ROWS_MAX];
    golden_file_t golden = {0};
    run_t run = {0};
    bool is_ok = argc == 3 && golden_open(&golden, argv[1]) &&
                 golden_run_open(&golden, &run, ids, targets, ROWS_MAX) &&
                 run_forward(&run) == HK_OK && run_backward(&run) == HK_OK;

    if (is_ok) {
        golden_join_ties(&run);
        is_ok = result_write(&run, argv[2]);
    }
    if (!is_ok) {
        (void)fprintf(stderr, "usage: gpt_run CASE RESULT (or a bad case: %s)\n", hk_last_error());
    }
    golden_close(&golden);
    run_close(&run);
    return is_ok ? 0 : 1;
}
