/*
 * `hocket bench --vs`: hocket and other libraries in turn, and the ratios.
 *
 * Method: for each number of ranks, collective and type, every system runs all sizes once, one
 * system after the other, and this is done --alternations times; so that whatever else the machine
 * does falls on all of them alike.
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

#define START_S      60.0 /* for starting a system, at most */
#define LARGE_FACTOR 50.0 /* a size may take so many times its budget: large ones have a minimum */

enum { MARKDOWN_WIDTH = 100 };

typedef struct vs {
    const hki_bench_values_t *values;
    hki_peers_t peers;
    hki_vs_table_t table;
    hki_text_t sizes;    /**< "8,1024" */
    hki_text_t table_md; /**< for the Markdown file */
    bool has_failed[HKI_VS_SYSTEMS];
} vs_t;

/** One turn of one system; its failure is told and the others go on. */
static hk_status_t take_turn(vs_t *vs, const hki_peer_run_t *run)
{
    hki_text_t lines = {0};
    size_t added = 0;
    const hk_status_t ran = hki_peer_run(&vs->peers, run, &lines);
    const hk_status_t status = hki_vs_add(&vs->table, run->nranks, run->system, lines.data, &added);

    if (ran != HK_OK || added == 0) {
        (void)printf("# !! %s, %d ranks, %s %s: %s\n", hki_vs_name(run->system), run->nranks,
                     run->coll, run->dtype, ran != HK_OK ? hk_last_error() : "it printed no times");
        (void)fflush(stdout);
        vs->has_failed[run->system] = true;
    }
    hki_text_fini(&lines);
    return status;
}

/** All turns of one collective, type and number of ranks; then its lines are printed. */
static hk_status_t compare(vs_t *vs, hki_peer_run_t *run)
{
    const size_t first = vs->table.count;
    hki_text_t text = {0};
    hk_status_t status = HK_OK;

    for (int turn = 0; turn < vs->values->alternations && status == HK_OK; turn++) {
        for (int system = 0; system < HKI_VS_SYSTEMS && status == HK_OK; system++) {
            run->system = system;
            if (vs->peers.is_there[system] && hki_peer_has_dtype(system, run->dtype)) {
                status = take_turn(vs, run);
            }
        }
    }
    hki_vs_print(&vs->table, first, false, &text);
    if (text.data != NULL) {
        (void)fputs(text.data, stdout);
        (void)fflush(stdout);
    }
    hki_text_fini(&text);
    return status;
}

static hk_status_t compare_all(vs_t *vs)
{
    static const hki_size_list_t usual = {.count = 3, .value = {2, 4, 8}};
    const hki_bench_values_t *values = vs->values;
    const hki_size_list_t *ranks = values->ranks.count > 0 ? &values->ranks : &usual;
    hk_status_t status = HK_OK;

    for (size_t s = 0; s < values->sizes.count; s++) {
        hki_text_add(&vs->sizes, "%s%zu", s == 0 ? "" : ",", values->sizes.value[s]);
    }
    hki_peer_run_t run = {
        .sizes = vs->sizes.data,
        .budget_s = values->budget_s,
        .timeout_s = START_S + LARGE_FACTOR * values->budget_s * (double)values->sizes.count,
    };
    for (size_t n = 0; n < ranks->count; n++) {
        for (size_t i = 0; i < values->colls.count * values->dtypes.count; i++) {
            const int coll = values->colls.value[i / values->dtypes.count];
            run.nranks = (int)ranks->value[n];
            run.coll = hki_bench_coll_name(coll);
            run.dtype = hk_dtype_name((hk_dtype_t)values->dtypes.value[i % values->dtypes.count]);
            if (coll != HKI_COLL_BARRIER && status == HK_OK &&
                (coll != HKI_BENCH_SEND_RECV || run.nranks >= 2)) {
                status = compare(vs, &run);
            }
        }
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

static void write_markdown(vs_t *vs, const char *machine)
{
    char words[1024];
    size_t asked;
    size_t reached;

    hki_vs_count(&vs->table, &asked, &reached);
    (void)snprintf(words, sizeof(words),
                   "hocket %s on %s. Times in microseconds: median over %d alternations of each "
                   "run's median. Ratios are to the fastest peer, with the ratio to reach in "
                   "brackets; ! marks those missed. %zu of %zu are reached.",
                   hk_version(), machine, vs->values->alternations, reached, asked);
    hki_text_wrap(&vs->table_md, words, 0, MARKDOWN_WIDTH);
    hki_text_add(&vs->table_md, "\n\n");
    hki_vs_print_head(true, &vs->table_md);
    hki_vs_print(&vs->table, 0, true, &vs->table_md);
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

static void print_end(const vs_t *vs)
{
    size_t asked;
    size_t reached;

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
    hki_text_fini(&vs->sizes);
    hki_text_fini(&vs->table_md);
    hki_free(vs);
    return status != HK_OK ? hki_tool_failed(hki_subcommand_bench.command) : is_wrong;
}
