/*
 * `hocket bench --vs`: hocket and other libraries in turn, and the ratios.
 *
 * Method: for each number of ranks and a few collectives (starting a library takes up to seconds),
 * every system measures all cases once, one system after the other, and this is done --alternations
 * times; so that whatever else the machine does falls on all of them alike. A system takes no
 * further turns at a line (hki_vs_judge()) where it is far from the fastest peer, since it cannot
 * change a ratio, or where it has used up --patience.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "bench_peers.h"
#include "bench_plot.h"
#include "file.h"
#include "tool.h"
#include "topo/machine.h"
#include "topo/memory.h"

#define START_S 60.0 /* for starting a system, at most */
#define CASE_S  40.0 /* for a case, at most; what the budget does not limit: 3 huge operations */

enum {
    MARKDOWN_WIDTH = 100,
    GROUP_COLLS = 3, /* collectives that a started system measures */
    VERSION_BYTES = 64,
    BUFFERS = 2, /* of a rank */
};

typedef struct vs {
    const hki_bench_values_t *values;
    uint64_t memory_most; /**< of the buffers of all ranks */
    hki_peers_t peers;
    hki_vs_table_t table;
    hki_text_t table_md; /**< for the Markdown file */
    hki_text_t left_out; /**< "; 134217728 bytes with 8 ranks" */
    char versions[HKI_VS_SYSTEMS][VERSION_BYTES];
    bool has_failed[HKI_VS_SYSTEMS];
} vs_t;

/** The library's own name and version: "# Open MPI v4.1.4" stands first. */
static void note_version(vs_t *vs, int system, const char *lines)
{
    if (vs->versions[system][0] == '\0' && lines != NULL && strncmp(lines, "# ", 2) == 0) {
        (void)snprintf(vs->versions[system], VERSION_BYTES, "%.*s", (int)strcspn(lines + 2, "\n"),
                       lines + 2);
    }
}

/** One turn of one system; its failure is told and the others go on. @param[out] is_out  it
 *  failed */
static hk_status_t take_turn(vs_t *vs, const hki_peer_run_t *run, bool *is_out)
{
    hki_text_t lines = {0};
    size_t added = 0;
    const hk_status_t ran = hki_peer_run(&vs->peers, run, &lines);
    const hk_status_t status = hki_vs_add(&vs->table, run->nranks, run->system, lines.data, &added);

    note_version(vs, run->system, lines.data);
    if (ran != HK_OK || added == 0) {
        (void)printf("# !! %s, %d ranks, %s: %s\n", hki_vs_name(run->system), run->nranks,
                     run->cases, ran != HK_OK ? hk_last_error() : "it printed no times");
        (void)fflush(stdout);
        vs->has_failed[run->system] = true;
        *is_out = true;
    }
    hki_text_fini(&lines);
    return status;
}

/** Rows of the table that are measured together. */
typedef struct group {
    int nranks;
    size_t first;
    size_t end;
    bool is_out[HKI_VS_SYSTEMS];
} group_t;

/** The lines at which a system takes its next turn, as its driver wants them. */
static size_t add_cases(const vs_t *vs, const group_t *group, int system, hki_text_t *cases)
{
    size_t count = 0;

    for (size_t i = group->first; i < group->end; i++) {
        const hki_vs_row_t *row = &vs->table.rows[i];
        if (hki_peer_has_dtype(system, row->dtype) &&
            hki_vs_judge(row, system, vs->values->patience_s) == HKI_VS_ON) {
            hki_text_add(cases, "%s%s:%s:%zu", count == 0 ? "" : ",", row->coll, row->dtype,
                         row->bytes);
            count++;
        }
    }
    return count;
}

static hk_status_t alternate(vs_t *vs, group_t *group, int system)
{
    hki_text_t cases = {0};
    hk_status_t status = HK_OK;

    if (!vs->peers.is_there[system] || group->is_out[system]) {
        return HK_OK;
    }
    const size_t count = add_cases(vs, group, system, &cases);
    const hki_peer_run_t run = {
        .system = system,
        .nranks = group->nranks,
        .cases = cases.data,
        .budget_s = vs->values->budget_s,
        .timeout_s = START_S + CASE_S * (double)count,
    };
    if (cases.is_failed) {
        status = HKI_FAIL(HK_ERR_NO_MEMORY, "list of %zu cases", count);
    } else if (count > 0) {
        status = take_turn(vs, &run, &group->is_out[system]);
    }
    hki_text_fini(&cases);
    return status;
}

/** All turns at the rows of a group; then they are printed. */
static hk_status_t compare(vs_t *vs, group_t *group)
{
    hki_text_t text = {0};
    hk_status_t status = HK_OK;

    for (int turn = 0; turn < vs->values->alternations && status == HK_OK; turn++) {
        for (int system = 0; system < HKI_VS_SYSTEMS && status == HK_OK; system++) {
            status = alternate(vs, group, system);
        }
    }
    hki_vs_print(&vs->table, group->first, false, &text);
    if (text.data != NULL) {
        (void)fputs(text.data, stdout);
        (void)fflush(stdout);
    }
    hki_text_fini(&text);
    return status;
}

/** What the buffers of all ranks may take. Half of what is free at most: libraries copy. */
static uint64_t memory_most(const hki_bench_values_t *values)
{
    const uint64_t half = hki_memory_available() / 2;

    return values->memory_max > 0 && values->memory_max < half ? values->memory_max : half;
}

static bool is_too_large(const vs_t *vs, int nranks, size_t bytes)
{
    return bytes > vs->memory_most / BUFFERS / (uint64_t)nranks;
}

/** Rows of a collective. */
static hk_status_t plan(vs_t *vs, int nranks, int coll)
{
    const hki_bench_values_t *values = vs->values;
    const hki_bench_t bench = {.values = values, .nranks = nranks};
    // types differ in sums only; what moves bytes is measured with the first
    const size_t dtypes = hki_bench_has_op(coll) ? values->dtypes.count : 1;
    hk_status_t status = HK_OK;

    for (size_t i = 0; i < dtypes * values->sizes.count && status == HK_OK; i++) {
        const hk_dtype_t dtype = (hk_dtype_t)values->dtypes.value[i / values->sizes.count];
        const size_t bytes = values->sizes.value[i % values->sizes.count];
        hki_vs_row_t key = {.nranks = nranks};
        hki_bench_case_t what;
        if (is_too_large(vs, nranks, bytes) ||
            !hki_bench_case(&bench, coll, bytes, dtype, HK_SUM, &what)) {
            continue;
        }
        (void)snprintf(key.coll, sizeof(key.coll), "%s", hki_bench_coll_name(coll));
        (void)snprintf(key.dtype, sizeof(key.dtype), "%s", hk_dtype_name(dtype));
        key.bytes = hki_bench_case_bytes(&what);
        status = hki_vs_plan(&vs->table, &key);
    }
    return status;
}

/** Say which sizes a number of ranks goes without. */
static void note_left_out(vs_t *vs, int nranks)
{
    for (size_t s = 0; s < vs->values->sizes.count; s++) {
        const size_t bytes = vs->values->sizes.value[s];
        if (is_too_large(vs, nranks, bytes)) {
            hki_text_add(&vs->left_out, "%s%zu bytes with %d ranks",
                         vs->left_out.length == 0 ? "" : ", ", bytes, nranks);
        }
    }
}

/** All collectives with one number of ranks, a few at a time. */
static hk_status_t compare_ranks(vs_t *vs, int nranks)
{
    const hki_choice_list_t *colls = &vs->values->colls;
    hk_status_t status = HK_OK;

    note_left_out(vs, nranks);
    for (size_t c = 0; c < colls->count && status == HK_OK;) {
        group_t group = {.nranks = nranks, .first = vs->table.count};
        for (int taken = 0; taken < GROUP_COLLS && c < colls->count && status == HK_OK; c++) {
            const int coll = colls->value[c];
            if (coll != HKI_COLL_BARRIER && (coll != HKI_BENCH_SEND_RECV || nranks >= 2)) {
                status = plan(vs, nranks, coll);
                taken++;
            }
        }
        group.end = vs->table.count;
        if (status == HK_OK) {
            status = compare(vs, &group);
        }
    }
    return status;
}

static hk_status_t compare_all(vs_t *vs)
{
    static const hki_size_list_t usual = {.count = 3, .value = {2, 4, 8}};
    const hki_bench_values_t *values = vs->values;
    const hki_size_list_t *ranks = values->ranks.count > 0 ? &values->ranks : &usual;
    hk_status_t status = HK_OK;

    for (size_t n = 0; n < ranks->count && status == HK_OK; n++) {
        status = compare_ranks(vs, (int)ranks->value[n]);
    }
    return status;
}

/** "Intel(R) ..., 2 cores, Linux 6.1, 2026-01-31 12:00 UTC". */
static void describe(const vs_t *vs, char *text, size_t text_bytes)
{
    char model[HKI_MACHINE_BYTES];
    char date[40] = "";
    struct utsname kernel;
    struct tm utc;
    const time_t now = time(NULL);

    hki_machine_cpu(model);
    if (gmtime_r(&now, &utc) != NULL) {
        (void)strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &utc);
    }
    if (uname(&kernel) != 0) {
        kernel.release[0] = '\0';
    }
    (void)snprintf(text, text_bytes, "%s, %d cores, Linux %s, %s", model, vs->peers.cores,
                   kernel.release, date);
}

/** What the ratios are of, and what is not in the table and why: for people, one paragraph. */
static void explain(const vs_t *vs, hki_text_t *words)
{
    const hki_bench_values_t *values = vs->values;
    size_t far;
    size_t spent;

    hki_vs_short(&vs->table, values->alternations, values->patience_s, &far, &spent);
    hki_text_add(words, "Not measured: ");
    if (values->dtypes.count > 1) {
        hki_text_add(words,
                     "types other than %s of collectives that add nothing, which move "
                     "bytes, whatever they are; ",
                     hk_dtype_name((hk_dtype_t)values->dtypes.value[0]));
    }
    if (vs->left_out.length > 0) {
        hki_text_add(words, "%s, too much memory or time; ", vs->left_out.data);
    }
    hki_text_add(words,
                 "more than %d turns of a peer whose quickest is more than %d times as long as the "
                 "slowest of the fastest peer (%zu times), since it cannot change a ratio; more "
                 "than %d turns where they took %g s together (%zu times). ",
                 HKI_VS_TURNS_FAR, HKI_VS_FAR, far, HKI_VS_TURNS_LEAST, values->patience_s, spent);
    hki_text_add(words, "bf16 sums of MPI are a user-defined operation, since MPI has no bf16.");
}

/** "Open MPI v4.1.4, MPICH Version: 4.0.2, ". */
static void add_versions(const vs_t *vs, hki_text_t *words)
{
    for (int system = 0; system < HKI_VS_SYSTEMS; system++) {
        if (vs->versions[system][0] != '\0') {
            hki_text_add(words, ", %s", vs->versions[system]);
        }
    }
}

static void write_markdown(vs_t *vs, const char *machine)
{
    hki_text_t words = {0};
    size_t asked;
    size_t reached;

    hki_vs_count(&vs->table, &asked, &reached);
    hki_text_add(&words, "hocket %s on %s", hk_version(), machine);
    add_versions(vs, &words);
    hki_text_add(&words,
                 ". Times in microseconds: median over %d alternations of each run's median. "
                 "Ratios are to the fastest peer, with the ratio to reach in brackets; ! marks "
                 "those missed. %zu of %zu are reached. ",
                 vs->values->alternations, reached, asked);
    explain(vs, &words);
    vs->table_md.is_failed = vs->table_md.is_failed || words.is_failed;
    hki_text_wrap(&vs->table_md, words.data != NULL ? words.data : "", 0, MARKDOWN_WIDTH);
    hki_text_add(&vs->table_md, "\n\n");
    hki_vs_print_head(true, &vs->table_md);
    hki_vs_print(&vs->table, 0, true, &vs->table_md);
    hki_text_fini(&words);
}

/** Replace the part between the marks of the file. */
static hk_status_t splice_file(const char *path, const char *part)
{
    hki_text_t old = {0};
    hki_text_t whole = {0};
    hk_status_t status = hki_file_get(path, &old);

    if (status == HK_OK) {
        hki_vs_splice(old.data == NULL ? "" : old.data, part, &whole);
        status = whole.is_failed ? HKI_FAIL(HK_ERR_NO_MEMORY, "text of %s", path)
                                 : hki_file_put(path, whole.data);
    }
    hki_text_fini(&old);
    hki_text_fini(&whole);
    return status;
}

/** One panel a collective and number of ranks, one line a system. */
static hk_status_t draw(const vs_t *vs, const char *path)
{
    hki_plot_t plot = {0};
    hki_text_t svg = {0};
    char panel[64];

    for (size_t i = 0; i < vs->table.count; i++) {
        const hki_vs_row_t *row = &vs->table.rows[i];
        (void)snprintf(panel, sizeof(panel), "%s, %s, %d ranks", row->coll, row->dtype,
                       row->nranks);
        for (int system = 0; system < HKI_VS_SYSTEMS; system++) {
            hki_plot_add(&plot, panel, hki_vs_name(system), (double)row->bytes,
                         hki_vs_time(row, system));
        }
    }
    hki_plot_svg(&plot, &svg);
    const hk_status_t status = svg.is_failed || plot.is_failed
                                   ? HKI_FAIL(HK_ERR_NO_MEMORY, "plot of %zu rows", vs->table.count)
                                   : hki_file_put(path, svg.data);
    hki_plot_fini(&plot);
    hki_text_fini(&svg);
    return status;
}

/** The files that were asked for. */
static hk_status_t write_files(vs_t *vs, const char *machine)
{
    const hki_bench_values_t *values = vs->values;
    hki_text_t json = {0};
    hk_status_t status = HK_OK;

    if (values->markdown != NULL) {
        write_markdown(vs, machine);
        HKI_TRY(status = splice_file(values->markdown, vs->table_md.data), done);
    }
    if (values->json != NULL) {
        HKI_TRY(status = hki_vs_json(&vs->table, machine, &json), done);
        HKI_TRY(status = hki_file_put(values->json, json.data), done);
    }
    if (values->plot != NULL) {
        status = draw(vs, values->plot);
    }
done:
    hki_text_fini(&json);
    return status;
}

/** Each line as a comment of the table. */
static void print_lines(const char *text)
{
    while (text != NULL && *text != '\0') {
        const size_t length = strcspn(text, "\n");
        (void)printf("# %.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

static void print_end(const vs_t *vs)
{
    size_t asked;
    size_t reached;

    hki_text_t words = {0};
    hki_text_t lines = {0};

    explain(vs, &words);
    hki_text_wrap(&lines, words.data != NULL ? words.data : "", 0, MARKDOWN_WIDTH - 2);
    print_lines(lines.data);
    hki_text_fini(&words);
    hki_text_fini(&lines);
    hki_vs_count(&vs->table, &asked, &reached);
    (void)printf("# %zu of %zu ratios reach what they must\n", reached, asked);
    for (int system = 0; system < HKI_VS_SYSTEMS; system++) {
        if (vs->has_failed[system]) {
            (void)printf("# !! %s failed in some runs, see above\n", hki_vs_name(system));
        }
    }
    if (vs->table.wrong > 0) {
        (void)printf("# !! hocket: %llu wrong elements\n", (unsigned long long)vs->table.wrong);
    }
}

int hki_bench_vs(const hki_bench_values_t *values)
{
    char machine[HKI_MACHINE_BYTES + 256];
    hki_text_t head = {0};
    vs_t *vs = hki_calloc(1, sizeof(*vs));
    hk_status_t status = HK_OK;

    if (vs == NULL) {
        (void)HKI_FAIL(HK_ERR_NO_MEMORY, "comparison, %zu bytes", sizeof(*vs));
        return hki_tool_failed(hki_subcommand_bench.command);
    }
    vs->values = values;
    vs->memory_most = memory_most(values);
    hki_peers_init(&vs->peers, &values->peers);
    describe(vs, machine, sizeof(machine));
    hki_vs_print_head(false, &head);
    (void)printf("# hocket %s bench --vs: %d alternations on %s\n%s", hk_version(),
                 values->alternations, machine, head.data == NULL ? "" : head.data);
    (void)fflush(stdout);
    hki_text_fini(&head);
    status = compare_all(vs);
    if (status == HK_OK) {
        status = write_files(vs, machine);
    }
    print_end(vs);
    const bool is_wrong =
        vs->table.wrong > 0 || vs->has_failed[HKI_VS_PRIVATE] || vs->has_failed[HKI_VS_SHARED];
    hki_vs_fini(&vs->table);
    hki_text_fini(&vs->left_out);
    hki_text_fini(&vs->table_md);
    hki_free(vs);
    return status != HK_OK ? hki_tool_failed(hki_subcommand_bench.command) : is_wrong;
}
