/* link: pipescope-library
 * A program that knows nothing of pipescope but its public header and its library: asks, draws, moves columns about, and checks what comes of it.
 *
 *   library_client rows PATH SQL     the rows, a line each, cells behind commas
 *   library_client form PATH WHAT FORM [OPTION...]
 *   library_client checks PATH       what must hold; the last line says how much was checked */
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pipescope/pipescope.h>

static _Atomic int n_checks; /* threads check, too */

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        n_checks++;                                                                                \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static int say_library_error(const ps_lib_error *e) {
    fprintf(stderr, "%s: %s (%s)\n", e->file, e->message, e->remedy);
    return 1;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static int is_null(const struct ArrowArray *a, int64_t row) {
    const unsigned char *bits = a->buffers[0];
    return bits != NULL && (bits[row / 8] >> row % 8 & 1) == 0;
}

/* The shortest decimals that read back as the same. */
static void print_real(double value) {
    char text[40] = "";
    for (int digits = 1; digits <= 17 && strtod(text, NULL) != value; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
    }
    printf("%s", value == 0 ? "0" : text);
}

static void print_cell(const struct ArrowSchema *type, const struct ArrowArray *a, int64_t row) {
    if (is_null(a, row)) {
        return;
    }
    if (strcmp(type->format, "l") == 0) {
        printf("%lld", (long long)((const int64_t *)a->buffers[1])[row]);
    } else if (strcmp(type->format, "g") == 0) {
        print_real(((const double *)a->buffers[1])[row]);
    } else {
        const int64_t *at = (const int64_t *)a->buffers[1] + row;
        printf("%.*s", (int)(at[1] - at[0]), (const char *)a->buffers[2] + at[0]);
    }
}

static int print_rows(ps_lib *capture, const char *sql) {
    ps_lib_error error;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray rows;
    if (ps_lib_sql(capture, sql, &stream, &error) != PS_LIB_OK) {
        return say_library_error(&error);
    }
    if (stream.get_schema(&stream, &schema) != 0 || stream.get_next(&stream, &rows) != 0) {
        return 1;
    }
    for (int64_t i = 0; i < schema.n_children; i++) {
        printf("%s%s", i > 0 ? "," : "", schema.children[i]->name);
    }
    for (int64_t row = 0; row < rows.length; row++) {
        for (int64_t i = 0; i < schema.n_children; i++) {
            printf("%c", i > 0 ? ',' : '\n');
            print_cell(schema.children[i], rows.children[i], row);
        }
    }
    printf("\n");
    rows.release(&rows);
    schema.release(&schema);
    stream.release(&stream);
    return 0;
}

/* --- forms -------------------------------------------------------------------------------------------------------- */

static int print_form(ps_lib *capture, const char *what, const char *form,
                      const char *const *options) {
    ps_lib_error error;
    ps_lib_text text;
    ps_lib_study *study = ps_lib_study_of(capture, what, options, &error);
    if (study == NULL || ps_lib_study_write(study, form, &text, &error) != PS_LIB_OK) {
        ps_lib_study_free(study);
        return say_library_error(&error);
    }
    fwrite(text.bytes, 1, text.size, stdout);
    ps_lib_text_free(&text);
    ps_lib_study_free(study);
    return 0;
}

/* --- what must hold ----------------------------------------------------------------------------------------------- */

static void check_library_errors(ps_lib *capture, const char *path) {
    ps_lib_error e;
    struct ArrowArrayStream none;
    const char *const odd[] = {"jobs=many", NULL};
    const char *const unknown[] = {"colour=red", NULL};
    const char *const no_format[] = {"format=none", NULL};
    CHECK(ps_lib_open("/none/at/all", NULL, &e) == NULL && e.code == PS_LIB_NOT_FOUND);
    CHECK(e.message[0] != '\0' && e.remedy[0] != '\0' && strstr(e.file, "/none/at/all") != NULL);
    CHECK(ps_lib_open("/none/at/all", NULL, NULL) == NULL);
    CHECK(ps_lib_open(path, odd, &e) == NULL && e.code == PS_LIB_USAGE);
    CHECK(strstr(e.message, "jobs") != NULL);
    CHECK(ps_lib_open(path, unknown, &e) == NULL && strstr(e.message, "colour") != NULL);
    CHECK(ps_lib_open(path, no_format, &e) == NULL && e.code == PS_LIB_USAGE);
    CHECK(ps_lib_sql(capture, "SELECT name\nFROM nowhere", &none, &e) == PS_LIB_USAGE);
    CHECK(none.release == NULL && strcmp(e.file, "query") == 0);
    CHECK(ps_lib_sql(capture, "SELECT rank,\n FROM slice", &none, &e) == PS_LIB_USAGE);
    CHECK(e.line == 2 && e.offset == 14);
    CHECK(ps_lib_sql(capture, "DELETE FROM slice", &none, NULL) == PS_LIB_USAGE);
    CHECK(ps_lib_study_of(capture, "weather", NULL, &e) == NULL && e.code == PS_LIB_USAGE);
    const char *const no_step[] = {"step=999999", NULL};
    CHECK(ps_lib_study_of(capture, "chart", no_step, &e) == NULL && e.code == PS_LIB_RANGE);
}

/* Children move, the rest is released before, the capture is closed: the columns stay. */
static void check_columns_outlive(const char *path) {
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray rows, moved, end;
    ps_lib *capture = ps_lib_open(path, NULL, NULL);
    CHECK(capture != NULL);
    CHECK(ps_lib_sql(capture, "SELECT 7 AS a, 'text' AS b, NULL AS c, 0.5 AS total_ns", &stream,
                     NULL) == PS_LIB_OK);
    ps_lib_close(capture);
    CHECK(stream.get_schema(&stream, &schema) == 0 && strcmp(schema.format, "+s") == 0);
    CHECK(schema.n_children == 4 && strcmp(schema.children[1]->format, "U") == 0);
    CHECK(memcmp(schema.children[3]->metadata, "\1\0\0\0\4\0\0\0unit\2\0\0\0ns", 18) == 0);
    CHECK(stream.get_next(&stream, &rows) == 0 && rows.length == 1 && rows.n_children == 4);
    CHECK(rows.children[2]->null_count == 1 && is_null(rows.children[2], 0));
    moved = *rows.children[1];
    rows.children[1]->release = NULL;
    rows.release(&rows);
    CHECK(stream.get_next(&stream, &end) == 0 && end.release == NULL);
    struct ArrowArrayStream again;
    CHECK(ps_lib_stream_again(&stream, &again, NULL) == PS_LIB_OK);
    stream.release(&stream);
    CHECK(again.get_next(&again, &rows) == 0 && rows.children[1]->buffers[2] == moved.buffers[2]);
    rows.release(&rows);
    again.release(&again);
    CHECK(ps_lib_stream_again(&stream, &again, NULL) == PS_LIB_USAGE);
    schema.release(&schema);
    CHECK(memcmp(moved.buffers[2], "text", 4) == 0 && ((const int64_t *)moved.buffers[1])[1] == 4);
    moved.release(&moved);
    CHECK(moved.release == NULL);
}

/* A study lives as long as it is held. */
static void check_library_studies(const char *path) {
    ps_lib_error e;
    ps_lib_text text;
    ps_lib *capture = ps_lib_open(path, NULL, NULL);
    ps_lib_study *study = ps_lib_study_of(capture, "chart", NULL, &e);
    CHECK(study != NULL);
    ps_lib_close(capture);
    CHECK(ps_lib_study_write(study, "svg", &text, &e) == PS_LIB_OK);
    CHECK(strncmp(text.bytes, "<svg", 4) == 0 && strlen(text.bytes) == text.size);
    ps_lib_text_free(&text);
    CHECK(ps_lib_study_write(study, "pdf", &text, &e) == PS_LIB_UNSUPPORTED && text.bytes == NULL);
    CHECK(strstr(e.message, "svg") != NULL);
    int n = 0;
    for (const char *name = NULL; (name = ps_lib_study_table_name(study, (size_t)n)) != NULL; n++) {
        struct ArrowArrayStream rows;
        CHECK(ps_lib_study_table(study, name, &rows, &e) == PS_LIB_OK);
        rows.release(&rows);
    }
    CHECK(n > 0);
    ps_lib_study_free(study);
}

static void *count_slices(void *of) {
    for (int i = 0; i < 4; i++) {
        struct ArrowArrayStream rows;
        struct ArrowArray batch;
        CHECK(ps_lib_sql(of, "SELECT count(*) FROM slice", &rows, NULL) == PS_LIB_OK);
        CHECK(rows.get_next(&rows, &batch) == 0 && batch.length == 1);
        batch.release(&batch);
        rows.release(&rows);
    }
    return NULL;
}

static void *stop_soon(void *of) {
    const struct timespec tenth = {.tv_nsec = 100000000};
    (void)nanosleep(&tenth, NULL);
    ps_lib_stop(of);
    return NULL;
}

static const char ENDLESS[] =
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";

static void check_library_threads(const char *path) {
    ps_lib *captures[] = {ps_lib_open(path, NULL, NULL), ps_lib_open(path, NULL, NULL)};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        CHECK(pthread_create(&threads[i], NULL, count_slices, captures[i % 2]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    ps_lib_error e;
    struct ArrowArrayStream none;
    CHECK(pthread_create(threads, NULL, stop_soon, captures[0]) == 0);
    CHECK(ps_lib_sql(captures[0], ENDLESS, &none, &e) == PS_LIB_ENDED);
    (void)pthread_join(threads[0], NULL);
    count_slices(captures[0]); /* the next one runs as usual */
    ps_lib_close(captures[0]);
    ps_lib_close(captures[1]);
    const char *const second[] = {"timeout=1", NULL};
    ps_lib *hurried = ps_lib_open(path, second, NULL);
    CHECK(ps_lib_sql(hurried, ENDLESS, &none, &e) == PS_LIB_ENDED && e.remedy[0] != '\0');
    ps_lib_close(hurried);
}

static void *count_long(void *of) {
    struct ArrowArrayStream rows;
    struct ArrowArray batch;
    CHECK(ps_lib_sql(of,
                     "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < "
                     "3000000) SELECT count(*) FROM c",
                     &rows, NULL) == PS_LIB_OK);
    CHECK(rows.get_next(&rows, &batch) == 0);
    CHECK(((const int64_t *)batch.children[0]->buffers[1])[0] == 3000000);
    batch.release(&batch);
    rows.release(&rows);
    return NULL;
}

/* The call ends as usual, and what it used is given back then. */
static void check_close_while_it_runs(const char *path) {
    const struct timespec tenth = {.tv_nsec = 100000000};
    ps_lib *capture = ps_lib_open(path, NULL, NULL);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, count_long, capture) == 0);
    (void)nanosleep(&tenth, NULL);
    ps_lib_close(capture);
    (void)pthread_join(thread, NULL);
}

static int run_checks(ps_lib *capture, const char *path) {
    struct ArrowArrayStream rows;
    CHECK(ps_lib_interface() >= PS_LIB_INTERFACE && ps_lib_version()[0] != '\0');
    CHECK(ps_lib_ranks(capture, &rows, NULL) == PS_LIB_OK);
    rows.release(&rows);
    CHECK(ps_lib_tables(capture, &rows, NULL) == PS_LIB_OK);
    rows.release(&rows);
    const char *const columns[] = {"rank", "dur_ns", NULL};
    const int64_t ranks[] = {0, 2};
    struct ArrowArray batch;
    CHECK(ps_lib_table(capture, "slice", columns, ranks, 2, &rows, NULL) == PS_LIB_OK);
    CHECK(rows.get_next(&rows, &batch) == 0 && batch.n_children == 2 && batch.length > 0);
    CHECK(((const int64_t *)batch.children[0]->buffers[1])[batch.length - 1] == 2);
    batch.release(&batch);
    rows.release(&rows);
    CHECK(ps_lib_table(capture, "nowhere", NULL, NULL, 0, &rows, NULL) == PS_LIB_USAGE);
    CHECK(ps_lib_notes(capture, &rows, NULL) == PS_LIB_OK);
    rows.release(&rows);
    check_library_errors(capture, path);
    check_columns_outlive(path);
    check_library_studies(path);
    check_library_threads(path);
    check_close_while_it_runs(path);
    ps_lib_close(NULL);
    ps_lib_study_free(NULL);
    ps_lib_text_free(NULL);
    printf("%d checks\n", n_checks);
    return 0;
}

int main(int argc, char **argv) {
    (void)setlocale(LC_ALL, "");
    if (argc < 3) {
        return 2;
    }
    ps_lib_error error;
    ps_lib *capture = ps_lib_open(argv[2], NULL, &error);
    if (capture == NULL) {
        return say_library_error(&error);
    }
    int status = strcmp(argv[1], "rows") == 0 && argc > 3 ? print_rows(capture, argv[3])
                 : strcmp(argv[1], "form") == 0 && argc > 4
                     ? print_form(capture, argv[3], argv[4], (const char *const *)argv + 5)
                     : run_checks(capture, argv[2]);
    ps_lib_close(capture);
    return status;
}
