/* A program of someone else, built against an installation: opens a profile and counts its rows, records a range. Says both. */
#include <pipescope/pipescope.h>
#include <pipescope/record.h>
#include <stdio.h>

static int count_rows(const char *path, int64_t *n) {
    ps_lib_error error;
    struct ArrowArrayStream rows;
    ps_lib *capture = ps_lib_open(path, NULL, &error);
    if (capture == NULL ||
        ps_lib_sql(capture, "SELECT id FROM slice", &rows, &error) != PS_LIB_OK) {
        fprintf(stderr, "%s: %s\n", error.file, error.message);
        ps_lib_close(capture);
        return 1;
    }
    struct ArrowArray batch = {0};
    while (rows.get_next(&rows, &batch) == 0 && batch.release != NULL) {
        *n += batch.length;
        batch.release(&batch);
    }
    rows.release(&rows);
    ps_lib_close(capture);
    return 0;
}

int main(int argc, char **argv) {
    int64_t n = 0;
    if (argc != 2 || count_rows(argv[1], &n) != 0) {
        return 1;
    }
    uint64_t range = 0;
    if (ps_record_start() == PS_RECORD_OK) {
        range = ps_record_range_start(NULL, "consumer", PS_RECORD_HOST_STREAM);
        ps_record_range_end(range);
        ps_record_stop();
    }
    printf("%s %s %lld rows, range %s\n", ps_lib_version(), ps_record_version(), (long long)n,
           range != 0 ? "recorded" : "lost");
    return 0;
}
