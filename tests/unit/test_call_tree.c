/* The call tree, on traces small enough to see it: who is below whom, whose time is whose, and that it adds up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/modules/call_tree.h"
#include "analyze/views/view_calls.h"
#include "base/alloc.h"
#include "support/asks.h"
#include "support/small_runs.h"

static void flow(ps_builder *b, uint32_t from, uint32_t to, const char *kind) {
    ps_builder_flow_of(b, from, to, ps_builder_str(b, kind, strlen(kind)));
}

/*   thread 1: ProfilerStep#1 [0 100], the range of step 1
 *               a [10 60]: launch [20 30], b [35 55]     a [70 90 + more]
 *   stream 7:   k [100 140] by launch in a, l [140 150] by b, lost [160 165] by nothing
 * Own times of the host: step 100 - 50 - (20 + more), a 50 - 10 - 20 and 20 + more, launch 10, b 20: 100 in all. */
static ps_trace *make(int64_t more) {
    ps_builder *b = ps_builder_new();
    assert_non_null(b);
    uint32_t host = small_thread(b, 1);
    uint32_t stream = small_stream(b, 7);
    small_step(b, 1, 0, 100);
    (void)small_slice(b, PS_SLICE_ANNOTATION, host, "ProfilerStep#1", 0, 100);
    (void)small_slice(b, PS_SLICE_HOST_OP, host, "a", 10, 60);
    uint32_t launch = small_slice(b, PS_SLICE_CALL, host, "launch", 20, 30);
    uint32_t inner = small_slice(b, PS_SLICE_HOST_OP, host, "b", 35, 55);
    (void)small_slice(b, PS_SLICE_HOST_OP, host, "a", 70, 90 + more);
    uint32_t k = small_slice(b, PS_SLICE_KERNEL, stream, "k", 100, 140);
    uint32_t l = small_slice(b, PS_SLICE_KERNEL, stream, "l", 140, 150);
    (void)small_slice(b, PS_SLICE_KERNEL, stream, "lost", 160, 165);
    flow(b, launch, k, "HostToDevice");
    flow(b, inner, l, "async_npu");
    return small_seal(b);
}

/* node|parent|depth|name|kind|host total|self|device total|self|number|longest|its start|its rank */
static void from_the_top_and_the_bottom(void **state) {
    (void)state;
    ps_trace *t = make(0);
    small_run run;
    small_run_mode(&run, "call_tree", &t, 1, NULL);
    small_expect(&run, "CallTree",
                 "0|NULL|0|(all)|all|100|0|55|0|0|NULL|NULL|NULL\n"
                 "1|0|1|step|step|100|30|50|0|1|100|1700000000000000000|0\n"
                 "2|1|2|a|op|70|40|50|0|2|50|1700000000000000010|0\n"
                 "5|2|3|k|kernel|0|0|40|40|1|40|1700000000000000100|0\n"
                 "4|2|3|b|op|20|20|10|0|1|20|1700000000000000035|0\n"
                 "6|4|4|l|kernel|0|0|10|10|1|10|1700000000000000140|0\n"
                 "3|2|3|launch|call|10|10|0|0|1|10|1700000000000000020|0\n"
                 "7|0|1|(launched by nothing known)|unknown|0|0|5|0|0|NULL|NULL|NULL\n"
                 "8|7|2|lost|kernel|0|0|5|5|1|5|1700000000000000160|0\n");
    /* Of each name its own time, which is none of its callers', and below it from whose calls it came. */
    small_expect(&run, "CallTreeCallees",
                 "0|NULL|0|(all)|all|100|0|55|0|0|NULL|NULL|NULL\n"
                 "10|0|1|k|kernel|0|0|40|40|1|40|1700000000000000100|0\n"
                 "11|10|2|a|op|0|0|40|0|1|40|1700000000000000100|0\n"
                 "12|11|3|step|step|0|0|40|0|1|40|1700000000000000100|0\n"
                 "13|0|1|l|kernel|0|0|10|10|1|10|1700000000000000140|0\n"
                 "14|13|2|b|op|0|0|10|0|1|10|1700000000000000140|0\n"
                 "15|14|3|a|op|0|0|10|0|1|10|1700000000000000140|0\n"
                 "16|15|4|step|step|0|0|10|0|1|10|1700000000000000140|0\n"
                 "17|0|1|lost|kernel|0|0|5|5|1|5|1700000000000000160|0\n"
                 "18|17|2|(launched by nothing known)|unknown|0|0|5|0|1|5|1700000000000000160|0\n"
                 "2|0|1|a|op|40|40|0|0|2|50|1700000000000000010|0\n"
                 "3|2|2|step|step|40|0|0|0|2|50|1700000000000000010|0\n"
                 "1|0|1|step|step|30|30|0|0|1|100|1700000000000000000|0\n"
                 "7|0|1|b|op|20|20|0|0|1|20|1700000000000000035|0\n"
                 "8|7|2|a|op|20|0|0|0|1|20|1700000000000000035|0\n"
                 "9|8|3|step|step|20|0|0|0|1|20|1700000000000000035|0\n"
                 "4|0|1|launch|call|10|10|0|0|1|10|1700000000000000020|0\n"
                 "5|4|2|a|op|10|0|0|0|1|10|1700000000000000020|0\n"
                 "6|5|3|step|step|10|0|0|0|1|10|1700000000000000020|0\n");
    assert_null(small_table(&run, "CallTreeModules"));
    small_run_fini(&run);
    ps_trace_free(t);
}

/* thread 1: p [0 20], a [0 10] in it with c [7 9], and b [8 15], which begins in both and outlasts them: from 8 on the time is b's. */
static void what_crosses_counts_once(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    assert_non_null(b);
    uint32_t host = small_thread(b, 1);
    (void)small_slice(b, PS_SLICE_HOST_OP, host, "p", 0, 20);
    (void)small_slice(b, PS_SLICE_HOST_OP, host, "a", 0, 10);
    (void)small_slice(b, PS_SLICE_HOST_OP, host, "c", 7, 9);
    (void)small_slice(b, PS_SLICE_HOST_OP, host, "b", 8, 15);
    ps_trace *t = small_seal(b);
    small_run run;
    small_run_mode(&run, "call_tree", &t, 1, NULL);
    small_expect(&run, "CallTree",
                 "0|NULL|0|(all)|all|20|0|0|0|0|NULL|NULL|NULL\n"
                 "1|0|1|p|op|20|5|0|0|1|20|1700000000000000000|0\n"
                 "2|1|2|a|op|8|7|0|0|1|10|1700000000000000000|0\n"
                 "3|2|3|c|op|1|1|0|0|1|2|1700000000000000007|0\n"
                 "4|1|2|b|op|7|7|0|0|1|7|1700000000000000008|0\n");
    small_run_fini(&run);
    ps_trace_free(t);
}

/* Two ranks are one tree, with the rank of the longest; one step alone has no more than began in it or was launched in it. */
static void of_ranks_and_steps(void **state) {
    (void)state;
    ps_trace *t[] = {make(0), make(7)};
    small_run run;
    small_run_mode(&run, "call_tree", t, 2, NULL);
    const ps_table *table = small_table(&run, "CallTree");
    assert_int_equal(table->n_rows, 9);
    size_t total = ps_table_column(table, "hostTotalNs");
    size_t self = ps_table_column(table, "hostSelfNs");
    assert_int_equal(ps_table_cell(table, 0, total)->u.i, 200);
    assert_int_equal(ps_table_cell(table, 2, self)->u.i, 40 + 47);
    int64_t sum = 0;
    for (size_t i = 0; i < table->n_rows; i++) {
        sum += ps_table_cell(table, i, self)->u.i;
    }
    assert_int_equal(sum, 200);
    small_run_fini(&run);
    const ps_analysis_opts none = {.step_id = 2};
    small_run_mode(&run, "call_tree", t, 2, &none);
    assert_int_equal(run.map_codes[0], PS_NOTHING);
    small_run_fini(&run);
    const ps_analysis_opts turned = {
        .step_id = -1, .from_ns = SMALL_EPOCH_NS + 60, .to_ns = SMALL_EPOCH_NS + 20};
    small_run_mode(&run, "call_tree", t, 2, &turned); /* ends before it begins */
    assert_int_equal(run.map_codes[0], PS_NOTHING);
    small_run_fini(&run);
    const ps_analysis_opts first = {.step_id = 1};
    small_run_mode(&run, "call_tree", t, 2, &first);
    table = small_table(&run, "CallTree");
    assert_int_equal(ps_table_cell(table, 0, total)->u.i, 200);
    assert_int_equal(ps_table_cell(table, 0, ps_table_column(table, "deviceTotalNs"))->u.i, 110);
    small_run_fini(&run);
    ps_trace_free(t[0]);
    ps_trace_free(t[1]);
}

/* Modules M [0 100] > N [10 60]: op p [20 40] in N launched k, op q [70 80] in M launched l; op r on no module's time launched m. */
static void by_modules(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    assert_non_null(b);
    uint32_t host = small_thread(b, 1);
    uint32_t stream = small_stream(b, 7);
    (void)small_slice(b, PS_SLICE_PYTHON, host, "nn.Module: M_0", 0, 100);
    (void)small_slice(b, PS_SLICE_PYTHON, host, "nn.Module: N_0", 10, 60);
    uint32_t p = small_slice(b, PS_SLICE_HOST_OP, host, "p", 20, 40);
    uint32_t q = small_slice(b, PS_SLICE_HOST_OP, host, "q", 70, 80);
    uint32_t r = small_slice(b, PS_SLICE_HOST_OP, host, "r", 110, 120);
    flow(b, p, small_slice(b, PS_SLICE_KERNEL, stream, "k", 100, 140), "async_npu");
    flow(b, q, small_slice(b, PS_SLICE_KERNEL, stream, "l", 140, 150), "async_npu");
    flow(b, r, small_slice(b, PS_SLICE_KERNEL, stream, "m", 160, 165), "async_npu");
    ps_trace *t = small_seal(b);
    small_run run;
    small_run_mode(&run, "call_tree", &t, 1, NULL);
    const ps_table *table = small_table(&run, "CallTreeModules");
    assert_non_null(table);
    char text[2048] = "";
    for (size_t i = 0; i < table->n_rows; i++) {
        size_t used = strlen(text);
        (void)snprintf(
            text + used, sizeof text - used, "%*s%s %s %lld %lld\n",
            (int)ps_table_cell(table, i, ps_table_column(table, "level"))->u.i, "",
            ps_table_cell(table, i, ps_table_column(table, "name"))->u.text,
            ps_table_cell(table, i, ps_table_column(table, "kind"))->u.text,
            (long long)ps_table_cell(table, i, ps_table_column(table, "hostTotalNs"))->u.i,
            (long long)ps_table_cell(table, i, ps_table_column(table, "deviceTotalNs"))->u.i);
    }
    assert_string_equal(text, "(all) all 110 55\n"
                              " M_0 module 100 50\n"
                              "  N_0 module 50 40\n"
                              "   forward pass 50 40\n"
                              "    p op 20 40\n"
                              "     k kernel 0 40\n"
                              "  forward pass 50 10\n"
                              "   q op 10 10\n"
                              "    l kernel 0 10\n"
                              " (outside of modules) unknown 10 5\n"
                              "  r op 10 5\n"
                              "   m kernel 0 5\n");
    small_run_fini(&run);
    ps_trace_free(t);
}

/* --- of a box ----------------------------------------------------------------------------------------------------------- */

/* The figure behind a key in a reply. */
static long long figure(const char *reply, const char *key) {
    const char *at = strstr(reply, key);
    assert_non_null(at);
    return strtoll(at + strlen(key), NULL, 10);
}

static void as_the_statistics_of_the_box(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make(0));
    /* Lane 0 is the thread, lane 1 the stream. Of the span 20 to 80: step 60 - 40 - 10, a 40 - 10 - 20 and 10, launch 10, b 20. */
    const char *reply = ask(&a, "/api/stats?rank=r0&lanes=0&from=20&to=80");
    expect_in(reply, "[\"ProfilerStep#1\",60,60,10,");
    expect_in(reply, "[\"a\",50,50,20,");
    expect_in(reply, "[\"launch\",10,10,10,");
    expect_in(reply, "[\"b\",20,20,20,");
    reply = ask(&a, "/api/call_tree?rank=r0&lanes=0&from=20&to=80");
    expect_in(reply, ",\"all\",60,0,0,0,");
    expect_in(reply, "\"step\",\"step\",60,10,0,0,1,");
    expect_in(reply, "\"a\",\"op\",50,20,0,0,2,");
    expect_in(reply, "\"launch\",\"call\",10,10,");
    expect_in(reply, "\"b\",\"op\",20,20,");
    expect_not_in(reply, "\"kernel\"");
    /* Kernels have their launch above them, whatever lanes the box has. */
    reply = ask(&a, "/api/stats?rank=r0&lanes=1&from=120&to=163");
    assert_int_equal(figure(reply, "\"wall_ns\":"), 20 + 10 + 3);
    reply = ask(&a, "/api/call_tree?rank=r0&lanes=1&from=120&to=163");
    expect_in(reply, ",\"all\",0,0,33,0,");
    expect_in(reply, "\"a\",\"op\",0,0,30,0,0,");
    expect_in(reply, "\"k\",\"kernel\",0,0,20,20,1,");
    /* Without lanes the whole rank, as the view has it. */
    expect_in(ask(&a, "/api/call_tree?rank=r0"), ",\"all\",100,0,55,0,");
    expect_in(ask(&a, "/api/view?name=calls&rank=r0"), ",\"all\",100,0,55,0,");
    /* A step, as --step_id has it. */
    expect_in(ask(&a, "/api/call_tree?rank=r0&step_id=1"), ",\"all\",100,0,55,0,");
    (void)ask_fails(&a, 409, "/api/call_tree?rank=r0&step_id=2");
    expect_in(ask(&a, "/api/view?name=calls&rank=r0&from=20&to=80"), ",\"all\",60,0,0,0,");
    asks_end(&a);
}

static void the_slices_of_a_node(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make(0));
    const char *reply = ask(&a, "/api/call_tree?rank=r0&node=2");
    assert_int_equal(figure(reply, "\"total\":"), 2);
    expect_in(reply, "[\"a\",10,50,");
    expect_in(reply, "[\"a\",70,20,");
    /* From the bottom: a itself; b below l. */
    reply = ask(&a, "/api/call_tree?rank=r0&by=callees&node=2");
    assert_int_equal(figure(reply, "\"total\":"), 2);
    reply = ask(&a, "/api/call_tree?rank=r0&by=callees&node=14");
    assert_int_equal(figure(reply, "\"total\":"), 1);
    expect_in(reply, "[\"l\",140,10,");
    expect_in(ask(&a, "/api/call_tree?rank=r0&node=99"), "\"total\":0,");
    (void)ask_fails(&a, 400, "/api/call_tree?rank=r0&by=colour");
    (void)ask_fails(&a, 400, "/api/call_tree?rank=r0&lanes=99");
    expect_in(ask_fails(&a, 409, "/api/call_tree?rank=r0&by=modules"), "module");
    expect_in(ask_fails(&a, 409, "/api/call_tree?rank=r0&from=300&to=400"), "record the activity");
    expect_in(ask(&a, "/api/call_tree?rank=r0&by=modules&nothing=1"), "{\"nothing\":\"");
    (void)ask_fails(&a, 400, "/api/call_tree?rank=r0&lanes=99&nothing=1");
    asks_end(&a);
}

/* --- sizes and memory ------------------------------------------------------------------------------------------------------ */

/* 3,000 names of 1 ns beside one of 100,000,000 ns: they are one row, and nothing is lost. */
static void what_is_small_is_one_row(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    assert_non_null(b);
    uint32_t host = small_thread(b, 1);
    for (int64_t i = 0; i < 3000; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%d", (int)i);
        (void)small_slice(b, PS_SLICE_HOST_OP, host, name, i, i + 1);
    }
    (void)small_slice(b, PS_SLICE_HOST_OP, host, "large", 5000, 100005000);
    ps_trace *t = small_seal(b);
    small_run run;
    small_run_mode(&run, "call_tree", &t, 1, NULL);
    const ps_table *table = small_table(&run, "CallTree");
    assert_int_equal(table->n_rows, 3);
    small_expect(&run, "CallTree",
                 "0|NULL|0|(all)|all|100003000|0|0|0|0|NULL|NULL|NULL\n"
                 "3001|0|1|large|op|100000000|100000000|0|0|1|100000000|1700000000000005000|0\n"
                 "3002|0|1|(others)|others|3000|3000|0|0|3000|NULL|NULL|NULL\n");
    small_run_fini(&run);
    ps_trace_free(t);
}

static void memory_runs_out(void **state) {
    (void)state;
    ps_trace *t[] = {make(0), make(7)};
    small_run_without_memory("call_tree", t, 2);
    ps_links links;
    assert_int_equal(ps_links_init(&links, t[0], NULL), PS_OK);
    uint32_t node_of[16];
    for (int64_t i = 0;; i++) {
        const ps_call_ask ask = {
            .links = &links, .span = PS_ASKED_ALL, .step = -1, .node_of = node_of};
        ps_call_tree tree = {0};
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(i);
        ps_code code = ps_view_calls_build(&ask, "callees", &tree, &err);
        ps_table *table = code == PS_OK ? ps_view_calls_table(&tree, PS_ENGLISH, &err) : NULL;
        (void)ps_alloc_fail_at(-1);
        ps_call_tree_fini(&tree);
        ps_table_free(table);
        if (table != NULL) {
            assert_true(i > 10);
            break;
        }
        assert_int_equal(err.code, PS_NOMEM);
    }
    ps_links_fini(&links);
    ps_trace_free(t[0]);
    ps_trace_free(t[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_the_top_and_the_bottom),  cmocka_unit_test(what_crosses_counts_once),
        cmocka_unit_test(of_ranks_and_steps),           cmocka_unit_test(by_modules),
        cmocka_unit_test(as_the_statistics_of_the_box), cmocka_unit_test(the_slices_of_a_node),
        cmocka_unit_test(what_is_small_is_one_row),     cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
