/**
 * @file bench_plot.h
 * @brief Time against size, log-log, one panel a collective, as an SVG picture.
 */
#ifndef HKI_TOOLS_HOCKET_BENCH_PLOT_H
#define HKI_TOOLS_HOCKET_BENCH_PLOT_H

#include "base/text.h"

enum { HKI_PLOT_PANELS_MAX = 64, HKI_PLOT_SERIES_MAX = 8, HKI_PLOT_NAME_BYTES = 64 };

typedef struct hki_plot_point {
    int panel;
    int series;
    double bytes;
    double us;
} hki_plot_point_t;

/** Zero it to begin; end it with hki_plot_fini(). A builder: it keeps the first failure. */
typedef struct hki_plot {
    char panels[HKI_PLOT_PANELS_MAX][HKI_PLOT_NAME_BYTES];
    char series[HKI_PLOT_SERIES_MAX][HKI_PLOT_NAME_BYTES]; /**< one colour each, in all panels */
    int panel_count;
    int series_count;
    hki_plot_point_t *points; /**< (count,), owned */
    size_t count;
    size_t capacity;
    bool is_failed; /**< memory ran out */
    int left_out;   /**< points of panels or series beyond the limits */
} hki_plot_t;

/** One point. Those that a logarithm cannot show (bytes or us not above 0) are left out. */
void hki_plot_add(hki_plot_t *plot, const char *panel, const char *series, double bytes, double us);

/** The picture. Without points: a picture that says so. */
void hki_plot_svg(const hki_plot_t *plot, hki_text_t *svg);

void hki_plot_fini(hki_plot_t *plot);

#endif /* HKI_TOOLS_HOCKET_BENCH_PLOT_H */
