/*
 * The file of measured costs. Method: read whole, line by line; nothing of it counts unless all of
 * it is right, so that a torn or foreign file cannot make ranks choose oddly.
 */
#include "comm/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "comm/env.h"
#include "topo/cpus.h"
#include "topo/file.h"
#include "topo/machine.h"

#define FIRST_LINE "hocket fit 1"
#define TURN_NS    2000.0 /* of one other rank on the same core, with the switch to it */
#define COST_MAX   1e9    /* ns; more is no measurement */

enum { LINE_BYTES = 128, WORD_BYTES = 32, PATH_BYTES = 4096 };

/*
 * What crossing costs, where it was not measured. Latencies from core to core of an AMD EPYC 7R13
 * (Milan): 23 ns behind one cache, 107 between caches, 197 between sockets, as published with the
 * program core-to-core-latency by N. Viennot; a message is one hand-over of a line. Bytes: 42.6
 * GB/s between the dies of an EPYC 7000, by AnandTech's review of 2017; 34 GB/s of reads in one
 * direction between the sockets of Xeon Platinum 8160, by J. McCalpin (local memory gives 112).
 */
static const hki_cross_params_t cross_preset[HKI_CROSS_LEVELS] = {
    [HKI_CROSS_CACHE] = {.alpha_ns = 84.0, .beta_ns = 0.0235},
    [HKI_CROSS_MEMORY] = {.alpha_ns = 90.0, .beta_ns = 0.029},
};

const char *hki_fit_level_name(int level)
{
    return level == HKI_CROSS_CACHE ? "cache" : "memory";
}

/** Costs of which only the common ones are known. */
static void begin(hki_costs_t *costs, const hki_cost_params_t *common)
{
    hki_costs_init(costs, common);
    memcpy(costs->cross, cross_preset, sizeof(costs->cross));
}

void hki_fit_preset(const char *transport, int nranks, hki_costs_t *costs)
{
    // One cache line from core to core; a staged byte is copied twice, at memory speed.
    static const hki_cost_params_t shm = {.alpha_ns = 350.0, .beta_ns = 0.12, .gamma_ns = 0.05};
    // Threads read payloads where they lie: one copy.
    static const hki_cost_params_t local = {.alpha_ns = 350.0, .beta_ns = 0.06, .gamma_ns = 0.05};
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const int cores = hki_cpus_usable_at("", online < 1 ? 1 : (int)online);
    hki_cost_params_t common = strcmp(transport, "local") == 0 ? local : shm;

    common.turn_ns = TURN_NS * ((nranks - 1) / cores);
    begin(costs, &common);
}

static bool is_cost(double value)
{
    return value >= 0.0 && value <= COST_MAX; // false for NaN
}

/** Three numbers and nothing more. */
static bool read_params(const char *text, hki_cost_params_t *params)
{
    double *const values[] = {&params->alpha_ns, &params->beta_ns, &params->gamma_ns};

    params->turn_ns = 0.0; // it was measured with alpha
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        char *end = NULL;
        *values[i] = strtod(text, &end);
        if (end == text || !is_cost(*values[i])) {
            return false;
        }
        text = end;
    }
    return text[strspn(text, " \t\r")] == '\0';
}

/** The word at *text, which moves behind it and the blanks that follow. */
static bool read_word(const char **text, char word[WORD_BYTES])
{
    const size_t length = strcspn(*text, " \t\r");

    if (length == 0 || length >= WORD_BYTES) {
        return false;
    }
    memcpy(word, *text, length);
    word[length] = '\0';
    *text += length;
    *text += strspn(*text, " \t\r");
    return true;
}

/** One line after the first. */
static bool read_line(const char *line, hki_costs_t *costs, bool *has_common)
{
    char first[WORD_BYTES];
    char second[WORD_BYTES];
    hki_cost_params_t params;
    int count = 0;
    const hki_algo_t *algos = hki_algo_all(&count);

    if (!read_word(&line, first)) {
        return line[0] == '\0'; // an empty line
    }
    if (strcmp(first, "common") == 0) {
        if (*has_common || !read_params(line, &params)) {
            return false;
        }
        begin(costs, &params);
        *has_common = true;
        return true;
    }
    if (!*has_common || !read_word(&line, second) || !read_params(line, &params)) {
        return false;
    }
    for (int level = 0; level < HKI_CROSS_LEVELS; level++) {
        if (strcmp(first, "cross") == 0 && strcmp(hki_fit_level_name(level), second) == 0) {
            costs->cross[level] = (hki_cross_params_t){params.alpha_ns, params.beta_ns};
        }
    }
    for (int i = 0; i < count; i++) {
        if (strcmp(hki_coll_name(algos[i].coll), first) == 0 &&
            strcmp(algos[i].name, second) == 0) {
            costs->of[i] = params;
        }
    }
    return true;
}

int hki_fit_parse(const char *text, hki_costs_t *costs_out)
{
    hki_costs_t costs;
    char line[LINE_BYTES];
    bool has_common = false;
    int number = 1;

    memset(&costs, 0, sizeof(costs));
    for (;; number++) {
        const size_t length = strcspn(text, "\n");
        if (length >= sizeof(line)) {
            return number;
        }
        memcpy(line, text, length);
        line[length] = '\0';
        const bool is_right =
            number == 1 ? strcmp(line, FIRST_LINE) == 0 : read_line(line, &costs, &has_common);
        if (!is_right) {
            return number;
        }
        if (text[length] == '\0') {
            break;
        }
        text += length + 1;
    }
    if (!has_common) {
        return number;
    }
    *costs_out = costs;
    return 0;
}

void hki_fit_format(const hki_costs_t *costs, const bool *is_measured, const bool *is_crossed,
                    hki_text_t *text)
{
    int count = 0;
    const hki_algo_t *algos = hki_algo_all(&count);

    hki_text_add(text, FIRST_LINE "\ncommon %.6g %.6g %.6g\n", costs->common.alpha_ns,
                 costs->common.beta_ns, costs->common.gamma_ns);
    for (int i = 0; i < count; i++) {
        if (is_measured[i]) {
            hki_text_add(text, "%s %s %.6g %.6g %.6g\n", hki_coll_name(algos[i].coll),
                         algos[i].name, costs->of[i].alpha_ns, costs->of[i].beta_ns,
                         costs->of[i].gamma_ns);
        }
    }
    for (int level = 0; level < HKI_CROSS_LEVELS; level++) {
        if (is_crossed[level]) {
            hki_text_add(text, "cross %s %.6g %.6g 0\n", hki_fit_level_name(level),
                         costs->cross[level].alpha_ns, costs->cross[level].beta_ns);
        }
    }
}

hk_status_t hki_fit_path(const char *transport, int nranks, char *path, size_t path_bytes)
{
    char folder[PATH_BYTES];
    char model[HKI_MACHINE_BYTES];
    char key[HKI_MACHINE_BYTES];

    if (hki_cache_folder(folder, sizeof(folder)) != HK_OK) {
        return HK_ERR_UNSUPPORTED;
    }
    hki_machine_cpu(model);
    hki_machine_key(model, sysconf(_SC_NPROCESSORS_ONLN), key); // not those of this rank
    const int length =
        snprintf(path, path_bytes, "%s/fit-%s-%s-%d", folder, key, transport, nranks);
    return length > 0 && (size_t)length < path_bytes ? HK_OK : HK_ERR_UNSUPPORTED;
}

void hki_fit_find(const char *transport, int nranks, hki_costs_t *costs_out, char *source,
                  size_t source_bytes)
{
    const char *named = hki_env_value(HKI_ENV_FIT);
    char path[PATH_BYTES];
    char text[HKI_FILE_TEXT_BYTES];
    int line = 0;

    source[0] = '\0';
    hki_fit_preset(transport, nranks, costs_out);
    if (named != NULL && strcmp(named, "off") == 0) {
        return;
    }
    if (named == NULL || strcmp(named, "auto") == 0) {
        named = NULL;
        if (hki_fit_path(transport, nranks, path, sizeof(path)) != HK_OK) {
            return;
        }
    }
    const char *file = named != NULL ? named : path;
    const bool is_there = hki_file_read(file, text, sizeof(text)) > 0;
    if (is_there) {
        line = hki_fit_parse(text, costs_out);
    } else if (named != NULL) {
        line = 1;
    }
    if (line != 0) {
        hki_log(HKI_LOG_WARN, "comm",
                "%s: line %d is not what hocket bench --fit writes; built-in costs are used: "
                "remove the file or measure again",
                file, line);
    } else if (is_there) {
        (void)snprintf(source, source_bytes, "%s", file);
    }
}

void hki_fit_load(const char *transport, int nranks, hki_costs_t *costs_out)
{
    char source[PATH_BYTES];

    hki_fit_find(transport, nranks, costs_out, source, sizeof(source));
}
