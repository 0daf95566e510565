/*
 * The environment. Method: launchers are a table of variable names; the first whose rank is set
 * decides, and then all it needs must be there and make sense. A value that is malformed is an
 * error that names variable and value; nothing is guessed.
 */
#include "comm/env.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "transport/transport.h"

/** What one launcher sets. */
typedef struct launcher {
    const char *name;
    const char *rank;
    const char *nranks;
    const char *here;       /**< ranks on this host, or NULL */
    const char *hosts;      /**< number of hosts, or NULL */
    const char *job[3];     /**< what together names the job; NULL: no more */
    const char *job_backup; /**< prefix; with the parent's number, where no job variable is set */
} launcher_t;

static const launcher_t g_launchers[] = {
    {"hocket run", "HOCKET_RANK", "HOCKET_NRANKS", NULL, NULL, {"HOCKET_JOB", NULL, NULL}, NULL},
    {"torchrun",
     "RANK",
     "WORLD_SIZE",
     "LOCAL_WORLD_SIZE",
     NULL,
     {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID"},
     "torchrun"},
    {"Slurm",
     "SLURM_PROCID",
     "SLURM_NTASKS",
     NULL,
     "SLURM_NNODES",
     {"SLURM_JOB_ID", "SLURM_STEP_ID", NULL},
     "slurm"},
    {"Open MPI",
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     NULL,
     {"PMIX_NAMESPACE", NULL, NULL},
     "ompi"},
    {"MPICH", "PMI_RANK", "PMI_SIZE", NULL, NULL, {"PMI_JOBID", NULL, NULL}, "pmi"},
};

static const hki_env_row_t g_table[HKI_ENV_COUNT] = {
#define ENV_ROW(id, name, preset, help) [HKI_ENV_##id] = {name, preset, help},
    HKI_ENV_MAP(ENV_ROW)
#undef ENV_ROW
};

const hki_env_row_t *hki_env_table(void)
{
    return g_table;
}

/** The variable's value, NULL if it is not set or empty. */
static const char *value_of(const char *name)
{
    const char *text = name == NULL ? NULL : getenv(name);

    return text == NULL || *text == '\0' ? NULL : text;
}

const char *hki_env_value(hki_env_t variable)
{
    return value_of(g_table[variable].name);
}

/** A whole number between min and max. */
static hk_status_t parse_int(const char *name, const char *text, int min, int max, int *value_out)
{
    char *end = NULL;

    errno = 0;
    const long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < min || value > max) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%s=\"%s\" must be a whole number from %d to %d", name,
                        text, min, max);
    }
    *value_out = (int)value;
    return HK_OK;
}

static hk_status_t parse_bytes(const char *name, const char *text, size_t *value_out)
{
    static const char units[] = "KMG";
    char *end = NULL;
    unsigned shift = 0;

    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    const char *unit = *end == '\0' ? NULL : strchr(units, *end);
    if (unit != NULL) {
        shift = 10 * ((unsigned)(unit - units) + 1);
        end++;
    }
    if (errno != 0 || *text < '0' || *text > '9' || *end != '\0' || value == 0 ||
        value > (SIZE_MAX >> 1 >> shift)) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "%s=\"%s\" must be a number of bytes like 4194304 or 4M", name, text);
    }
    *value_out = (size_t)value << shift;
    return HK_OK;
}

/** Seconds, with up to three decimals, as milliseconds; -1 stays -1. By hand: the decimal point of
 *  strtod() is that of the program's locale. */
static hk_status_t parse_seconds(const char *name, const char *text, int *ms_out)
{
    const char *at = text;
    int64_t ms = 0;

    for (; *at >= '0' && *at <= '9' && ms <= INT_MAX; at++) {
        ms = 10 * ms + 1000 * (int64_t)(*at - '0');
    }
    bool is_number = at != text;
    if (*at == '.') {
        int unit = 100;
        for (at++; *at >= '0' && *at <= '9'; at++) {
            ms += (int64_t)(*at - '0') * unit;
            unit /= 10;
            is_number = true;
        }
    }
    if (strcmp(text, "-1") == 0) {
        ms = -1;
    } else if (!is_number || *at != '\0' || ms > INT_MAX) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "%s=\"%s\" must be a number of seconds like 30 or 0.5, at most %d, or -1 "
                        "for none",
                        name, text, INT_MAX / 1000);
    }
    *ms_out = (int)ms;
    return HK_OK;
}

/** Seconds into milliseconds, if the option still has its default. */
static hk_status_t seconds_option(hki_env_t variable, int preset, int *option)
{
    const char *name = g_table[variable].name;
    const char *text = value_of(name);

    return text == NULL || *option != preset ? HK_OK : parse_seconds(name, text, option);
}

static hk_status_t order_option(hk_comm_opts_t *opts)
{
    const char *name = g_table[HKI_ENV_ORDER].name;
    const char *text = value_of(name);

    if (text == NULL || opts->order != HK_ORDER_TREE || strcmp(text, "tree") == 0) {
        return HK_OK;
    }
    if (strcmp(text, "any") != 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%s=\"%s\" must be tree or any", name, text);
    }
    opts->order = HK_ORDER_ANY;
    return HK_OK;
}

static hk_status_t progress_option(hk_comm_opts_t *opts)
{
    static const char *const names[] = {"none", "thread", "auto"}; // in the order of hk_progress_t
    const char *name = g_table[HKI_ENV_PROGRESS].name;
    const char *text = value_of(name);

    if (text == NULL || opts->progress != HK_PROGRESS_NONE) {
        return HK_OK;
    }
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) == 0) {
            opts->progress = (hk_progress_t)i;
            return HK_OK;
        }
    }
    return HKI_FAIL(HK_ERR_INVALID_ARG, "%s=\"%s\" must be none, thread or auto", name, text);
}

hk_status_t hki_env_single_copy(int *single_copy_out)
{
    const char *name = g_table[HKI_ENV_SINGLE_COPY].name;
    const char *text = value_of(name);

    if (text == NULL || strcmp(text, "auto") == 0) {
        *single_copy_out = -1;
    } else if (strcmp(text, "on") == 0 || strcmp(text, "off") == 0) {
        *single_copy_out = text[1] == 'n';
    } else {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%s=\"%s\" must be auto, on or off", name, text);
    }
    return HK_OK;
}

hk_status_t hki_env_options(hk_comm_opts_t *opts)
{
    const hk_comm_opts_t preset = hk_comm_opts_default();
    const char *segment = value_of(g_table[HKI_ENV_SEGMENT].name);
    const char *spin = value_of(g_table[HKI_ENV_SPIN].name);
    hk_status_t status;

    HKI_TRY(status = seconds_option(HKI_ENV_TIMEOUT, preset.timeout_ms, &opts->timeout_ms), fail);
    HKI_TRY(status = seconds_option(HKI_ENV_OPEN_TIMEOUT, preset.open_timeout_ms,
                                    &opts->open_timeout_ms),
            fail);
    HKI_TRY(status = order_option(opts), fail);
    HKI_TRY(status = progress_option(opts), fail);
    if (segment != NULL && opts->segment_bytes == 0) {
        HKI_TRY(status = parse_bytes(g_table[HKI_ENV_SEGMENT].name, segment, &opts->segment_bytes),
                fail);
    }
    if (spin != NULL && opts->spin == preset.spin) {
        status = parse_int(g_table[HKI_ENV_SPIN].name, spin, HKI_SPIN_AUTO, HKI_SPIN_SLEEPS,
                           &opts->spin);
    }
fail:
    return status;
}

static hk_status_t check_identity(hki_identity_t *identity, const char *rank_name,
                                  const char *nranks_name)
{
    if (identity->nranks < 1 || identity->nranks > HKI_RANKS_MAX) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%s is %d; there may be 1 to %d ranks", nranks_name,
                        identity->nranks, HKI_RANKS_MAX);
    }
    if (identity->rank < 0 || identity->rank >= identity->nranks) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%s is %d, but %s is %d; ranks count from 0 to %d",
                        rank_name, identity->rank, nranks_name, identity->nranks,
                        identity->nranks - 1);
    }
    if (identity->nranks > 1 && identity->job[0] == '\0') {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "rank and number of ranks are given, but no job; set HOCKET_JOB or "
                        "opts.job to one name on all ranks, or use hocket run");
    }
    return HK_OK;
}

/** Join what names the job with dashes. */
static hk_status_t name_job(const launcher_t *launcher, hki_identity_t *identity)
{
    size_t used = 0;

    for (int i = 0; i < 3; i++) {
        const char *part = value_of(launcher->job[i]);

        if (part == NULL) {
            continue;
        }
        const char *prefix = used == 0 ? launcher->job_backup : NULL;
        const int n =
            snprintf(identity->job + used, sizeof(identity->job) - used, "%s%s%s",
                     prefix != NULL ? prefix : "", used != 0 || prefix != NULL ? "-" : "", part);
        if (n < 0 || (size_t)n >= sizeof(identity->job) - used) {
            return HKI_FAIL(HK_ERR_INVALID_ARG,
                            "%s=\"%s\": the name of the job has more than %zu "
                            "characters",
                            launcher->job[i], part, sizeof(identity->job) - 1);
        }
        used += (size_t)n;
    }
    if (used == 0 && launcher->job_backup != NULL) {
        (void)snprintf(identity->job, sizeof(identity->job), "%s-%ld", launcher->job_backup,
                       (long)getppid());
    }
    return HK_OK;
}

/** All ranks must be on this host. */
static hk_status_t check_hosts(const launcher_t *launcher, int nranks)
{
    const char *here = value_of(launcher->here);
    const char *hosts = value_of(launcher->hosts);
    int ranks_here = nranks;
    int host_count = 1;
    hk_status_t status = HK_OK;

    if (here != NULL) {
        HKI_TRY(status = parse_int(launcher->here, here, 1, INT_MAX, &ranks_here), fail);
    }
    if (hosts != NULL) {
        HKI_TRY(status = parse_int(launcher->hosts, hosts, 1, INT_MAX, &host_count), fail);
    }
    if (ranks_here < nranks || host_count > 1) {
        status = HKI_FAIL(HK_ERR_UNSUPPORTED,
                          "%s started ranks on several hosts; this build works on one host only",
                          launcher->name);
    }
fail:
    return status;
}

static hk_status_t from_launcher(const launcher_t *launcher, hki_identity_t *identity)
{
    const char *rank = value_of(launcher->rank);
    const char *nranks = value_of(launcher->nranks);
    hk_status_t status;

    if (nranks == NULL) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%s=\"%s\" is set, but %s is not", launcher->rank, rank,
                        launcher->nranks);
    }
    HKI_TRY(status = parse_int(launcher->rank, rank, 0, INT_MAX, &identity->rank), fail);
    HKI_TRY(status = parse_int(launcher->nranks, nranks, 1, HKI_RANKS_MAX, &identity->nranks),
            fail);
    HKI_TRY(status = check_hosts(launcher, identity->nranks), fail);
    HKI_TRY(status = name_job(launcher, identity), fail);
    identity->source = launcher->name;
    status = check_identity(identity, launcher->rank, launcher->nranks);
fail:
    return status;
}

static hk_status_t from_opts(const hk_comm_opts_t *opts, hki_identity_t *identity)
{
    const char *job = opts->job != NULL ? opts->job : value_of("HOCKET_JOB");

    identity->rank = opts->rank;
    identity->nranks = opts->nranks;
    identity->source = "options";
    if (opts->rank < 0 || opts->nranks < 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "opts.rank is %d and opts.nranks is %d; give both, or neither", opts->rank,
                        opts->nranks);
    }
    if (job != NULL) {
        const int n = snprintf(identity->job, sizeof(identity->job), "%s", job);

        if (n < 0 || (size_t)n >= sizeof(identity->job)) {
            return HKI_FAIL(HK_ERR_INVALID_ARG, "opts.job has more than %zu characters",
                            sizeof(identity->job) - 1);
        }
    }
    return check_identity(identity, "opts.rank", "opts.nranks");
}

hk_status_t hki_env_identity(const hk_comm_opts_t *opts, hki_identity_t *identity_out)
{
    hki_identity_t identity = {.rank = 0, .nranks = 1, .source = "alone"};
    hk_status_t status = HK_OK;

    if (opts->rank != -1 || opts->nranks != -1) {
        status = from_opts(opts, &identity);
    } else {
        for (size_t i = 0; i < sizeof(g_launchers) / sizeof(g_launchers[0]); i++) {
            if (value_of(g_launchers[i].rank) != NULL) {
                status = from_launcher(&g_launchers[i], &identity);
                break;
            }
        }
    }
    if (status == HK_OK) {
        *identity_out = identity;
    }
    return status;
}
