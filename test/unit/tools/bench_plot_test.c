/*
 * The picture: well-formed XML (a small reader here follows its tags), every point in it and inside
 * the frame, and nothing that a logarithm cannot show.
 */
#include "support/hk_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "hocket/bench_plot.h"

enum { DEPTH_MAX = 16, NAME_BYTES = 24 };

/** Read the tag after '<'; keep the open ones. @return behind it */
static const char *read_tag(const char *at, char (*open)[NAME_BYTES], int *depth)
{
    const bool is_end = *at == '/';
    const char *close = strchr(at, '>');
    const size_t length = strcspn(at + is_end, " />");

    assert_non_null(close);
    assert_true(length > 0 && length < NAME_BYTES);
    if (is_end) {
        assert_true(*depth > 0);
        (*depth)--;
        if (strlen(open[*depth]) != length || strncmp(open[*depth], at + 1, length) != 0) {
            fail_msg("</%.*s> ends <%s>", (int)length, at + 1, open[*depth]);
        }
    } else if (close[-1] != '/') {
        assert_true(*depth < DEPTH_MAX);
        (void)snprintf(open[*depth], NAME_BYTES, "%.*s", (int)length, at);
        (*depth)++;
    }
    int quotes = 0;
    for (; at < close; at++) {
        quotes += *at == '"';
        assert_true(*at != '<');
    }
    assert_int_equal(quotes % 2, 0);
    return close + 1;
}

static void assert_well_formed(const char *xml)
{
    char open[DEPTH_MAX][NAME_BYTES];
    int depth = 0;

    while (*xml != '\0') {
        if (*xml == '<') {
            xml = read_tag(xml + 1, open, &depth);
        } else {
            assert_true(*xml != '&' || strncmp(xml, "&amp;", 5) == 0 ||
                        strncmp(xml, "&lt;", 4) == 0 || strncmp(xml, "&gt;", 4) == 0);
            xml++;
        }
    }
    assert_int_equal(depth, 0);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;

    for (text = strstr(text, part); text != NULL; text = strstr(text + 1, part)) {
        count++;
    }
    return count;
}

static void every_point_stands_within_the_picture(void **state)
{
    hki_plot_t plot = {0};
    hki_text_t svg = {0};

    (void)state;
    for (int i = 0; i < 24; i += 3) {
        const double bytes = exp2(3 + i);
        hki_plot_add(&plot, "all_reduce", "openmpi", bytes, 0.7 + bytes / 5e3);
        hki_plot_add(&plot, "all_reduce", "hocket", bytes, 0.4 + bytes / 1e4);
        hki_plot_add(&plot, "gather", "hocket", bytes, 0.04 + bytes / 1e4);
    }
    hki_plot_svg(&plot, &svg);
    assert_well_formed(svg.data);
    assert_int_equal(count_of(svg.data, "<circle"), 24);
    assert_int_equal(count_of(svg.data, "class=\"title\""), 2);
    assert_int_equal(count_of(svg.data, ">openmpi<"), 1); // the legend
    assert_non_null(strstr(svg.data, "viewBox=\"0 0 920 364\""));
    assert_non_null(strstr(svg.data, ">10 us<"));
    assert_non_null(strstr(svg.data, ">10 ns<"));
    assert_non_null(strstr(svg.data, ">512K<"));
    for (const char *at = strstr(svg.data, "cx=\""); at != NULL; at = strstr(at + 1, "cx=\"")) {
        const double x = strtod(at + 4, NULL);
        const double y = strtod(strstr(at, "cy=\"") + 4, NULL);
        if (x < 0 || x > 920 || y < 44 || y > 364) {
            fail_msg("a point at %g, %g", x, y);
        }
    }
    hki_text_fini(&svg);
    hki_plot_fini(&plot);
}

static void larger_and_slower_is_further_right_and_higher(void **state)
{
    hki_plot_t plot = {0};
    hki_text_t svg = {0};

    (void)state;
    hki_plot_add(&plot, "p", "s", 8, 1);
    hki_plot_add(&plot, "p", "s", 8192, 50);
    hki_plot_svg(&plot, &svg);
    const char *first = strstr(svg.data, "cx=\"");
    const char *second = strstr(first + 1, "cx=\"");
    assert_true(strtod(second + 4, NULL) > strtod(first + 4, NULL));
    assert_true(strtod(strstr(second, "cy=\"") + 4, NULL) <
                strtod(strstr(first, "cy=\"") + 4, NULL));
    hki_text_fini(&svg);
    hki_plot_fini(&plot);
}

static void names_are_escaped_and_impossible_points_left_out(void **state)
{
    hki_plot_t plot = {0};
    hki_text_t svg = {0};

    (void)state;
    hki_plot_add(&plot, "a < b & c > d", "x&y", 8, 1);
    hki_plot_add(&plot, "q", "s", 0, 1);
    hki_plot_add(&plot, "q", "s", 8, 0);
    hki_plot_add(&plot, "q", "s", 8, NAN);
    hki_plot_add(&plot, "q", "s", HUGE_VAL, 1);
    assert_int_equal(plot.count, 1);
    hki_plot_svg(&plot, &svg);
    assert_well_formed(svg.data);
    assert_non_null(strstr(svg.data, "a &lt; b &amp; c &gt; d"));
    hki_text_fini(&svg);
    hki_plot_fini(&plot);
}

static void nothing_gives_a_picture_that_says_so(void **state)
{
    const hki_plot_t plot = {0};
    hki_text_t svg = {0};

    (void)state;
    hki_plot_svg(&plot, &svg);
    assert_well_formed(svg.data);
    assert_non_null(strstr(svg.data, "nothing was measured"));
    hki_text_fini(&svg);
}

static void what_is_beyond_the_limits_is_counted(void **state)
{
    hki_plot_t plot = {0};
    char name[16];

    (void)state;
    for (int i = 0; i < HKI_PLOT_PANELS_MAX + 2; i++) {
        (void)snprintf(name, sizeof(name), "panel %d", i);
        hki_plot_add(&plot, name, "s", 8, 1);
    }
    assert_int_equal(plot.count, HKI_PLOT_PANELS_MAX);
    assert_int_equal(plot.left_out, 2);
    hki_plot_fini(&plot);
}

static void memory_may_run_out(void **state)
{
    hki_plot_t plot = {0};

    (void)state;
    hki_alloc_fail_at(1);
    hki_plot_add(&plot, "p", "s", 8, 1);
    hki_alloc_fail_at(0);
    assert_true(plot.is_failed);
    hki_plot_fini(&plot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_point_stands_within_the_picture),
        cmocka_unit_test(larger_and_slower_is_further_right_and_higher),
        cmocka_unit_test(names_are_escaped_and_impossible_points_left_out),
        cmocka_unit_test(nothing_gives_a_picture_that_says_so),
        cmocka_unit_test(what_is_beyond_the_limits_is_counted),
        cmocka_unit_test(memory_may_run_out),
    };

    return cmocka_run_group_tests_name("tools/bench_plot", tests, NULL, NULL);
}
