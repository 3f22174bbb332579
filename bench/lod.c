/* Levels of detail of one track: lod [SLICES]
 *
 * Two tracks in turn. "kernels": slices one after the other in one row, in stretches from a few ns to a few ms apart and
 * with long ones between. "calls": calls within calls, in 12 rows, as a host thread has them. For each: the time to build the
 * index, the bytes of columns and index a slice, and how long a view of 2,000 pixels takes (the two or three tiles that cover
 * it) at every level, at places chosen at random. A view costs its rows, each of which is drawn in full: the bar of 1 ms is
 * for one. Fails when the 99th of 100 views misses it, or the bytes miss 48. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "model/lod.h"

enum { DEFAULT_SLICES = 5000000, VIEWS = 400, VIEW_PX = 2000 };

#define BAR_MS 1.0
#define BAR_BYTES 48.0

static double now_s(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int64_t below(ps_rng *rng, int64_t n) {
    return (int64_t)ps_rng_below(rng, (uint64_t)n);
}

static void add(ps_builder *b, uint32_t track, ps_str name, int64_t start, int64_t end) {
    if (ps_builder_slice(b, PS_SLICE_KERNEL, track, name, start, end, 0) == PS_NONE) {
        fprintf(stderr, "lod: no memory for so many slices\n");
        exit(1);
    }
}

static void add_kernels(ps_builder *b, uint32_t track, ps_str name, uint32_t n) {
    static const int64_t APART_NS[] = {1000, 30, 200000, 5000, 2, 3000000};
    ps_rng rng = ps_rng_seed(1);
    int64_t now = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t apart = APART_NS[i / 70000 % 6];
        int64_t dur = 1 + below(&rng, below(&rng, 100) == 0 ? 50 * apart : apart);
        add(b, track, name, now, now + dur);
        now += dur + below(&rng, apart);
    }
}

/* Operators of 1 to 12 levels. */
static void add_calls(ps_builder *b, uint32_t track, ps_str name, uint32_t n) {
    ps_rng rng = ps_rng_seed(2);
    int64_t now = 0;
    for (uint32_t i = 0; i < n;) {
        int64_t depth = 1 + below(&rng, 12);
        int64_t length = 2000 + below(&rng, 30000);
        for (int64_t d = 0; d < depth && i < n; d++, i++) {
            add(b, track, name, now + d * 60, now + length - d * 60);
        }
        now += length + below(&rng, 5000);
    }
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Median of how long the coverage of a view takes, in ms. */
static double cover(ps_lod *lod, unsigned level, int64_t span_ns) {
    static double took[VIEWS];
    ps_rng rng = ps_rng_seed(level);
    for (int i = 0; i < VIEWS; i++) {
        int64_t first = below(&rng, (span_ns >> level) + 1);
        double start = now_s();
        for (int64_t tile = first >> 10; tile <= (first + VIEW_PX) >> 10; tile++) {
            uint8_t out[PS_LOD_TILE];
            if (ps_lod_coverage(lod, (uint32_t[]){0}, 1, level, tile, out, NULL) != PS_OK) {
                exit(1);
            }
        }
        took[i] = 1e3 * (now_s() - start);
    }
    qsort(took, VIEWS, sizeof *took, compare);
    return took[VIEWS / 2];
}

/* Median and p99 of a level's views in ms; entries of the largest. */
static void look(ps_lod *lod, unsigned level, int64_t span_ns, double *median, double *p99,
                 size_t *most) {
    static double took[VIEWS];
    ps_rng rng = ps_rng_seed(level);
    ps_lod_entries entries = {0};
    *most = 0;
    for (int i = 0; i < VIEWS; i++) {
        int64_t first = below(&rng, (span_ns >> level) + 1);
        double start = now_s();
        entries.n = 0;
        for (int64_t tile = first >> 10; tile <= (first + VIEW_PX) >> 10; tile++) {
            if (ps_lod_tile(lod, 0, level, tile, &entries, NULL) != PS_OK) {
                exit(1);
            }
        }
        took[i] = 1e3 * (now_s() - start);
        *most = entries.n > *most ? entries.n : *most;
    }
    ps_lod_entries_fini(&entries);
    qsort(took, VIEWS, sizeof *took, compare);
    *median = took[VIEWS / 2];
    *p99 = took[VIEWS - 1 - VIEWS / 100];
}

static bool measure(const char *what, uint32_t n,
                    void (*fill)(ps_builder *, uint32_t, ps_str, uint32_t)) {
    ps_builder *b = ps_builder_new();
    uint32_t track = ps_builder_track(b, (ps_track){.kind = PS_TRACK_STREAM, .tid = 7});
    fill(b, track, ps_builder_str(b, "aten::mm", 8), n);
    ps_trace *t = ps_builder_seal(b, NULL);
    uint32_t *lane_of = calloc(n, sizeof *lane_of);
    if (t == NULL || lane_of == NULL) {
        fprintf(stderr, "lod: no memory for so many slices\n");
        exit(1);
    }
    double start = now_s();
    ps_lod *lod = ps_lod_new(t, lane_of, 1, NULL);
    double grouped = now_s();
    if (lod == NULL || ps_lod_build(lod, 0, NULL) != PS_OK) {
        exit(1);
    }
    double built = now_s();
    free(lane_of);
    int64_t first = 0;
    int64_t end = 0;
    (void)ps_lod_span(lod, 0, &first, &end);
    double columns = 0;
#define X(type, col) columns += sizeof(type);
    PS_SLICE_COLS(X)
#undef X
    double bytes = columns + (double)ps_lod_bytes(lod) / n;
    printf("%s: %" PRIu32 " slices, %" PRIu32
           " rows, %.3g s long; grouped in %.2f s, built in %.2f s\n",
           what, n, ps_lod_n_rows(lod, 0), 1e-9 * (double)end, grouped - start, built - grouped);
    printf("columns and index: %.2f bytes a slice (bar: %.0f)\n", bytes, BAR_BYTES);
    printf("%8s %12s %10s %10s %10s %12s\n", "level", "bucket_ns", "median_ms", "p99_ms", "entries",
           "coverage_ms");
    double worst_median = 0;
    double worst = 0;
    for (unsigned level = 0; level == 0 || end >> (level - 1) > VIEW_PX / 2; level++) {
        double median = 0;
        double p99 = 0;
        size_t most = 0;
        look(lod, level, end, &median, &p99, &most);
        printf("%8u %12" PRId64 " %10.3f %10.3f %10zu %12.3f\n", level, INT64_C(1) << level, median,
               p99, most, cover(lod, level, end));
        worst_median = median > worst_median ? median : worst_median;
        worst = p99 > worst ? p99 : worst;
    }
    uint32_t n_rows = ps_lod_n_rows(lod, 0);
    printf("worst: median %.3f ms, p99 %.3f ms; for a row of %u: %.3f ms (bar: %.0f ms)\n\n",
           worst_median, worst, n_rows, worst / n_rows, BAR_MS);
    ps_lod_free(lod);
    ps_trace_free(t);
    return bytes <= BAR_BYTES && worst / n_rows <= BAR_MS;
}

int main(int argc, char **argv) {
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : DEFAULT_SLICES;
    if (n == 0) {
        fprintf(stderr, "usage: lod [SLICES]\n");
        return 1;
    }
    bool kernels = measure("kernels", n, add_kernels);
    bool calls = measure("calls", n, add_calls);
    if (!kernels || !calls) {
        fprintf(stderr, "lod: a bar is missed\n");
        return 1;
    }
    return 0;
}
