/* The report as text, JSON and page: what every one of them must keep, whatever the profile holds. */
#include "support/report_run.h"

#include <string.h>

#include "base/alloc.h"
#include "base/literal.h"
#include "base/utf8.h"
#include "write/report/report_view.h"

/* A report with findings of all sections but the pipeline's, and names that mean something elsewhere. */
static void make(report_run *o, ps_report_view *view) {
    rig r = rig_begin(1000);
    (void)rig_kernel(&r, "MatMul<b>&\"x\"\x1b[31m", "4,4", 0, 2, 400);
    (void)rig_kernel(&r, "Add", "4,4", 595, 600, 900);
    (void)rig_comm(&r, "hcom_allReduce__1_0_1", 900, 1000, 250064);
    (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::item", 300, 590);
    ps_trace *t = rig_seal(&r);
    report_over(o, &t, 1, NULL, NULL);
    assert_int_equal(o->code, PS_OK);
    *view = (ps_report_view){.title = "a <title> & \"more\"",
                             .n_ranks = 1,
                             .n_steps = 1,
                             .step_ns = 998 * US,
                             .findings = report_table(o, "findings"),
                             .evidence = report_table(o, "evidence"),
                             .sections = report_table(o, "sections"),
                             .overview = report_table(o, "overview"),
                             .kernels = report_table(o, "kernels"),
                             .pipeline = -1};
    assert_true(view->findings->n_rows >= 4);
}

static ps_table *report_table_to_change(report_run *run, const char *name) {
    for (size_t i = 0; i < run->result.n_tables; i++) {
        if (strcmp(run->result.tables[i]->name, name) == 0) {
            return run->result.tables[i];
        }
    }
    return NULL;
}

static void text_fits_the_terminal(void **state) {
    (void)state;
    static const uint32_t WIDTHS[] = {60, 80, 100, 140};
    report_run o;
    ps_report_view view;
    make(&o, &view);
    for (size_t i = 0; i < sizeof WIDTHS / sizeof *WIDTHS; i++) {
        ps_buf out;
        ps_buf_init(&out, 0);
        ps_text_style style = {.width = WIDTHS[i], .utf8 = true};
        assert_int_equal(ps_write_report_text(&view, &style, &out, NULL), PS_OK);
        for (const char *line = ps_buf_str(&out); *line != '\0';) {
            size_t n = strcspn(line, "\n");
            if (ps_utf8_columns(line, n) > WIDTHS[i]) {
                fail_msg("wider than %u: %.*s", WIDTHS[i], (int)n, line);
            }
            line += n + (line[n] == '\n');
        }
        assert_null(strchr(ps_buf_str(&out), '\x1b'));
        assert_non_null(strstr(ps_buf_str(&out), "The device waits for the host"));
        assert_non_null(strstr(ps_buf_str(&out), "Nothing says that the ranks are"));
        ps_buf_fini(&out);
    }
    report_fini(&o);
}

/* A place is rounded to the microsecond, as lengths are: 37.8779 ms is 37.878, also before the start. */
static void places_are_rounded(void **state) {
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } CASES[] = {{37877900, " 37.878 "},
                 {37877499, " 37.877 "},
                 {-37877900, "-37.878 "},
                 {999500, " 1.000 "}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        report_run o;
        ps_report_view view;
        make(&o, &view);
        ps_table *evidence = report_table_to_change(&o, "evidence");
        for (size_t r = 0; r < evidence->n_rows; r++) {
            evidence->cells[r * evidence->n_columns + ps_table_column(evidence, "from start")] =
                (ps_value){.u = {.i = CASES[i].ns}};
        }
        ps_buf out;
        ps_buf_init(&out, 0);
        ps_text_style style = {.width = 100, .utf8 = true};
        assert_int_equal(ps_write_report_text(&view, &style, &out, NULL), PS_OK);
        assert_non_null(strstr(ps_buf_str(&out), CASES[i].text));
        ps_buf_fini(&out);
        report_fini(&o);
    }
}

static void text_has_colours_when_asked(void **state) {
    (void)state;
    report_run o;
    ps_report_view view;
    make(&o, &view);
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_text_style style = {.width = 100, .utf8 = true, .colours = PS_COLOURS_256};
    assert_int_equal(ps_write_report_text(&view, &style, &out, NULL), PS_OK);
    assert_non_null(strstr(ps_buf_str(&out), "\x1b[1m"));
    assert_null(strstr(ps_buf_str(&out), "\x1b[31m")); /* that of the kernel's name */
    ps_buf_fini(&out);
    report_fini(&o);
}

static void json_is_json(void **state) {
    (void)state;
    report_run o;
    ps_report_view view;
    make(&o, &view);
    ps_buf out;
    ps_arena arena;
    ps_arena_init(&arena);
    ps_buf_init(&out, 0);
    assert_int_equal(ps_write_report_json(&view, &out, NULL), PS_OK);
    const ps_literal *doc = ps_literal_parse(&arena, ps_buf_str(&out), out.len, NULL);
    assert_non_null(doc);
    assert_string_equal(ps_literal_str(ps_literal_get(doc, "format")), "pipescope-report");
    assert_string_equal(ps_literal_str(ps_literal_get(doc, "title")), view.title);
    assert_null(ps_literal_get(doc, "device_times"));
    assert_null(ps_view_silence(&view, 0));
    const ps_literal *said = ps_literal_get(doc, "sections")->child;
    assert_string_equal(ps_literal_str(ps_literal_get(said, "section")), "compute");
    assert_string_equal(ps_literal_str(ps_literal_get(said, "said")), ps_view_silence(&view, 1));
    said = said->next;
    assert_string_equal(ps_literal_str(ps_literal_get(said, "section")), "communication");
    assert_string_equal(ps_literal_str(ps_literal_get(said, "said")), ps_view_silence(&view, 2));
    size_t n = 0;
    for (const ps_literal *f = ps_literal_get(doc, "findings")->child; f != NULL; f = f->next) {
        assert_non_null(ps_literal_get(f, "rule"));
        assert_non_null(ps_literal_get(f, "gain_ns"));
        assert_non_null(ps_literal_get(f, "evidence"));
        n++;
    }
    assert_int_equal(n, view.findings->n_rows);
    const ps_literal *first =
        ps_literal_get(ps_literal_get(doc, "findings")->child, "evidence")->child;
    int64_t at = 0;
    assert_true(ps_literal_int(ps_literal_get(first, "at_ns"), &at));
    assert_int_equal(at, REPORT_EPOCH_NS + 400 * US);
    ps_buf_fini(&out);
    ps_arena_fini(&arena);
    report_fini(&o);
}

static void page_needs_nothing_else(void **state) {
    (void)state;
    report_run o;
    ps_report_view view;
    make(&o, &view);
    ps_buf out;
    ps_buf_init(&out, 0);
    assert_int_equal(ps_write_report_html(&view, &out, NULL), PS_OK);
    const char *page = ps_buf_str(&out);
    static const char *const NEVER[] = {
        "<script",   "src=", "http:", "https:", "<link", "@import", "<title> & \"more\"",
        "MatMul<b>", "\x1b"};
    for (size_t i = 0; i < sizeof NEVER / sizeof *NEVER; i++) {
        if (strstr(page, NEVER[i]) != NULL) {
            fail_msg("the page holds %s", NEVER[i]);
        }
    }
    assert_non_null(strstr(page, "default-src 'none'"));
    assert_non_null(strstr(page, "prefers-color-scheme:dark"));
    assert_non_null(strstr(page, "a &lt;title&gt; &amp; &quot;more&quot;"));
    assert_non_null(strstr(page, "MatMul&lt;b&gt;&amp;&quot;x&quot;"));
    ps_buf_fini(&out);
    report_fini(&o);
}

static void out_of_memory(void **state) {
    (void)state;
    report_run o;
    ps_report_view view;
    make(&o, &view);
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        ps_buf out;
        ps_err err = PS_ERR_INIT;
        ps_text_style style = {.width = 80, .utf8 = true};
        ps_buf_init(&out, 0);
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_write_report_text(&view, &style, &out, &err);
        code = code == PS_OK ? ps_write_report_json(&view, &out, &err) : code;
        code = code == PS_OK ? ps_write_report_html(&view, &out, &err) : code;
        done = ps_alloc_fail_at(-1) <= n;
        assert_int_equal(code, done ? PS_OK : PS_NOMEM);
        ps_buf_fini(&out);
    }
    report_fini(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_fits_the_terminal),      cmocka_unit_test(places_are_rounded),
        cmocka_unit_test(text_has_colours_when_asked), cmocka_unit_test(json_is_json),
        cmocka_unit_test(page_needs_nothing_else),     cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
