/**
 * @file log.c
 * @brief The log: one line a message, to stderr by a single write(), or to the program's callback.
 *
 * Method: HK_LOG is read once, at the first message, into a level for everything and a short list
 * of levels by component. The highest of them stands in an atomic, so that a message nobody wants
 * costs one load. Lines are made on the caller's stack: nothing allocates.
 */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hocket/comm.h>

enum { LINE_BYTES = 2048, RULES_MAX = 16, COMPONENT_BYTES = 24, LEVELS = HKI_LOG_TRACE + 1 };

static const char allowed[] =
    "allowed are error, warn, info, debug, trace, also by component: exec:trace,transport:debug";

static const char *const level_names[LEVELS] = {"error", "warn", "info", "debug", "trace"};

/** One "component:level" of HK_LOG. */
typedef struct rule {
    char component[COMPONENT_BYTES];
    hki_log_level_t level;
} rule_t;

typedef struct settings {
    hki_log_level_t level;
    int nrules;
    rule_t rules[RULES_MAX];
} settings_t;

static pthread_once_t g_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER; // of the four below
static settings_t g_settings = {.level = HKI_LOG_WARN};
static hk_log_fn g_fn;
static void *g_cookie;

static _Atomic int g_level_max = HKI_LOG_TRACE; // of g_settings, once it is known
static _Atomic int g_count;                     // lines of level error and warn

static _Thread_local int g_rank;
static _Thread_local int g_nranks;

/** Hand a finished line, with room for a line end behind it, to whoever listens. */
static void line_write(char *line, size_t length)
{
    (void)pthread_mutex_lock(&g_lock);
    if (g_fn != NULL) {
        g_fn(line, g_cookie);
    } else {
        line[length] = '\n';
        const ssize_t written = write(STDERR_FILENO, line, length + 1);
        (void)written; // nowhere to report that the log itself is gone
    }
    (void)pthread_mutex_unlock(&g_lock);
}

__attribute__((format(printf, 3, 0))) static void message_write(hki_log_level_t level,
                                                                const char *component,
                                                                const char *format, va_list args)
{
    char line[LINE_BYTES];
    const int room = LINE_BYTES - 1; // the last byte is for the line end
    int length = g_nranks > 0 ? snprintf(line, (size_t)room, "hocket %d/%d %s %s: ", g_rank,
                                         g_nranks, component, level_names[level])
                              : snprintf(line, (size_t)room, "hocket %s %s: ", component,
                                         level_names[level]);

    if (length >= 0 && length < room) {
        const int more = vsnprintf(line + length, (size_t)(room - length), format, args);
        length = more < 0 ? length : length + more;
    }
    length = length < 0 ? 0 : (length >= room ? room - 1 : length);
    for (int i = 0; i < length; i++) { // one line, whatever the arguments hold
        line[i] = line[i] == '\n' || line[i] == '\r' ? ' ' : line[i];
    }
    if (level <= HKI_LOG_WARN) {
        atomic_fetch_add(&g_count, 1);
    }
    line_write(line, (size_t)length);
}

/** For messages about HK_LOG itself, which must not ask HK_LOG. */
__attribute__((format(printf, 1, 2))) static void warn_always(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    message_write(HKI_LOG_WARN, "base", format, args);
    va_end(args);
}

static bool level_parse(const char *text, size_t length, hki_log_level_t *level_out)
{
    for (int level = 0; level < LEVELS; level++) {
        if (strlen(level_names[level]) == length && memcmp(level_names[level], text, length) == 0) {
            *level_out = (hki_log_level_t)level;
            return true;
        }
    }
    return false;
}

/** One entry of HK_LOG, "info" or "exec:trace". @return false if it is neither */
static bool entry_parse(const char *text, size_t length, settings_t *settings)
{
    const char *colon = memchr(text, ':', length);
    hki_log_level_t level;

    if (colon == NULL) {
        return level_parse(text, length, &settings->level);
    }
    const size_t name_bytes = (size_t)(colon - text);
    if (name_bytes == 0 || name_bytes >= COMPONENT_BYTES || settings->nrules == RULES_MAX ||
        !level_parse(colon + 1, length - name_bytes - 1, &level)) {
        return false;
    }
    rule_t *rule = &settings->rules[settings->nrules];
    memcpy(rule->component, text, name_bytes);
    rule->component[name_bytes] = '\0';
    rule->level = level;
    settings->nrules++;
    return true;
}

static void settings_use(const settings_t *settings)
{
    int level_max = (int)settings->level;

    for (int i = 0; i < settings->nrules; i++) {
        const int level = (int)settings->rules[i].level;
        level_max = level > level_max ? level : level_max;
    }
    (void)pthread_mutex_lock(&g_lock);
    g_settings = *settings;
    (void)pthread_mutex_unlock(&g_lock);
    atomic_store(&g_level_max, level_max);
}

static bool spec_use(const char *spec)
{
    settings_t settings = {.level = HKI_LOG_WARN};
    const char *bad = NULL;
    size_t bad_bytes = 0;

    for (const char *at = spec; at != NULL && *at != '\0';) {
        const size_t length = strcspn(at, ",");
        if (bad == NULL && !entry_parse(at, length, &settings)) {
            bad = at;
            bad_bytes = length;
        }
        at += length + (at[length] == ',' ? 1 : 0);
    }
    if (bad != NULL) {
        warn_always("HK_LOG=\"%s\" is ignored: \"%.*s\" is not understood; %s (at most %d)", spec,
                    (int)bad_bytes, bad, allowed, RULES_MAX);
        return false;
    }
    settings_use(&settings);
    return true;
}

static void environment_read(void)
{
    if (!spec_use(getenv("HK_LOG"))) {
        (void)spec_use(NULL);
    }
}

static void settings_ready(void)
{
    (void)pthread_once(&g_once, environment_read);
}

bool hki_log_configure(const char *spec)
{
    settings_ready();
    return spec_use(spec);
}

bool hki_log_is_on(hki_log_level_t level, const char *component)
{
    if ((int)level > atomic_load_explicit(&g_level_max, memory_order_relaxed)) {
        return false;
    }
    settings_ready();
    (void)pthread_mutex_lock(&g_lock);
    hki_log_level_t wanted = g_settings.level;
    for (int i = 0; i < g_settings.nrules; i++) {
        if (strcmp(g_settings.rules[i].component, component) == 0) {
            wanted = g_settings.rules[i].level;
        }
    }
    (void)pthread_mutex_unlock(&g_lock);
    return level <= wanted;
}

void hki_log(hki_log_level_t level, const char *component, const char *format, ...)
{
    va_list args;

    if (!hki_log_is_on(level, component)) {
        return;
    }
    va_start(args, format);
    message_write(level, component, format, args);
    va_end(args);
}

void hki_log_set_rank(int rank, int nranks)
{
    g_rank = rank;
    g_nranks = nranks;
}

int hki_log_take_count(void)
{
    return atomic_exchange(&g_count, 0);
}

void hk_log_set(hk_log_fn fn, void *cookie)
{
    (void)pthread_mutex_lock(&g_lock);
    g_fn = fn;
    g_cookie = cookie;
    (void)pthread_mutex_unlock(&g_lock);
}
