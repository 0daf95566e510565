/*
 * Time against size as an SVG, written by hand: no library, no script, no font but the viewer's
 * own. Panels stand two in a row; each has its own axes, all have the same colours, and the legend
 * stands once, on top.
 */
#include "bench_plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

/* sizes in pixels */
enum {
    COLUMNS = 2,
    PANEL_W = 460,
    PANEL_H = 320,
    LEFT = 62,
    RIGHT = 14,
    TOP = 34,
    BOTTOM = 44,
    LEGEND_H = 44,
    LEGEND_W = 140,
    DECADES_MAX = 40,
};

/** Told apart by people who confuse red and green too (Okabe and Ito), and by their marks. */
static const char *const colours[HKI_PLOT_SERIES_MAX] = {
    "#0072b2", "#009e73", "#d55e00", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999",
};

/** What a panel shows: exponents of two (bytes) and of ten (microseconds). */
typedef struct axes {
    double x_low, x_high;
    double y_low, y_high;
    double left, top; /**< corner of the plotting area [pixels] */
} axes_t;

static int name_index(char (*names)[HKI_PLOT_NAME_BYTES], int *count, int most, const char *name)
{
    for (int i = 0; i < *count; i++) {
        if (strncmp(names[i], name, HKI_PLOT_NAME_BYTES - 1) == 0) {
            return i;
        }
    }
    if (*count == most) {
        return -1;
    }
    (void)snprintf(names[*count], HKI_PLOT_NAME_BYTES, "%s", name);
    return (*count)++;
}

static bool grow(hki_plot_t *plot)
{
    const size_t capacity = plot->capacity == 0 ? 64 : 2 * plot->capacity;
    hki_plot_point_t *more;

    if (plot->count < plot->capacity) {
        return true;
    }
    more = hki_calloc(capacity, sizeof(*more));
    if (more == NULL) {
        return false;
    }
    if (plot->points != NULL) {
        memcpy(more, plot->points, plot->count * sizeof(*more));
    }
    hki_free(plot->points);
    plot->points = more;
    plot->capacity = capacity;
    return true;
}

void hki_plot_add(hki_plot_t *plot, const char *panel, const char *series, double bytes, double us)
{
    if (!(bytes > 0.0) || !(us > 0.0) || !isfinite(bytes) || !isfinite(us)) {
        return;
    }
    const int p = name_index(plot->panels, &plot->panel_count, HKI_PLOT_PANELS_MAX, panel);
    const int s = name_index(plot->series, &plot->series_count, HKI_PLOT_SERIES_MAX, series);
    if (p < 0 || s < 0) {
        plot->left_out++;
        return;
    }
    if (!grow(plot)) {
        plot->is_failed = true;
        return;
    }
    plot->points[plot->count++] =
        (hki_plot_point_t){.panel = p, .series = s, .bytes = bytes, .us = us};
}

/** Text with the characters that XML takes for its own written out. */
static void add_escaped(hki_text_t *svg, const char *text)
{
    for (; *text != '\0'; text++) {
        const char *instead = *text == '&'   ? "&amp;"
                              : *text == '<' ? "&lt;"
                              : *text == '>' ? "&gt;"
                                             : NULL;
        if (instead != NULL) {
            hki_text_add(svg, "%s", instead);
        } else {
            hki_text_append(svg, text, 1);
        }
    }
}

static double x_at(const axes_t *axes, double bytes)
{
    const double width = PANEL_W - LEFT - RIGHT;

    return axes->left + width * (log2(bytes) - axes->x_low) / (axes->x_high - axes->x_low);
}

static double y_at(const axes_t *axes, double us)
{
    const double height = PANEL_H - TOP - BOTTOM;

    return axes->top + height * (axes->y_high - log10(us)) / (axes->y_high - axes->y_low);
}

/** Axes around all points of a panel, whole powers at the ends. */
static void find_axes(const hki_plot_t *plot, int panel, axes_t *axes)
{
    *axes = (axes_t){
        .x_low = HUGE_VAL,
        .x_high = -HUGE_VAL,
        .y_low = HUGE_VAL,
        .y_high = -HUGE_VAL,
        .left = (panel % COLUMNS) * PANEL_W + LEFT,
        .top = LEGEND_H + (panel / COLUMNS) * PANEL_H + TOP, // NOLINT(bugprone-integer-division)
    };
    for (size_t i = 0; i < plot->count; i++) {
        if (plot->points[i].panel == panel) {
            const double x = log2(plot->points[i].bytes);
            const double y = log10(plot->points[i].us);
            axes->x_low = fmin(axes->x_low, floor(x));
            axes->x_high = fmax(axes->x_high, ceil(x));
            axes->y_low = fmin(axes->y_low, floor(y));
            axes->y_high = fmax(axes->y_high, ceil(y));
        }
    }
    axes->x_high = fmax(axes->x_high, axes->x_low + 1.0);
    axes->y_high = fmax(axes->y_high, axes->y_low + 1.0);
}

/** "64K" for 2^16 bytes. */
static void size_name(int exponent, char name[16])
{
    static const char *const units[] = {"", "K", "M", "G", "T", "P", "E"};
    const int unit = exponent / 10 < 6 ? exponent / 10 : 6;

    (void)snprintf(name, 16, "%d%s", 1 << (exponent - 10 * unit), units[unit]);
}

/** "10 us", "1 ms" for a power of ten of microseconds. */
static void time_name(int exponent, char name[16])
{
    if (exponent >= 6) {
        (void)snprintf(name, 16, "%g s", pow(10.0, exponent - 6));
    } else if (exponent >= 3) {
        (void)snprintf(name, 16, "%g ms", pow(10.0, exponent - 3));
    } else if (exponent >= 0) {
        (void)snprintf(name, 16, "%g us", pow(10.0, exponent));
    } else {
        (void)snprintf(name, 16, "%g ns", pow(10.0, exponent + 3));
    }
}

static void add_grid(const axes_t *axes, hki_text_t *svg)
{
    const double bottom = axes->top + PANEL_H - TOP - BOTTOM;
    const double right = axes->left + PANEL_W - LEFT - RIGHT;
    const int x_step = axes->x_high - axes->x_low > 12 ? 4 : axes->x_high - axes->x_low > 6 ? 2 : 1;
    const int y_count = (int)fmin(axes->y_high - axes->y_low, DECADES_MAX);
    char name[16];

    for (int e = (int)axes->x_low; e <= (int)axes->x_high; e += x_step) {
        const double x = x_at(axes, exp2(e));
        size_name(e, name);
        hki_text_add(
            svg,
            "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n"
            "<text class=\"tick\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
            x, axes->top, x, bottom, x, bottom + 15, name);
    }
    for (int e = 0; e <= y_count; e++) {
        const double y = y_at(axes, pow(10.0, axes->y_low + e));
        time_name((int)axes->y_low + e, name);
        hki_text_add(svg,
                     "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n"
                     "<text class=\"tick\" text-anchor=\"end\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
                     axes->left, y, right, y, axes->left - 6, y + 4, name);
    }
    hki_text_add(svg,
                 "<rect class=\"frame\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n"
                 "<text class=\"tick\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">bytes</text>\n",
                 axes->left, axes->top, right - axes->left, bottom - axes->top,
                 (axes->left + right) / 2, bottom + 32);
}

/** One line with its marks; its points are joined in the order in which they were added. */
static void add_series(const hki_plot_t *plot, const axes_t *axes, int panel, int series,
                       hki_text_t *svg)
{
    hki_text_add(svg, "<polyline stroke=\"%s\" points=\"", colours[series]);
    for (size_t i = 0; i < plot->count; i++) {
        const hki_plot_point_t *point = &plot->points[i];
        if (point->panel == panel && point->series == series) {
            hki_text_add(svg, "%.1f,%.1f ", x_at(axes, point->bytes), y_at(axes, point->us));
        }
    }
    hki_text_add(svg, "\"/>\n");
    for (size_t i = 0; i < plot->count; i++) {
        const hki_plot_point_t *point = &plot->points[i];
        if (point->panel == panel && point->series == series) {
            hki_text_add(svg,
                         "<circle fill=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>%.0f bytes: "
                         "%.2f us</title></circle>\n",
                         colours[series], x_at(axes, point->bytes), y_at(axes, point->us),
                         point->bytes, point->us);
        }
    }
}

static void add_panel(const hki_plot_t *plot, int panel, hki_text_t *svg)
{
    axes_t axes;

    find_axes(plot, panel, &axes);
    hki_text_add(svg, "<text class=\"title\" x=\"%.1f\" y=\"%.1f\">", axes.left, axes.top - 10);
    add_escaped(svg, plot->panels[panel]);
    hki_text_add(svg, "</text>\n");
    add_grid(&axes, svg);
    for (int series = 0; series < plot->series_count; series++) {
        add_series(plot, &axes, panel, series, svg);
    }
}

static void add_legend(const hki_plot_t *plot, hki_text_t *svg)
{
    for (int series = 0; series < plot->series_count; series++) {
        const int x = LEFT + series * LEGEND_W;
        hki_text_add(svg,
                     "<line stroke=\"%s\" stroke-width=\"2\" x1=\"%d\" y1=\"22\" x2=\"%d\" "
                     "y2=\"22\"/>\n<text x=\"%d\" y=\"26\">",
                     colours[series], x, x + 24, x + 30);
        add_escaped(svg, plot->series[series]);
        hki_text_add(svg, "</text>\n");
    }
}

void hki_plot_svg(const hki_plot_t *plot, hki_text_t *svg)
{
    const int rows = (plot->panel_count + COLUMNS - 1) / COLUMNS;
    const int panels_w = PANEL_W * (plot->panel_count > 1 ? COLUMNS : 1);
    const int legend_w = LEFT + LEGEND_W * plot->series_count;
    const int width = panels_w > legend_w ? panels_w : legend_w;
    const int height = LEGEND_H + PANEL_H * (rows > 0 ? rows : 1);

    hki_text_add(svg,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                 "height=\"%d\">\n<title>Time of collectives against size</title>\n"
                 "<style>text{font:13px sans-serif;fill:#222}.tick{font-size:11px;fill:#555}"
                 ".title{font-weight:bold}.grid{stroke:#ddd}.frame{fill:none;stroke:#555}"
                 "polyline{fill:none;stroke-width:1.8}</style>\n"
                 "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                 width, height, width, height);
    if (plot->count == 0) {
        hki_text_add(svg, "<text x=\"%d\" y=\"%d\">nothing was measured</text>\n", LEFT, TOP);
    }
    add_legend(plot, svg);
    for (int panel = 0; panel < plot->panel_count; panel++) {
        add_panel(plot, panel, svg);
    }
    hki_text_add(svg, "</svg>\n");
}

void hki_plot_fini(hki_plot_t *plot)
{
    hki_free(plot->points);
    memset(plot, 0, sizeof(*plot));
}
