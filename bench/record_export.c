/* How fast a recording becomes a database: `record_export [RANGES [DIR]]`. A recording of that many ranges (default 1,000,000; 4
 * threads, 64 texts, every second range on a stream) is made in memory or, with DIR, as the files of an output folder, and
 * exported. Printed: seconds of the processor, which tell more on a busy machine; then, last, rows, seconds, rows a second
 * (bench/record.sh reads that line). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "record/export/export.h"

enum { RINGS = 4, TEXTS = 64 };

typedef struct out {
    char *bytes;
    size_t n, cap;
} out;

static void add(out *o, const void *bytes, size_t n) {
    if (o->n + n > o->cap) {
        o->cap = 2 * (o->n + n);
        o->bytes = realloc(o->bytes, o->cap);
        if (o->bytes == NULL) {
            abort();
        }
    }
    memcpy(o->bytes + o->n, bytes, n);
    o->n += n;
}

static void add_slot(out *o, ps_slot slot) {
    add(o, &slot, sizeof slot);
}

static void add_text(out *o, uint8_t kind, uint64_t id, const char *text) {
    char behind[128] = "";
    size_t n = strlen(text);
    memcpy(behind, text, n);
    size_t n_more = (n + sizeof(ps_slot) - 1) / sizeof(ps_slot);
    add_slot(o, (ps_slot){.kind = kind, .id = id, .aux = n, .n_more = (uint8_t)n_more});
    add(o, behind, n_more * sizeof(ps_slot));
}

/* One ring's slots: definitions, then ranges one behind the other, two deep. */
static void make_ring(out *o, unsigned ring, uint64_t n_ranges) {
    add_text(o, PS_REC_THREAD, 100 + ring, "worker");
    for (unsigned i = 1; i <= TEXTS; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "{'name': 'forward_step', 'microbatch': %u}", i);
        add_text(o, PS_REC_TEXT, i, text);
    }
    uint64_t ticks = 1000;
    for (uint64_t i = 0; i < n_ranges; i++) {
        uint64_t id = i * RINGS + ring + 1;
        uint64_t stream = i % 2;
        id = stream != 0 ? ((id & (PS_RANGE_ON_DEVICE - 1)) | PS_RANGE_ON_DEVICE) : id;
        add_slot(o, (ps_slot){.kind = PS_REC_RANGE_START,
                              .ticks = ticks += 200,
                              .id = id,
                              .aux = stream,
                              .text = (uint32_t)(i % TEXTS) + 1});
        add_slot(o, (ps_slot){.kind = PS_REC_RANGE_END,
                              .ticks = ticks += 800,
                              .id = id,
                              .domain = PS_DOMAIN_ANY});
    }
}

static void add_block(out *spool, unsigned ring, const out *slots) {
    ps_block_header b = {
        .magic = PS_BLOCK_MAGIC, .ring = ring, .n_slots = slots->n / sizeof(ps_slot)};
    add(spool, &b, sizeof b);
    add(spool, slots->bytes, slots->n);
}

static double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void must(ps_code code, const ps_err *err) {
    if (code != PS_OK) {
        (void)fprintf(stderr, "record_export: %s\n", err->msg);
        exit(1);
    }
}

int main(int argc, char **argv) {
    uint64_t n_ranges = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    const char *given = argc > 2 ? argv[2] : NULL;
    char own[] = "/tmp/ps_bench_XXXXXX";
    const char *dir = given != NULL ? given : mkdtemp(own);
    out spool = {.n = 0};
    ps_spool_header h = {
        .magic = PS_SPOOL_MAGIC, .format = PS_RECORD_FORMAT, .pid = 1234, .session = 1};
    add(&spool, &h, sizeof h);
    for (unsigned ring = 0; ring <= RINGS; ring++) {
        out slots = {.n = 0};
        if (ring == 0) {
            add_slot(&slots, (ps_slot){.kind = PS_REC_ANCHOR, .id = 1700000000000000000u});
        } else {
            make_ring(&slots, ring, n_ranges / RINGS);
        }
        add_block(&spool, ring, &slots);
        free(slots.bytes);
    }
    ps_capture *c = NULL;
    ps_err err = PS_ERR_INIT;
    double begun = now();
    clock_t cpu = clock();
    if (given != NULL) {
        char path[4096];
        (void)mkdir(dir, 0750);
        (void)snprintf(path, sizeof path, "%s/FRAMEWORK", dir);
        (void)mkdir(path, 0750);
        (void)snprintf(path, sizeof path, "%s/FRAMEWORK/events.spool", dir);
        FILE *f = fopen(path, "wb");
        if (f == NULL || fwrite(spool.bytes, 1, spool.n, f) != spool.n || fclose(f) != 0) {
            perror(path);
            return 1;
        }
        (void)snprintf(path, sizeof path, "%s/FRAMEWORK", dir);
        begun = now();
        must(ps_capture_read(path, &c, &err), &err);
    } else {
        must(ps_capture_read_memory(spool.bytes, spool.n, &c, &err), &err);
    }
    double read = now();
    ps_export_result r;
    must(ps_export_capture(c, dir, NULL, &r, &err), &err);
    double end = now();
    double cpu_s = (double)(clock() - cpu) / CLOCKS_PER_SEC;
    (void)printf("of the processor: %.2f s, %.0f rows a second of them\n", cpu_s,
                 (double)r.n_rows / cpu_s);
    (void)printf("%-28s %12s %9s %9s %12s\n", "recording", "rows", "read s", "write s", "rows/s");
    char what[64];
    (void)snprintf(what, sizeof what, "%llu ranges", (unsigned long long)r.n_ranges);
    (void)printf("%-28s %12llu %9.2f %9.2f %12.0f\n", what, (unsigned long long)r.n_rows,
                 read - begun, end - read, (double)r.n_rows / (end - begun));
    ps_capture_free(c);
    free(spool.bytes);
    if (given == NULL) {
        char command[64];
        (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
        return system(command) == 0 ? 0 : 1;
    }
    return 0;
}
