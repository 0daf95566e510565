/*
 * Finds other libraries by what they give (a compiler wrapper, a Python module), builds the
 * drivers of bench/peers against them, and starts them with the settings that serve them best:
 * one rank a core where there are enough cores; else not pinned, and Open MPI told to yield.
 */
#include "bench_peers.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "child.h"
#include "topo/cpus.h"
#include "topo/machine.h"

#define BUILD_TIMEOUT_S 120.0

enum { WORDS_MAX = 40, NUMBER_BYTES = 32 };

/** One MPI: its compiler wrapper, its launcher, and where they come from. */
typedef struct mpi {
    const char *compiler;
    const char *launcher;
    const char *advice;
} mpi_t;

static const mpi_t mpis[HKI_VS_SYSTEMS] = {
    [HKI_VS_OPENMPI] = {"mpicc.openmpi", "mpirun.openmpi",
                        "apt-get install openmpi-bin libopenmpi-dev"},
    [HKI_VS_MPICH] = {"mpicc.mpich", "mpirun.mpich", "apt-get install mpich libmpich-dev"},
};

/** path = a/b. @return does it exist? */
static bool join(char *path, const char *folder, const char *name)
{
    const int length = snprintf(path, HKI_PEER_PATH_BYTES, "%s/%s", folder, name);

    return length > 0 && length < HKI_PEER_PATH_BYTES && access(path, F_OK) == 0;
}

/** A driver's source: in the tree that hocket was built in, or where it was installed. */
static bool find_source(const char *hocket, const char *name, char *path)
{
    char folder[HKI_PEER_PATH_BYTES];
    char relative[64];

    (void)snprintf(folder, sizeof(folder), "%s", hocket);
    for (char *slash = strrchr(folder, '/'); slash != NULL && slash != folder;
         slash = strrchr(folder, '/')) {
        *slash = '\0';
        (void)snprintf(relative, sizeof(relative), "bench/peers/%s", name);
        if (join(path, folder, relative)) {
            return true;
        }
        (void)snprintf(relative, sizeof(relative), "share/hocket/bench/%s", name);
        if (join(path, folder, relative)) {
            return true;
        }
    }
    path[0] = '\0';
    return false;
}

/** Where programs are built: beside a hocket that was not installed, else in the user's cache
 *  directory. */
static bool build_folder(const char *hocket, const char *source, char *folder)
{
    char beside[HKI_PEER_PATH_BYTES];

    (void)snprintf(beside, sizeof(beside), "%s", hocket);
    (void)join(folder, dirname(beside), "peers");
    if (strstr(source, "/bench/peers/") != NULL &&
        (mkdir(folder, 0777) == 0 || access(folder, W_OK) == 0)) {
        return true;
    }
    return hki_cache_folder(folder, HKI_PEER_PATH_BYTES) == HK_OK &&
           hki_folder_create(folder) == HK_OK;
}

static bool is_newer(const char *path, const char *than)
{
    struct stat a;
    struct stat b;

    return stat(path, &a) == 0 && stat(than, &b) == 0 && a.st_mtime >= b.st_mtime;
}

static void say_missing(int system, const char *why, const char *advice)
{
    (void)printf("# !! %s is not compared: %s; to have it: %s\n", hki_vs_name(system), why, advice);
}

static void init_mpi(hki_peers_t *peers, int system)
{
    const mpi_t *mpi = &mpis[system];
    char source[HKI_PEER_PATH_BYTES];
    char folder[HKI_PEER_PATH_BYTES];
    char name[64];
    char *program = peers->mpi_program[system];
    hki_text_t output = {0};

    if (!hki_child_find(mpi->compiler) || !hki_child_find(mpi->launcher)) {
        say_missing(system, "its compiler wrapper or its launcher is not in PATH", mpi->advice);
        return;
    }
    if (!find_source(peers->hocket, "mpi_bench.c", source) ||
        !build_folder(peers->hocket, source, folder)) {
        say_missing(system, "mpi_bench.c, or a folder to build it in, is not there",
                    "run hocket from its build folder or an installed tree");
        return;
    }
    (void)snprintf(name, sizeof(name), "mpi_bench.%s", hki_vs_name(system));
    if (join(program, folder, name) && is_newer(program, source)) {
        peers->is_there[system] = true;
        return;
    }
    const char *const argv[] = {mpi->compiler, "-O3",   "-march=native", "-std=gnu17",
                                "-o",          program, source,          NULL};
    const hki_child_t compile = {.argv = argv, .timeout_s = BUILD_TIMEOUT_S};
    peers->is_there[system] = hki_child_run(&compile, &output) == HK_OK;
    if (!peers->is_there[system]) {
        say_missing(system, hk_last_error(), "mend what the compiler says above");
    }
    hki_text_fini(&output);
}

static bool has_torch(const char *python)
{
    const char *const argv[] = {python, "-c",
                                "import torch.distributed as d; "
                                "exit(0 if d.is_gloo_available() else 1)",
                                NULL};
    const hki_child_t probe = {.argv = argv, .timeout_s = BUILD_TIMEOUT_S, .is_quiet = true};
    hki_text_t output = {0};
    const bool is_there = hki_child_find(python) && hki_child_run(&probe, &output) == HK_OK;

    hki_text_fini(&output);
    return is_there;
}

static void init_gloo(hki_peers_t *peers)
{
    char folder[HKI_PEER_PATH_BYTES];
    const char *named = getenv("HOCKET_TORCH_PYTHON");

    if (!find_source(peers->hocket, "gloo_bench.py", peers->gloo_script)) {
        say_missing(HKI_VS_GLOO, "gloo_bench.py is not there",
                    "run hocket from its build folder or an installed tree");
        return;
    }
    (void)snprintf(folder, sizeof(folder), "%s", peers->gloo_script);
    for (int up = 0; up < 3; up++) {
        (void)dirname(folder); // the tree's root, if it is one
    }
    if (named != NULL) {
        (void)snprintf(peers->python, sizeof(peers->python), "%s", named);
    } else if (!join(peers->python, folder, "build/venv/bin/python")) {
        (void)snprintf(peers->python, sizeof(peers->python), "python3");
    }
    peers->is_there[HKI_VS_GLOO] = has_torch(peers->python);
    if (!peers->is_there[HKI_VS_GLOO]) {
        say_missing(HKI_VS_GLOO, "no Python with PyTorch was found",
                    "set HOCKET_TORCH_PYTHON to one");
    }
}

void hki_peers_init(hki_peers_t *peers, const hki_choice_list_t *wanted)
{
    memset(peers, 0, sizeof(*peers));
    const ssize_t length = readlink("/proc/self/exe", peers->hocket, sizeof(peers->hocket) - 1);
    peers->hocket[length > 0 ? length : 0] = '\0';
    peers->cores = hki_cpus_usable();
    peers->is_there[HKI_VS_PRIVATE] = true;
    peers->is_there[HKI_VS_SHARED] = true;
    for (size_t i = 0; i < wanted->count; i++) {
        const int system = HKI_VS_OPENMPI + wanted->value[i];
        if (system == HKI_VS_GLOO) {
            init_gloo(peers);
        } else {
            init_mpi(peers, system);
        }
    }
    (void)fflush(stdout);
}

bool hki_peer_has_dtype(int system, const char *dtype)
{
    static const char *const gloo[] = {"f32", "bf16", "f16", "f64", "i32", "i64"};

    if (system == HKI_VS_OPENMPI || system == HKI_VS_MPICH) {
        return strcmp(dtype, "f32") == 0 || strcmp(dtype, "bf16") == 0;
    }
    for (size_t i = 0; system == HKI_VS_GLOO && i < sizeof(gloo) / sizeof(gloo[0]); i++) {
        if (strcmp(dtype, gloo[i]) == 0) {
            return true;
        }
    }
    return system <= HKI_VS_SHARED;
}

/** A command line under construction. */
typedef struct words {
    const char *word[WORDS_MAX];
    size_t count;
} words_t;

static void add_words(words_t *words, const char *const *more)
{
    for (; *more != NULL && words->count + 1 < WORDS_MAX; more++) {
        words->word[words->count++] = *more;
    }
    words->word[words->count] = NULL;
}

#define ADD(words, ...) add_words(words, (const char *const[]){__VA_ARGS__, NULL})

static void add_launcher(words_t *words, int system, bool is_pinned)
{
    if (system == HKI_VS_MPICH) {
        ADD(words, mpis[system].launcher, "-bind-to", is_pinned ? "core" : "none");
    } else if (is_pinned) {
        ADD(words, mpis[system].launcher, "--bind-to", "core");
    } else {
        ADD(words, mpis[system].launcher, "--bind-to", "none", "--oversubscribe", "--mca",
            "mpi_yield_when_idle", "1");
    }
    if (system == HKI_VS_OPENMPI && geteuid() == 0) {
        ADD(words, "--allow-run-as-root");
    }
}

hk_status_t hki_peer_run(const hki_peers_t *peers, const hki_peer_run_t *run, hki_text_t *lines)
{
    const bool is_pinned = run->nranks <= peers->cores;
    char nranks[NUMBER_BYTES];
    char budget[NUMBER_BYTES];
    words_t words = {.count = 0};

    (void)snprintf(nranks, sizeof(nranks), "%d", run->nranks);
    (void)snprintf(budget, sizeof(budget), "%g", run->budget_s);
    if (run->system <= HKI_VS_SHARED) {
        ADD(&words, peers->hocket, "bench", "-n", nranks, "--bind", is_pinned ? "core" : "none",
            "--loop", "fresh", "--cases", run->cases, "--budget", budget, "--memory",
            run->system == HKI_VS_SHARED ? "shared" : "private");
    } else if (run->system == HKI_VS_GLOO) {
        ADD(&words, peers->python, peers->gloo_script, nranks, run->cases, budget);
    } else {
        add_launcher(&words, run->system, is_pinned);
        ADD(&words, "-n", nranks, peers->mpi_program[run->system], run->cases, budget);
    }
    const hki_child_t child = {.argv = words.word, .timeout_s = run->timeout_s};
    return hki_child_run(&child, lines);
}
