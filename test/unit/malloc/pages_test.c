/**
 * @file pages_test.c
 * @brief Tests of tools/malloc/pages.c.
 *
 * Method: random calls beside a model, an array that says of every page what it is; after each call
 * the runs of the book must be those of the model: they cover all pages, free neighbours of a kind
 * are one run, the counts are right, and every free run is found in its list.
 */
#include "support/hk_test.h"

#include <string.h>

#include "pages.h"

enum { PAGES = 500, ROUNDS = 20000 };

typedef struct scene {
    hki_page_t table[PAGES + 2];
    hki_pages_t pages;
    hki_run_kind_t kinds[PAGES + 2]; /**< the model */
    uint32_t owners[PAGES + 2];      /**< first page of the used run that holds it */
    uint64_t draws;
} scene_t;

static scene_t g_scene;

static scene_t *scene_new(void)
{
    memset(&g_scene, 0, sizeof(g_scene));
    hki_pages_init(&g_scene.pages, g_scene.table, PAGES);
    for (int page = 1; page <= PAGES; page++) {
        g_scene.kinds[page] = HKI_RUN_FRESH;
    }
    return &g_scene;
}

/** A number below `n`. */
static uint32_t draw(scene_t *scene, uint32_t n)
{
    scene->draws = scene->draws * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(scene->draws >> 33) % n;
}

static void paint(scene_t *scene, uint32_t first, uint32_t npages, hki_run_kind_t kind)
{
    for (uint32_t page = first; page < first + npages; page++) {
        scene->kinds[page] = kind;
        scene->owners[page] = kind == HKI_RUN_USED ? first : 0;
    }
}

static bool is_listed(const hki_pages_t *pages, hki_run_t run)
{
    const unsigned c = 31U - (unsigned)__builtin_clz(run.npages);

    for (uint32_t at = pages->lists[run.kind][c]; at != 0; at = pages->table[at].next) {
        if (at == run.first) {
            return true;
        }
    }
    return false;
}

static void check(const scene_t *scene, int round)
{
    uint64_t counts[HKI_RUN_KINDS] = {0};
    hki_run_kind_t before = HKI_RUN_USED;

    for (uint32_t page = 1; page <= PAGES;) {
        const hki_run_t run = hki_pages_at(&scene->pages, page);
        bool is_right = run.kind != HKI_RUN_NONE && run.npages >= 1 &&
                        page + run.npages <= PAGES + 1 &&
                        (run.kind == HKI_RUN_USED || run.kind != before);
        for (uint32_t i = 0; is_right && i < run.npages; i++) {
            is_right = scene->kinds[page + i] == run.kind &&
                       (run.kind != HKI_RUN_USED || scene->owners[page + i] == page) &&
                       (i == 0 || hki_pages_at(&scene->pages, page + i).kind == HKI_RUN_NONE);
        }
        if (!is_right || (run.kind != HKI_RUN_USED && !is_listed(&scene->pages, run))) {
            fail_msg("round %d, page %u: a run of %u pages, kind %d", round, page, run.npages,
                     (int)run.kind);
        }
        counts[run.kind] += run.npages;
        before = run.kind;
        page += run.npages;
    }
    assert_memory_equal(counts, scene->pages.counts, sizeof(counts));
}

/** The longest free run of a kind that could hold pages at a multiple of step, in the model. */
static bool has_room(const scene_t *scene, hki_run_kind_t kind, uint32_t npages, uint32_t step)
{
    for (uint32_t first = step; first + npages <= PAGES + 1; first += step) {
        uint32_t n = 0;
        while (n < npages && scene->kinds[first + n] == kind) {
            n++;
        }
        if (n == npages) {
            return true;
        }
    }
    return false;
}

static void take(scene_t *scene, int round)
{
    const hki_run_kind_t kind = draw(scene, 2) == 0 ? HKI_RUN_FRESH : HKI_RUN_STALE;
    const uint32_t npages = 1 + draw(scene, draw(scene, 4) == 0 ? 60 : 8);
    const uint32_t step = draw(scene, 4) == 0 ? 1U << draw(scene, 6) : 1;
    const hki_run_t run = hki_pages_get(&scene->pages, kind, npages, step);

    if (run.first == 0) {
        if (has_room(scene, kind, npages, step)) {
            fail_msg("round %d: no run of %u pages at a multiple of %u", round, npages, step);
        }
        return;
    }
    assert_int_equal(run.first % step, 0);
    assert_int_equal(run.npages, npages);
    assert_int_equal(run.kind, kind);
    for (uint32_t i = 0; i < npages; i++) {
        assert_int_equal(scene->kinds[run.first + i], kind);
    }
    paint(scene, run.first, npages, HKI_RUN_USED);
}

/** Do something to the run that holds a page. */
static void change(scene_t *scene, uint32_t page)
{
    const uint32_t first = scene->owners[page];
    const uint32_t n = 1 + draw(scene, 20);

    if (scene->kinds[page] != HKI_RUN_USED) {
        const hki_run_t run = hki_pages_largest_stale(&scene->pages);
        assert_true((run.first == 0) == (scene->pages.counts[HKI_RUN_STALE] == 0));
        if (run.first != 0) {
            hki_pages_put(&scene->pages, run.first, HKI_RUN_FRESH);
            paint(scene, run.first, run.npages, HKI_RUN_FRESH);
        }
        return;
    }
    const uint32_t have = hki_pages_at(&scene->pages, first).npages;
    const hki_run_kind_t kind = draw(scene, 2) == 0 ? HKI_RUN_FRESH : HKI_RUN_STALE;
    switch (draw(scene, 3)) {
    case 0:
        hki_pages_put(&scene->pages, first, kind);
        paint(scene, first, have, kind);
        break;
    case 1:
        hki_pages_trim(&scene->pages, first, n, kind);
        if (n < have) {
            paint(scene, first + n, have - n, kind);
        }
        break;
    default: {
        uint32_t room = 0;
        while (room < n && first + have + room <= PAGES &&
               scene->kinds[first + have + room] != HKI_RUN_USED) {
            room++;
        }
        assert_int_equal(hki_pages_extend(&scene->pages, first, have + n), room == n);
        if (room == n) {
            paint(scene, first, have + n, HKI_RUN_USED);
        }
    }
    }
}

static void keeps_a_right_book_whatever_is_asked(void **state)
{
    scene_t *scene = scene_new();
    (void)state;

    for (int round = 0; round < ROUNDS; round++) {
        if (draw(scene, 2) == 0) {
            take(scene, round);
        } else {
            change(scene, 1 + draw(scene, PAGES));
        }
        check(scene, round);
    }
}

static void gives_all_and_no_more(void **state)
{
    scene_t *scene = scene_new();
    (void)state;

    assert_int_equal(hki_pages_get(&scene->pages, HKI_RUN_FRESH, PAGES + 1, 1).first, 0);
    assert_int_equal(hki_pages_get(&scene->pages, HKI_RUN_STALE, 1, 1).first, 0);
    assert_int_equal(hki_pages_get(&scene->pages, HKI_RUN_FRESH, PAGES, 1).first, 1);
    assert_int_equal(hki_pages_get(&scene->pages, HKI_RUN_FRESH, 1, 1).first, 0);
    assert_false(hki_pages_extend(&scene->pages, 1, PAGES + 1));
    hki_pages_put(&scene->pages, 1, HKI_RUN_STALE);
    assert_int_equal(hki_pages_largest_stale(&scene->pages).npages, PAGES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_a_right_book_whatever_is_asked),
        cmocka_unit_test(gives_all_and_no_more),
    };
    return cmocka_run_group_tests_name("malloc/pages", tests, NULL, NULL);
}
