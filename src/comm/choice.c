/*
 * Forced algorithms and the constants of the cost model. Method: the text is parsed once into a
 * list of rules in the order written; finding one is a walk over them, at the making of a plan
 * only. Nothing that differs between ranks may enter a choice: all ranks must choose the same.
 */
#include "comm/choice.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { RULES_MAX = 64, WORD_BYTES = 32, NAMES_BYTES = 256 };

typedef struct rule {
    hki_coll_t coll;
    size_t from; /**< [bytes] */
    size_t to;   /**< [bytes], excluded */
    const hki_algo_t *algo;
} rule_t;

struct hki_choice {
    int rule_count;
    rule_t rules[RULES_MAX];
};

/** Reading position; errors name the whole text. */
typedef struct reader {
    const char *source;
    const char *text;
    const char *at;
} reader_t;

static hk_status_t names_fail(hki_coll_t coll, const char *name)
{
    char names[NAMES_BYTES] = "";
    size_t used = 0;
    int count = 0;
    const hki_algo_t *all = hki_algo_all(&count);

    for (int i = 0; i < count; i++) {
        if (all[i].coll == coll && used < sizeof(names)) {
            const int n = snprintf(names + used, sizeof(names) - used, "%s%s",
                                   used == 0 ? "" : ", ", all[i].name);

            used += n > 0 ? (size_t)n : 0;
        }
    }
    return HKI_FAIL(HK_ERR_INVALID_ARG, "%s has no algorithm \"%s\"; there are: %s",
                    hki_coll_name(coll), name, names);
}

hk_status_t hki_algo_named(hki_coll_t coll, const char *name, const hki_algo_t **algo_out)
{
    const hki_algo_t *algo = hki_algo_find(coll, name);

    if (algo == NULL) {
        return names_fail(coll, name);
    }
    *algo_out = algo;
    return HK_OK;
}

static hk_status_t read_word(reader_t *reader, const char *what, char word[WORD_BYTES])
{
    size_t n = 0;

    while (isalnum((unsigned char)*reader->at) || *reader->at == '_' || *reader->at == '-') {
        if (n + 1 < WORD_BYTES) {
            word[n] = *reader->at;
            n++;
        }
        reader->at++;
    }
    word[n] = '\0';
    if (n == 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "%s=\"%s\": %s expected at \"%s\"; write it like "
                        "all_reduce:0-8K=direct,8K-=halving;broadcast=chain",
                        reader->source, reader->text, what, reader->at);
    }
    return HK_OK;
}

static hk_status_t read_size(reader_t *reader, size_t *bytes_out)
{
    char *end = NULL;
    const unsigned long long value = strtoull(reader->at, &end, 10);
    unsigned shift = 0;

    if (!isdigit((unsigned char)*reader->at)) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%s=\"%s\": a size like 8K expected at \"%s\"",
                        reader->source, reader->text, reader->at);
    }
    switch (*end) {
    case 'K':
        shift = 10;
        break;
    case 'M':
        shift = 20;
        break;
    case 'G':
        shift = 30;
        break;
    default:
        break;
    }
    if (value > (SIZE_MAX >> shift)) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%s=\"%s\": size too large at \"%s\"", reader->source,
                        reader->text, reader->at);
    }
    *bytes_out = (size_t)value << shift;
    reader->at = shift == 0 ? end : end + 1;
    return HK_OK;
}

/** "0-8K=direct" or "direct", into one rule. */
static hk_status_t read_rule(reader_t *reader, bool has_range, rule_t *rule)
{
    char name[WORD_BYTES];
    hk_status_t status;

    rule->from = 0;
    rule->to = SIZE_MAX;
    if (has_range) {
        HKI_TRY(status = read_size(reader, &rule->from), fail);
        if (*reader->at != '-') {
            return HKI_FAIL(HK_ERR_INVALID_ARG, "%s=\"%s\": \"-\" expected at \"%s\"",
                            reader->source, reader->text, reader->at);
        }
        reader->at++;
        if (*reader->at != '=') {
            HKI_TRY(status = read_size(reader, &rule->to), fail);
        }
        if (*reader->at != '=') {
            return HKI_FAIL(HK_ERR_INVALID_ARG, "%s=\"%s\": \"=\" expected at \"%s\"",
                            reader->source, reader->text, reader->at);
        }
        reader->at++;
    }
    HKI_TRY(status = read_word(reader, "the name of an algorithm", name), fail);
    status = hki_algo_named(rule->coll, name, &rule->algo);
fail:
    return status;
}

static hk_status_t read_coll(reader_t *reader, hki_coll_t *coll_out)
{
    char name[WORD_BYTES];
    const hk_status_t status = read_word(reader, "the name of a collective", name);

    if (status != HK_OK) {
        return status;
    }
    for (int c = 0; c < HKI_COLL_COUNT; c++) {
        if (strcmp(hki_coll_name((hki_coll_t)c), name) == 0) {
            *coll_out = (hki_coll_t)c;
            return HK_OK;
        }
    }
    return HKI_FAIL(HK_ERR_INVALID_ARG,
                    "%s=\"%s\": there is no collective \"%s\"; there are: broadcast, reduce, "
                    "scatter, gather, all_gather, reduce_scatter, all_reduce, all_to_all, barrier",
                    reader->source, reader->text, name);
}

/** "all_reduce:range=name,range=name" or "all_reduce=name". */
static hk_status_t read_group(reader_t *reader, hki_choice_t *choice)
{
    hki_coll_t coll = HKI_COLL_BARRIER;
    hk_status_t status = read_coll(reader, &coll);

    if (status != HK_OK) {
        return status;
    }
    if (*reader->at != ':' && *reader->at != '=') {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%s=\"%s\": \":\" or \"=\" expected at \"%s\"",
                        reader->source, reader->text, reader->at);
    }
    const bool has_range = *reader->at == ':';
    do {
        reader->at++;
        if (choice->rule_count == RULES_MAX) {
            return HKI_FAIL(HK_ERR_LIMIT, "%s: more than %d rules", reader->source, RULES_MAX);
        }
        rule_t *rule = &choice->rules[choice->rule_count];
        rule->coll = coll;
        status = read_rule(reader, has_range, rule);
        if (status != HK_OK) {
            return status;
        }
        choice->rule_count++;
    } while (*reader->at == ',');
    return HK_OK;
}

hk_status_t hki_choice_create(const char *source, const char *text, hki_choice_t **choice_out)
{
    reader_t reader = {.source = source, .text = text, .at = text};
    hki_choice_t *choice = NULL;
    hk_status_t status;

    if (text == NULL || *text == '\0') {
        *choice_out = NULL;
        return HK_OK;
    }
    choice = hki_calloc(1, sizeof(*choice));
    if (choice == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "forced algorithms, %zu bytes", sizeof(*choice));
    }
    for (;;) {
        HKI_TRY(status = read_group(&reader, choice), fail);
        if (*reader.at != ';') {
            break;
        }
        reader.at++;
    }
    if (*reader.at != '\0') {
        status = HKI_FAIL(HK_ERR_INVALID_ARG, "%s=\"%s\": \";\" or the end expected at \"%s\"",
                          source, text, reader.at);
        goto fail;
    }
    *choice_out = choice;
    return HK_OK;
fail:
    hki_choice_destroy(&choice);
    return status;
}

hk_status_t hki_choice_copy(const hki_choice_t *choice, hki_choice_t **choice_out)
{
    hki_choice_t *copy = NULL;

    if (choice != NULL) {
        copy = hki_calloc(1, sizeof(*copy));
        if (copy == NULL) {
            return HKI_FAIL(HK_ERR_NO_MEMORY, "forced algorithms, %zu bytes", sizeof(*copy));
        }
        *copy = *choice;
    }
    *choice_out = copy;
    return HK_OK;
}

void hki_choice_destroy(hki_choice_t **choice)
{
    hki_free(*choice);
    *choice = NULL;
}

const hki_algo_t *hki_choice_find(const hki_choice_t *choice, hki_coll_t coll, size_t block_bytes)
{
    for (int i = 0; choice != NULL && i < choice->rule_count; i++) {
        const rule_t *rule = &choice->rules[i];

        if (rule->coll == coll && block_bytes >= rule->from && block_bytes < rule->to) {
            return rule->algo;
        }
    }
    return NULL;
}
