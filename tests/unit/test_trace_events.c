/* The scanner of trace-event JSON: what each form and each fault of a document becomes, and that it becomes the same
 * whatever the size of the blocks, the number of threads and the instructions used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "support/events_dump.h"
#include "support/sanitized.h"

static const char *const NO_KEYS[] = {NULL};
static const char *const SOME_KEYS[] = {"k", "long key with blanks", NULL};
static const ps_event_schema ALL = {.all_args = true};
static const ps_event_schema NONE = {.wanted = NO_KEYS};
static const ps_event_schema SOME = {.wanted = SOME_KEYS};

static ps_diag diag; /* some 30 kB */

/* --- the same in every way ----------------------------------------------------------------------------- */

static void dump(events_dump *d, const char *text, size_t n, const ps_event_schema *schema,
                 ps_event_tuning tuning) {
    ps_buf_init(&d->out, 0);
    (void)dump_document(d, text, n, schema, &tuning, &diag);
    assert_true(ps_buf_ok(&d->out));
}

static void expect_same(const char *text, size_t n, const ps_event_schema *schema,
                        const char *expected, ps_event_tuning tuning) {
    events_dump d;
    dump(&d, text, n, schema, tuning);
    if (strcmp(expected, ps_buf_str(&d.out)) != 0) {
        print_message("blocks of %zu, %zu threads, simd %d\n", tuning.block_bytes, tuning.n_threads,
                      (int)tuning.simd);
        assert_string_equal(expected, ps_buf_str(&d.out));
    }
    ps_buf_fini(&d.out);
}

/* Reads the document the long way in one block, then in every other way, which must give the same. Under the thread sanitizer only
 * by several threads (a single one has nobody to race with) and by the quick list of blocks: it is the threads that it judges. */
static void check_schema(const char *text, size_t n, const ps_event_schema *schema, bool quick) {
    static const size_t BLOCKS[] = {1, 2, 3, 16, 65, 200, 1000};
    static const ps_simd SIMDS[] = {PS_SIMD_PLAIN, PS_SIMD_AVX2, PS_SIMD_NEON, PS_SIMD_BEST};
    events_dump d;
    quick = PS_ROUNDS(quick, true);
    dump(&d, text, n, schema, (ps_event_tuning){.simd = PS_SIMD_NONE, .n_threads = 1});
    for (size_t i = PS_ROUNDS(0, 4); i < 4; i++) {
        expect_same(text, n, schema, ps_buf_str(&d.out),
                    (ps_event_tuning){.n_threads = 1, .simd = SIMDS[i]});
    }
    for (size_t i = quick ? 4 : 0; i < sizeof BLOCKS / sizeof *BLOCKS; i++) {
        for (size_t n_threads = PS_ROUNDS(1, 3); n_threads <= 4; n_threads += quick ? 2 : 1) {
            expect_same(text, n, schema, ps_buf_str(&d.out),
                        (ps_event_tuning){.block_bytes = BLOCKS[i], .n_threads = n_threads});
        }
    }
    ps_buf_fini(&d.out);
}

static void check_ways(const char *text, size_t n) {
    check_schema(text, n, &ALL, false);
    check_schema(text, n, &NONE, false);
    check_schema(text, n, &SOME, false);
}

/* --- single documents ---------------------------------------------------------------------------------- */

/* The phases and names of the events, then members, then what is odd: "X:a i:b base=3 | bad-json 1 @21". */
static void summarise(const char *dumped, ps_buf *out) {
    char line[4096];
    const char *at = dumped;
    while (*at != '\0') {
        const char *end = strchr(at, '\n');
        size_t n = (size_t)(end - at);
        assert_true(n < sizeof line);
        memcpy(line, at, n);
        line[n] = '\0';
        at = end + 1;
        int ph = 0;
        char *name = strstr(line, " name=\"");
        if (sscanf(line, "event at=%*u ph=%d", &ph) == 1) {
            ps_buf_addf(out, "%c:%.*s ", ph != 0 ? ph : '0', (int)strcspn(name + 7, "\""),
                        name + 7);
        } else if (strncmp(line, "events=", 7) == 0) {
            ps_buf_addf(out, "%s", strstr(line, "cut=1") != NULL ? "cut" : "whole");
        } else if (strncmp(line, "  arg", 5) != 0) {
            ps_buf_addf(out, "%s; ", line);
        }
    }
}

static void expect(const char *text, const char *expected) {
    events_dump d;
    ps_buf summary;
    ps_buf_init(&summary, 0);
    dump(&d, text, strlen(text), &ALL, (ps_event_tuning){.n_threads = 1});
    summarise(ps_buf_str(&d.out), &summary);
    assert_string_equal(ps_buf_str(&summary), expected);
    ps_buf_fini(&summary);
    ps_buf_fini(&d.out);
    check_ways(text, strlen(text));
}

#define A "{\"ph\":\"X\",\"name\":\"a\"}"
#define B "{\"ph\":\"i\",\"name\":\"b\"}"

static void forms(void **state) {
    (void)state;
    expect("[]", "whole");
    expect(" \n[ ] ", "whole");
    expect("\xEF\xBB\xBF[" A "]", "X:a whole");
    expect("[" A "," B "]", "X:a i:b whole");
    expect("{\"traceEvents\":[" A "],\"base\":3}", "X:a member \"base\" \"3\"; whole");
    expect(" { \"v\" : {\"x\":[1,\"]}\"]} , \"traceEvents\" : [ " A " ] } ",
           "member \"v\" \"{%22x%22:[1,%22]}%22]}\"; X:a whole");
    expect("{\"trace\\u0045vents\":[" A "]}", "X:a whole");
    expect("{\"a\":\"b\\\"}\",\"c\":-1.5e3,\"traceEvents\":[],\"d\":null}",
           "member \"a\" \"%22b\\%22}%22\"; member \"c\" \"-1.5e3\"; member \"d\" \"null\"; whole");
}

static void neither_form(void **state) {
    (void)state;
    expect("", "failed 4 at 0: the file is empty; ");
    expect(" \n ", "failed 4 at 3: the file is empty; ");
    expect("hello", "failed 4 at 0: neither an array of events nor an object that holds one; ");
    expect(" 17", "failed 4 at 1: neither an array of events nor an object that holds one; ");
    expect("{}", "failed 4 at 2: the object holds no traceEvents; ");
    expect("{\"a\":1} ", "member \"a\" \"1\"; failed 4 at 8: the object holds no traceEvents; ");
    expect("[[1,2,3,4],[5,6,7,8]]", "failed 4 at 1: the first element of the array is no event; ");
    expect("{\"traceEvents\":null}",
           "member \"traceEvents\" \"null\"; failed 4 at 20: the object holds no traceEvents; ");
}

static void ends(void **state) {
    (void)state;
    expect("[", "odd missing-bracket 1, byte 1; whole");
    expect("[" A, "X:a odd missing-bracket 1, byte 22; whole");
    expect("[" A ",\n", "X:a odd missing-bracket 1, byte 24; whole");
    expect("{\"traceEvents\":[" A "]", "X:a odd missing-bracket 1, byte 38; whole");
    expect("{\"traceEvents\":[" A ",", "X:a odd truncated 1, byte 38; cut");
    expect("{\"traceEvents\":[" A "],\"b", "X:a odd truncated 1, byte 39; cut");
    expect("{\"traceEvents\":[" A "],\"b\":[1,", "X:a odd truncated 1, byte 46; cut");
    expect("{\"a\":\"", "odd truncated 1, byte 6; cut");
    static const char WHOLE[] = "{\"ph\":\"X\",\"name\":\"z\",\"args\":{\"k\":[1,{\"q\":2.5}]}";
    for (size_t n = 1; n < sizeof WHOLE; n += PS_ROUNDS(1, 5)) {
        char text[128];
        (void)snprintf(text, sizeof text, "[" A ",%.*s", (int)n, WHOLE);
        expect(text, "X:a odd truncated 1, byte 23; cut");
    }
}

static void behind_the_end(void **state) {
    (void)state;
    expect("[" A "] x", "X:a odd trailing-bytes 1, byte 24; whole");
    expect("[" A "][" B "]", "X:a odd trailing-bytes 1, byte 23; whole");
    expect("{\"traceEvents\":[]}}", "odd trailing-bytes 1, byte 18; whole");
}

static void commas(void **state) {
    (void)state;
    expect("[" A ",]", "X:a odd dangling-comma 1, byte 23; whole");
    expect("[{\"ph\":\"X\",\"name\":\"a\" , }]", "X:a odd dangling-comma 1, byte 24; whole");
    expect("[{\"ph\":\"X\",\"args\":{\"k\":1,},\"name\":\"a\"}]",
           "X:a odd dangling-comma 1, byte 25; whole");
    expect("[{\"ph\":\"X\",\"args\":{\"k\":[1,],\"l\":{\"m\":[],}},\"name\":\"a\"}]",
           "X:a odd dangling-comma 2, byte 23, byte 32; whole");
    expect("{\"traceEvents\":[],}", "odd dangling-comma 1, byte 18; whole");
    expect("[" A ",\n," B "]", "X:a i:b odd bad-json 1, byte 24; whole");
    expect("[," A "]", "X:a odd bad-json 1, byte 1; whole");
    expect("[" A B "]", "X:a i:b odd bad-json 1, byte 22; whole");
    expect("[" A ",5,null," B "]", "X:a i:b odd event-without-field 2, byte 23, byte 25; whole");
}

/* What is broken is left out; the next thing that is certainly an event is read. */
static void broken_events(void **state) {
    (void)state;
    expect("[{\"ph\":\"X\",\"name\":\"a\"b\"}," B "]", "i:b odd bad-json 1, byte 21; whole");
    expect("[{\"ph\":\"X\",\"name\":\"a\"b\",\"c\":{}," B "," A "]",
           "i:b X:a odd bad-json 1, byte 21; whole");
    expect("[{\"ph\":\"X\",\"args\":{\"k\":\"a \"b\" c\"}}," B "]",
           "i:b odd bad-json 1, byte 27; whole");
    expect("[{\"ph\":\"X\",\"args\":{\"k\":[{\"x\":1},{\"y\":2}],\"l\":tru}}," B "]",
           "i:b odd bad-json 1, byte 45; whole");
    expect("[" A ",{]," B "]", "X:a i:b odd bad-json 1, byte 24; whole");
    expect("[" A " what " B "," A "]", "X:a X:a odd bad-json 1, byte 23; whole");
    expect("[" A ",undefined," B "]", "X:a i:b odd bad-json 1, byte 23; whole");
    expect("[{'ph':'X'}," B "]", "i:b odd bad-json 1, byte 2; whole");
}

/* The last event is broken: the end of the array is told from brackets inside it by what follows. */
static void broken_at_the_end(void **state) {
    (void)state;
    expect("[" A ",{\"name\":\"a\"b\"}]", "X:a odd bad-json 1, byte 34; whole");
    expect("{\"traceEvents\":[{\"name\":\"a\"b\",\"k\":[1]}],\"base\":3}",
           "member \"base\" \"3\"; odd bad-json 1, byte 27; whole");
    expect("{\"traceEvents\":[{\"name\":\"a\"b\",\"k\":[1],\"l\":2}]}",
           "odd bad-json 1, byte 27; whole");
    expect("{\"traceEvents\":[{\"name\":\"a\"b\",\"k\":[1],\"l\":2",
           "odd bad-json 1, byte 27; odd truncated 1, byte 43; cut");
}

static void broken_outer_object(void **state) {
    (void)state;
    expect("{\"a\":1 \"b\":2, \"traceEvents\" : [" A "]}",
           "member \"a\" \"1\"; X:a odd bad-json 1, byte 7; whole");
    expect("{a:1, \"traceEvents\":3, \"traceEvents\":[" A "]}",
           "X:a odd bad-json 1, byte 1; whole");
    expect("{\"traceEvents\":[" A "] oops}", "X:a odd bad-json 1, byte 39; whole");
    expect("{\"traceEvents\":[" A "],\"traceEvents\":[" B "]}",
           "X:a i:b odd duplicate-key 1, byte 53; whole");
}

/* A name with a zero byte is no other name. */
static void zero_bytes_in_names(void **state) {
    (void)state;
    expect("{\"traceEvents\":[" A "],\"traceEvents\\u0000x\":[" B
           "],\"base\\u0000x\":1,\"base\":3}",
           "X:a member \"base\" \"3\"; odd bad-text 2, byte 60, byte 98; whole");
}

/* Allocations made while the parts are read with `n` blanks between them. */
static int64_t read_with_blanks(const char *const *parts, size_t n) {
    ps_buf b;
    ps_buf summary;
    events_dump d;
    ps_buf_init(&b, 0);
    ps_buf_init(&summary, 0);
    ps_buf_add_str(&b, parts[0]);
    ps_buf_add_fill(&b, ' ', n);
    ps_buf_add_str(&b, parts[1]);
    assert_true(ps_buf_ok(&b));
    (void)ps_alloc_fail_at(-1);
    dump(&d, b.data, b.len, &ALL, (ps_event_tuning){.block_bytes = 1000, .n_threads = 1});
    int64_t n_allocations = ps_alloc_fail_at(-1);
    summarise(ps_buf_str(&d.out), &summary);
    assert_string_equal(ps_buf_str(&summary), parts[2]);
    ps_buf_fini(&d.out);
    ps_buf_fini(&summary);
    ps_buf_fini(&b);
    return n_allocations;
}

/* White space is passed as it comes: nothing grows with it. */
static void blanks_of_any_length(void **state) {
    (void)state;
    static const char *const PARTS[][3] = {
        {"{\"traceEvents\":[" A "],\"a\"", ":1,\"b\":2}",
         "X:a member \"a\" \"1\"; member \"b\" \"2\"; whole"},
        {"{\"traceEvents\":[" A "],\"a\":", "1}", "X:a member \"a\" \"1\"; whole"},
        {"{\"traceEvents\":[" A "]", ",\"a\":1}", "X:a member \"a\" \"1\"; whole"},
        {"{\"a\"b,\"traceEvents\"", ":[" A "]}", "X:a odd bad-json 1, byte 4; whole"},
        {"{\"a\"b,\"traceEvents\":", "[" A "]}", "X:a odd bad-json 1, byte 4; whole"}};
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        int64_t n_few = read_with_blanks(PARTS[i], (size_t)1 << 13);
        assert_int_equal(read_with_blanks(PARTS[i], (size_t)1 << 20), n_few);
    }
}

/* --- single events ------------------------------------------------------------------------------------- */

/* `members` of one event: what its dump says from "ts=" on, and the oddities. */
static void expect_event(const char *members, const char *expected) {
    char text[4096];
    events_dump d;
    (void)snprintf(text, sizeof text, "[{\"ph\":\"X\",%s}]", members);
    dump(&d, text, strlen(text), &ALL, (ps_event_tuning){.n_threads = 1});
    const char *from = strstr(ps_buf_str(&d.out), expected);
    if (from == NULL) {
        assert_string_equal(ps_buf_str(&d.out), expected);
    }
    ps_buf_fini(&d.out);
    check_ways(text, strlen(text));
}

static void times(void **state) {
    (void)state;
    expect_event("\"ts\":12", " flags=1 ts=12000 ");
    expect_event("\"ts\":\"1736408883688177.930\"", " flags=4001 ts=1736408883688177930 ");
    expect_event("\"ts\":1712195495519703.772", " ts=1712195495519703772 ");
    expect_event("\"ts\":0", " flags=1 ts=0 ");
    expect_event("\"ts\":-1.5", " ts=-1500 ");
    expect_event("\"ts\":1.5e3,\"dur\":25E-1", " flags=3 ts=1500000 dur=2500 ");
    expect_event("\"ts\":\" 7\\t\"", "odd bad-number 1, byte 17");
    expect_event("\"ts\":\" 7 \"", " ts=7000 ");
    expect_event("\"dur\":\"3.25\"", " flags=2 ts=0 dur=3250 ");
    expect_event("\"ts\":9223372036854775.807", " ts=9223372036854775807 ");
    expect_event("\"ts\":9223372036854775.808", "odd bad-number 1, byte 16");
    expect_event("\"ts\":1e400", " flags=0 ts=0 ");
    expect_event("\"ts\":0e999999999999999999999", " flags=1 ts=0 ");
    expect_event("\"ts\":1e-999999999999999999999", " flags=1 ts=0 ");
    expect_event("\"ts\":null,\"dur\":true", "odd bad-number 1, byte 27");
    expect_event("\"ts\":NaN,\"dur\":-Infinity", "odd bad-number 2, byte 16, byte 26");
    expect_event("\"ts\":[1]", "odd bad-text 1, byte 16");
    expect_event("\"ts\":\"soon\"", " flags=0 ts=0 ");
    expect_event("\"ts\":007", "odd bad-number 1, byte 16");
}

/* Half a nanosecond goes to the even one. */
static void rounding(void **state) {
    (void)state;
    expect_event("\"ts\":0.0005", " ts=0 ");
    expect_event("\"ts\":0.0015", " ts=2 ");
    expect_event("\"ts\":0.0025", " ts=2 ");
    expect_event("\"ts\":0.00250000000000000000001", " ts=3 ");
    expect_event("\"ts\":0.00249999999999999999999", " ts=2 ");
    expect_event("\"ts\":0.0035", "odd time-rounded 1, byte 16");
    expect_event("\"dur\":79089.52021875", " dur=79089520 ");
    expect_event("\"dur\":2.1500000000000004", " dur=2150 ");
    expect_event("\"dur\":0.99999999", " dur=1000 ");
    expect_event("\"ts\":1.5000000000000", "events=1 bytes");
    expect_event("\"ts\":-0.0015", " ts=-2 ");
    expect_event("\"ts\":9223372036854775.8075", "odd bad-number 1, byte 16");
}

static void owners(void **state) {
    (void)state;
    expect_event("\"pid\":3096504,\"tid\":0", " flags=c ts=0 dur=0 pid=3096504 tid=0 ");
    expect_event("\"pid\":-1,\"tid\":-9223372036854775808", " pid=-1 tid=-9223372036854775808 ");
    expect_event("\"pid\":\"Spans\",\"tid\":\"\"", " flags=3c ts=0 dur=0 pid=\"Spans\" tid=\"\" ");
    expect_event("\"pid\":12.0,\"tid\":12.5", " flags=2c ts=0 dur=0 pid=12 tid=\"12.5\" ");
    expect_event("\"pid\":9223372036854775808,\"tid\":-9223372036854775809",
                 " flags=3c ts=0 dur=0 pid=\"9223372036854775808\" tid=\"-9223372036854775809\" ");
    expect_event("\"pid\":1e300,\"tid\":NaN", " flags=14 ts=0 dur=0 pid=\"1e300\" tid=0 ");
    expect_event("\"pid\":null,\"tid\":false", "odd bad-number 1, byte 28");
}

static void ids(void **state) {
    (void)state;
    expect_event("\"id\":17", " flags=40 ts=0 dur=0 pid=0 tid=0 id=0:11 ");
    expect_event("\"id\":\"17\"", " flags=40 ts=0 dur=0 pid=0 tid=0 id=0:11 ");
    expect_event("\"id\":\"0x11\"", " flags=40 ts=0 dur=0 pid=0 tid=0 id=0:11 ");
    expect_event("\"id\":1736408883838670090", " id=0:1818f6ae1209550a ");
    expect_event("\"id\":\"40004068119343529983\"", " id=2:2b2b0000ffffffff ");
    expect_event("\"id\":40004068119343529983", " id=2:2b2b0000ffffffff ");
    expect_event("\"id\":\"99999999999999999999999999999999999999\"", " flags=40 ");
    expect_event("\"id\":\"100000000000000000000000000000000000000\"", " flags=c0 ");
    expect_event("\"id\":\"0xffffffffffffffffffffffffffffffff\"",
                 " id=ffffffffffffffff:ffffffffffffffff ");
    expect_event("\"id\":\"007\"", " flags=c0 ts=0 dur=0 pid=0 tid=0 id=\"007\" ");
    expect_event("\"id\":-1", " id=\"-1\" ");
    expect_event("\"id\":\"\"", " flags=c0 ");
    expect_event("\"id\":1.5", " id=\"1.5\" ");
    expect_event("\"id\":\"a\\u0062\"", " id=\"ab\" ");
    expect_event("\"id\":null", " flags=0 ");
    expect_event("\"id2\":{\"local\":\"0x5\"}", " flags=140 ts=0 dur=0 pid=0 tid=0 id=0:5 ");
    expect_event("\"id2\":{\"global\":7,\"x\":[1]}", " flags=40 ts=0 dur=0 pid=0 tid=0 id=0:7 ");
    expect_event("\"id2\":{\"local\":[5]}", "odd bad-text 1, byte 26");
    expect_event("\"bind_id\":\"0xab\",\"flow_in\":true,\"flow_out\":false", " flags=1400 ");
    expect_event("\"bind_id\":\"ab\",\"flow_in\":0,\"flow_out\":1", " flags=2c00 ");
    expect_event("\"bp\":\"e\",\"s\":\"g\",\"scope\":\"sc\"", " flags=200 ");
}

static void names(void **state) {
    (void)state;
    expect_event("\"name\":\"\\u00e9\\n\\\"\\/\\\\\"", " name=\"%c3%a9%0a%22/\\\" ");
    expect_event("\"name\":\"\\ud83d\\ude00\"", " name=\"%f0%9f%98%80\" ");
    expect_event("\"name\":\"\\ud83dx\"", " name=\"%ef%bf%bdx\" ");
    expect_event("\"name\":\"\\ud83dx\"", "odd bad-utf8 1, byte 19");
    expect_event("\"name\":\"a\xFF"
                 "b\"",
                 " name=\"a%ef%bf%bdb\" ");
    expect_event("\"name\":\"a\xFF"
                 "b\",\"cat\":\"a\xFF"
                 "b\"",
                 "odd bad-utf8 2, byte 19, byte 31");
    expect_event("\"name\":\"C:\\python\\x\"", " name=\"C:\\python\\x\" ");
    expect_event("\"name\":\"C:\\python\\x\"", "odd bad-text 1, byte 19");
    expect_event("\"name\":\"a\nb\x01\"", " name=\"a%0ab%01\" ");
    expect_event("\"name\":5,\"cat\":true", " name=\"5\" cat=\"true\" ");
    expect_event("\"name\":null", " name=\"\" ");
    expect_event("\"name\":{}", "odd bad-text 1, byte 18");
    expect_event("\"n\\u0061me\":\"x\"", " name=\"x\" ");
    expect_event("\"ph\":\"ab\"", "event at=1 ph=0 ");
    expect_event("\"ph\":\"(\"", "event at=1 ph=40 ");
    expect_event("\"name\":\"a\",\"name\":\"b\"", " name=\"b\" ");
    expect_event("\"name\":\"a\",\"name\":\"b\"", "odd duplicate-key 1, byte 23");
}

static void args(void **state) {
    (void)state;
    expect_event("\"args\":{\"k\":1,\"l\":-0,\"m\":9223372036854775807}",
                 "  arg key=\"k\" int=1\n  arg key=\"l\" int=0\n"
                 "  arg key=\"m\" int=9223372036854775807\n");
    expect_event("\"args\":{\"k\":9223372036854775808}", " number=\"9223372036854775808\"\n");
    expect_event("\"args\":{\"k\":1e400}", " number=\"1e400\"\n");
    expect_event("\"args\":{\"k\":0.1,\"l\":-0.0,\"m\":1e2}",
                 " real=3fb999999999999a\n  arg key=\"l\" real=8000000000000000\n"
                 "  arg key=\"m\" real=4059000000000000\n");
    expect_event("\"args\":{\"k\":2.1500000000000004}", " real=4001333333333334\n");
    expect_event("\"args\":{\"k\":true,\"l\":false,\"m\":null}",
                 " bool=1\n  arg key=\"l\" bool=0\n  arg key=\"m\" null\n");
    expect_event("\"args\":{\"k\":NaN,\"l\":+1,\"m\":.5,\"n\":nan,\"o\":-inf}",
                 "odd bad-number 5, byte 23, byte 31, byte 38");
    expect_event("\"args\":{\"k\":\"\",\"\":\"v\"}", " str=\"\"\n  arg key=\"\" str=\"v\"\n");
    expect_event("\"args\":{\"k\":1,\"l\":2,\"k\":\"v\"}",
                 "  arg key=\"k\" str=\"v\"\n  arg key=\"l\" int=2\n");
    expect_event("\"args\":{\"k\":1,\"\\u006b\":2}", "odd duplicate-key 1, byte 26");
    expect_event("\"args\":{\"k\":1},\"args\":{\"l\":2}", " s=0\n  arg key=\"l\" int=2\n");
    expect_event("\"args\":null", "events=1");
    expect_event("\"args\":[]", "odd bad-text 1, byte 18");
    expect_event("\"args\":\"x\"", "odd bad-text 1, byte 19");
    expect_event("\"args\":\"{\"", "odd bad-text 1, byte 19");
    expect_event("\"args\":\"{}", "odd truncated 1, byte 1");
}

/* Values inside args stay JSON text, such that every reader takes it. */
static void nested_args(void **state) {
    (void)state;
    expect_event("\"args\":{\"k\":[[4,8], [ ]]}", " json=\"[[4,8],%20[%20]]\"\n");
    expect_event("\"args\":{\"k\":{\"a\":\"}{\\\"\"}}", " json=\"{%22a%22:%22}{\\%22%22}\"\n");
    expect_event("\"args\":{\"k\":[1,],\"l\":{\"a\":NaN , }}",
                 " json=\"[1]\"\n  arg key=\"l\" json=\"{%22a%22:null%20%20}\"\n");
    expect_event("\"args\":{\"k\":[\"a\x01\xFF\\q\"]}",
                 " json=\"[%22a\\u0001%ef%bf%bd\\\\q%22]\"\n");
    expect_event("\"args\":{\"k\":[\"\\ud83d\"]}", " json=\"[%22\\ud83d%22]\"\n");
    expect_event("\"args\":{\"k\":[1 2]}", "odd bad-json 1, byte 23");
    expect_event("\"args\":{\"k\":[1}}", "odd bad-json 1, byte 23");
    expect_event("\"args\":{\"k\":{\"a\"}}", "odd bad-json 1, byte 23");
    expect_event("\"args\":{\"k\":[\"[1]\",[1]],\"l\":\"[1]\"}", " json=\"[%22[1]%22,[1]]\"\n");
}

/* Only the keys wanted, but all of metadata and counters, whether the phase comes before args or behind. */
static void projection(void **state) {
    (void)state;
    static const char TEXT[] = "[{\"ph\":\"X\",\"args\":{\"j\":1,\"k\":2}},"
                               "{\"args\":{\"j\":1,\"k\":3},\"ph\":\"C\"},"
                               "{\"args\":{\"j\":1,\"k\":4},\"ph\":\"X\"},"
                               "{\"ph\":\"M\",\"args\":{\"j\":1}}]";
    events_dump d;
    dump(&d, TEXT, strlen(TEXT), &SOME, (ps_event_tuning){.n_threads = 1});
    static const char *const PARTS[] = {
        "arg key=\"k\" int=2\nevent", "arg key=\"j\" int=1\n  arg key=\"k\" int=3\nevent",
        "arg key=\"k\" int=4\nevent", "arg key=\"j\" int=1\nevents=4"};
    const char *at = ps_buf_str(&d.out);
    for (size_t i = 0; i < 4; i++) {
        at = strstr(at, PARTS[i]);
        assert_non_null(at);
    }
    ps_buf_fini(&d.out);
    dump(&d, TEXT, strlen(TEXT), &NONE, (ps_event_tuning){.n_threads = 1});
    assert_null(strstr(ps_buf_str(&d.out), "int=2"));
    assert_non_null(strstr(ps_buf_str(&d.out), "int=3"));
    assert_null(strstr(ps_buf_str(&d.out), "int=4"));
    ps_buf_fini(&d.out);
    check_ways(TEXT, strlen(TEXT));
}

static void depth(void **state) {
    (void)state;
    static const int LEVELS[] = {62, 63, 900};
    for (size_t i = 0; i < sizeof LEVELS / sizeof *LEVELS; i++) {
        int levels = LEVELS[i];
        char text[2048] = "[" A ",{\"ph\":\"X\",\"args\":{\"k\":";
        size_t n = strlen(text);
        memset(text + n, '[', (size_t)levels);
        memset(text + n + levels, ']', (size_t)levels);
        (void)snprintf(text + n + 2 * levels, 64, "}}," B "]");
        expect(text,
               levels == 62 ? "X:a X: i:b whole" : "X:a i:b odd nested-too-deep 1, byte 23; whole");
    }
    char cut[512] = "[" A ",";
    size_t n = strlen(cut);
    memset(cut + n, '[', 100);
    cut[n + 100] = '\0';
    expect(cut, "X:a odd truncated 1, byte 23; cut");
}

/* --- many events --------------------------------------------------------------------------------------- */

typedef struct text {
    ps_buf buf;
    ps_rng rng;
} text;

static uint64_t pick(text *t, uint64_t n) {
    return ps_rng_below(&t->rng, n);
}

static void add_space(text *t, uint64_t style) {
    static const char *const SPACES[] = {"", " ", "\n    ", "\t\r\n"};
    ps_buf_add_str(&t->buf, SPACES[style % 4]);
}

/* Strings that look like the beginning of an event. */
static void add_string(text *t) {
    static const char *const STRINGS[] = {
        "\"aten::add\"",
        "\"},{\\\"ph\\\":\\\"X\\\"\"",
        "\"}, {\"",
        "\"\\\\\"",
        "\"\"",
        "\"a\\u00e9\\n\"",
        "\"a name that is longer than thirty-two bytes, and more\"",
        "\"\\\\\\\"},{\\\"\"",
        "\"the quick brown fox {[}]\"",
        "\"\xC3\xA9\"",
        "\"\xFF\"",
        "\"x\\q\""};
    ps_buf_add_str(&t->buf, STRINGS[pick(t, sizeof STRINGS / sizeof *STRINGS)]);
}

static void add_number(text *t) {
    static const char *const NUMBERS[] = {"0",
                                          "-1",
                                          "12.5",
                                          "1736408883688177.930",
                                          "3.14159265358979",
                                          "4294967295",
                                          "1e3",
                                          "123456789012345678901",
                                          "0.0005",
                                          "NaN",
                                          "-0.0"};
    ps_buf_add_str(&t->buf, NUMBERS[pick(t, sizeof NUMBERS / sizeof *NUMBERS)]);
}

static void add_value(text *t, int left) {
    uint64_t kind = pick(t, left > 0 ? 7 : 4);
    if (kind == 0) {
        add_string(t);
    } else if (kind <= 2) {
        add_number(t);
    } else if (kind == 3) {
        ps_buf_add_str(&t->buf, pick(t, 2) == 0 ? "true" : "null");
    } else {
        bool is_object = kind == 6;
        ps_buf_add_char(&t->buf, is_object ? '{' : '[');
        for (uint64_t i = pick(t, 4); i > 0; i--) {
            if (is_object) {
                ps_buf_addf(&t->buf, "\"%s\":", i == 1 ? "ph" : "k");
            }
            add_value(t, left - 1);
            ps_buf_add_str(&t->buf, i > 1 ? ", " : "");
        }
        ps_buf_add_char(&t->buf, is_object ? '}' : ']');
    }
}

static void add_member(text *t, const char *key, uint64_t style, bool first) {
    if (!first) {
        ps_buf_add_char(&t->buf, ',');
        add_space(t, style);
    }
    ps_buf_addf(&t->buf, "\"%s\":", key);
    add_space(t, style / 4);
}

static void add_event(text *t, uint64_t style) {
    static const char *const KEYS[] = {"ph",  "ts",   "dur", "pid", "tid", "name",
                                       "cat", "args", "id",  "bp",  "tts", "cname"};
    static const char *const PHASES[] = {"\"X\"", "\"C\"", "\"M\"", "\"s\""};
    uint64_t order = pick(t, 4);
    ps_buf_add_char(&t->buf, '{');
    for (uint64_t i = 0; i < 12; i++) {
        uint64_t k = (i + order * 3) % 12;
        if (k > 1 && pick(t, 4) == 0) {
            continue;
        }
        add_member(t, KEYS[k], style, t->buf.data[t->buf.len - 1] == '{');
        if (k == 0) {
            ps_buf_add_str(&t->buf, PHASES[pick(t, 4)]);
        } else if (k == 1) {
            ps_buf_addf(&t->buf,
                        pick(t, 2) == 0 ? "\"17364088836%05llu.%03llu\""
                                        : "17364088836%05llu.%03llu",
                        (unsigned long long)pick(t, 100000), (unsigned long long)pick(t, 1000));
        } else if (k == 7) {
            ps_buf_add_char(&t->buf, '{');
            for (uint64_t n = pick(t, 5), a = 0; a < n; a++) {
                static const char *const ARGS[] = {"k", "Task Type", "long key with blanks",
                                                   "k\\u0031", "k"};
                add_member(t, ARGS[a], style, a == 0);
                add_value(t, 2);
            }
            ps_buf_add_char(&t->buf, '}');
        } else if (k >= 5 && k != 8) {
            add_string(t);
        } else {
            add_number(t);
        }
    }
    ps_buf_add_char(&t->buf, '}');
}

static void make_document(text *t, uint64_t seed, uint64_t n_events) {
    ps_buf_init(&t->buf, 0);
    t->rng = ps_rng_seed(seed);
    uint64_t style = pick(t, 16);
    bool is_object = pick(t, 2) == 0;
    ps_buf_add_str(&t->buf, is_object ? "{\"schemaVersion\":1, \"traceEvents\": [" : "[");
    for (uint64_t i = 0; i < n_events; i++) {
        add_event(t, style);
        if (i + 1 < n_events) {
            ps_buf_add_char(&t->buf, ',');
            add_space(t, style + 1);
        }
    }
    ps_buf_add_str(&t->buf, is_object ? "], \"baseTimeNanoseconds\": 1}" : "]");
    assert_true(ps_buf_ok(&t->buf));
}

static void random_documents(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= PS_ROUNDS(40, 10); seed++) {
        text t;
        make_document(&t, seed, seed % 20);
        const char *bytes = ps_buf_str(&t.buf);
        check_schema(bytes, t.buf.len, &ALL, seed > 8);
        check_schema(bytes, t.buf.len, &SOME, true);
        check_schema(bytes, t.buf.len, &NONE, true);
        ps_buf_fini(&t.buf);
    }
}

/* Events in two layouts, again and again, as profilers write them. */
static void make_layouts(text *t, uint64_t seed) {
    ps_buf_init(&t->buf, 0);
    t->rng = ps_rng_seed(seed);
    ps_buf_add_str(&t->buf, "{\"traceEvents\": [\n  ");
    for (int i = 0; i < 24; i++) {
        ps_buf_add_str(&t->buf, i > 0 ? ",\n  " : "");
        if (pick(t, 2) == 0) {
            ps_buf_addf(
                &t->buf,
                "{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op %d\", \"pid\": 2910249, "
                "\"tid\": %d,\n    \"ts\": 44586765242%02d.%d, \"dur\": 1.777,\n    \"args\": {\n      "
                "\"k\": %d,\"grid\": [%d, 1], \"s\": \"a\", \"r\": 0.%d\n    }\n  }",
                i % 3, i % 2, i, i, i, i, i);
        } else {
            ps_buf_addf(&t->buf,
                        "{\"name\": \"x\", \"ts\": \"17364088836%02d.25\", \"pid\": 3, \"tid\": 0, "
                        "\"args\": {\"value\": %d, \"k\": null}, \"id\": \"%d\", \"ph\": \"%c\"}",
                        i, i, i, i % 4 == 0 ? 'X' : 'C');
        }
    }
    ps_buf_add_str(&t->buf, "\n], \"baseTimeNanoseconds\": 1}");
    assert_true(ps_buf_ok(&t->buf));
}

/* Changes a few bytes, or cuts the end off. */
static void damage(text *t) {
    static const char BYTES[] = "{}[]\",:\\ 0a\n";
    for (uint64_t n = 1 + pick(t, 3); n > 0; n--) {
        size_t at = pick(t, t->buf.len);
        if (pick(t, 8) == 0) {
            t->buf.len = at + 1;
        } else {
            t->buf.data[at] = BYTES[pick(t, sizeof BYTES - 1)];
        }
    }
}

static void damaged_documents(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= PS_ROUNDS(200, 20); seed++) {
        text t;
        if (seed % 4 == 0) {
            make_document(&t, seed, 12);
        } else {
            make_layouts(&t, seed);
        }
        damage(&t);
        check_schema(t.buf.data, t.buf.len, &ALL, true);
        check_schema(t.buf.data, t.buf.len, &NONE, true);
        ps_buf_fini(&t.buf);
    }
}

/* A place that only looks like the beginning of an event lies at the end of most blocks. */
static void false_candidates(void **state) {
    (void)state;
    text t;
    ps_buf_init(&t.buf, 0);
    ps_buf_add_char(&t.buf, '[');
    for (int i = 0; i < 300; i++) {
        ps_buf_addf(
            &t.buf,
            "%s{\"ph\":\"X\",\"name\":\"},{\\\"ph\\\":\\\"X\\\"\",\"args\":{\"l\":[{\"ph\":\"X\"},{\"ph\":\"i\","
            "\"ts\":%d},{\"ph\":\"B\"}]},\"ts\":%d}",
            i > 0 ? "," : "", i, i);
    }
    ps_buf_add_char(&t.buf, ']');
    check_schema(t.buf.data, t.buf.len, &ALL, true);
    check_schema(t.buf.data, t.buf.len, &NONE, false);
    ps_buf_fini(&t.buf);
}

/* More layouts than are remembered, and more keys at one place. */
static void many_layouts(void **state) {
    (void)state;
    text t;
    ps_buf_init(&t.buf, 0);
    ps_buf_add_char(&t.buf, '[');
    for (int i = 0; i < 3000; i++) {
        ps_buf_addf(&t.buf, "%s{\"ph\":\"X\",\"key %d\":%d,\"args\":{\"k%d\":%d,\"l\":\"%d\"}}",
                    i > 0 ? "," : "", i % 700, i, i * 7, i, i);
    }
    ps_buf_add_char(&t.buf, ']');
    check_schema(t.buf.data, t.buf.len, &ALL, true);
    ps_buf_fini(&t.buf);
}

/* Brackets, each followed by what may follow the last one, up to where the text breaks off: what is looked at behind
 * them stays within the text. */
static void many_brackets_of_lost_text(void **state) {
    (void)state;
    static const char *const FORMS[] = {"],\"a\":[", "],\"a\":[]", "],\"a\":\"]\"", "]\n"};
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++) {
        ps_buf b;
        ps_buf_init(&b, 0);
        ps_buf_add_str(&b, "{\"ph\":\"X\" x");
        while (b.len < (size_t)2 << 20) {
            ps_buf_add_str(&b, FORMS[i]);
        }
        size_t n = b.len;
        ps_buf_add_fill(&b, '\0', PS_JSON_PAD);
        assert_true(ps_buf_ok(&b));
        ps_stretch x;
        assert_true(ps_stretch_init(&x, &ALL));
        x.begin = x.at = b.data;
        x.end = b.data + n;
        x.is_object = x.at_eof = true;
        x.expect = PS_EXPECT_FIRST;
        assert_int_equal(ps_stretch_run(&x), PS_STRETCH_CUT);
        assert_true(x.at == x.end);
        assert_true(x.n_looked > 0);
        assert_true(x.n_looked <= 4 * n);
        ps_stretch_fini(&x);
        ps_buf_fini(&b);
    }
}

/* The same in every way, also where looking comes to its limit. */
static void much_looked_at_in_vain(void **state) {
    (void)state;
    text t;
    ps_buf_init(&t.buf, 0);
    ps_buf_add_str(&t.buf, "{\"traceEvents\":[{\"ph\":\"X\" x");
    for (int i = 0; i < 1000; i++) {
        ps_buf_add_str(&t.buf, "],\"a\":[\"0123456789\"");
    }
    ps_buf_add_str(&t.buf, "}," A "]}");
    check_schema(t.buf.data, t.buf.len, &ALL, true);
    ps_buf_fini(&t.buf);
}

/* --- limits and failures --------------------------------------------------------------------------------- */

typedef struct counted {
    uint64_t n_events;
    size_t longest; /* text */
} counted;

static ps_code count_batch(void *context, const ps_event_batch *b, ps_err *err) {
    counted *c = context;
    (void)err;
    c->n_events += b->n_events;
    for (size_t i = 0; i < b->n_texts; i++) {
        c->longest = b->texts[i].n > c->longest ? b->texts[i].n : c->longest;
    }
    return PS_OK;
}

static void long_event(void **state) {
    (void)state;
    static const size_t MIB = (size_t)1 << 20;
    static const char HEAD[] = "[{\"ph\":\"X\",\"name\":\"a\"},{\"ph\":\"X\",\"name\":\"";
    for (size_t mib = 60; mib <= 68; mib += 8) {
        size_t n_head = sizeof HEAD - 1;
        size_t n = n_head + mib * MIB + 4;
        char *text_bytes = malloc(n);
        assert_non_null(text_bytes);
        memcpy(text_bytes, HEAD, n_head);
        memset(text_bytes + n_head, 'x', n - n_head);
        memcpy(text_bytes + n - 3, "\"}]", 3);
        for (size_t n_threads = PS_ROUNDS(1, 2); n_threads <= 2; n_threads++) {
            ps_err err = PS_ERR_INIT;
            ps_event_stats stats;
            counted c = {0};
            const ps_event_sink sink = {&c, count_batch, NULL};
            ps_input *in = ps_input_of_memory(text_bytes, n, &err);
            ps_code code = ps_trace_events_read(in, &NONE, &sink, n_threads, &diag, &stats, &err);
            assert_int_equal(code, mib == 60 ? PS_OK : PS_RANGE);
            assert_int_equal(err.offset, mib == 60 ? PS_NO_OFFSET : 23);
            assert_int_equal(c.n_events, mib == 60 ? 2 : 1);
            assert_int_equal(c.longest, mib == 60 ? mib * MIB + 1 : 1);
            ps_input_close(in);
        }
        free(text_bytes);
    }
}

static ps_code refuse(void *context, const ps_event_batch *b, ps_err *err) {
    (void)b;
    return --*(int *)context < 0 ? ps_fail(err, PS_NOTHING, "enough") : PS_OK;
}

/* What a callback returns ends the reading, with work of other threads under way. */
static void refused_batch(void **state) {
    (void)state;
    text t;
    make_document(&t, 5, 400);
    for (int n = 0; n < 5; n++) {
        int left = n;
        ps_err err = PS_ERR_INIT;
        ps_event_stats stats;
        const ps_event_sink sink = {&left, refuse, NULL};
        const ps_event_tuning tuning = {.block_bytes = 1000, .n_threads = 3};
        ps_input *in = ps_input_of_memory(t.buf.data, t.buf.len, &err);
        assert_int_equal(ps_trace_events_read_tuned(in, &ALL, &sink, &tuning, &diag, &stats, &err),
                         PS_NOTHING);
        assert_string_equal(err.msg, "enough");
        ps_input_close(in);
    }
    ps_buf_fini(&t.buf);
}

static ps_code ignore(void *context, const ps_event_batch *b, ps_err *err) {
    (void)context;
    (void)b;
    (void)err;
    return PS_OK;
}

/* Memory runs out at the Nth allocation, for every N. */
static void memory_faults(void **state) {
    (void)state;
    text t;
    make_document(&t, 12, 60);
    for (int64_t n = 0;; n++) {
        ps_err err = PS_ERR_INIT;
        ps_event_stats stats;
        const ps_event_sink sink = {NULL, ignore, NULL};
        const ps_event_tuning tuning = {.block_bytes = 700, .n_threads = 1};
        (void)ps_alloc_fail_at(n);
        ps_code code = PS_NOMEM;
        ps_input *in = ps_input_of_memory(t.buf.data, t.buf.len, &err);
        if (in != NULL) {
            code = ps_trace_events_read_tuned(in, &ALL, &sink, &tuning, &diag, &stats, &err);
        }
        ps_input_close(in);
        int64_t done = ps_alloc_fail_at(-1);
        if (code == PS_OK) {
            assert_true(done <= n);
            break;
        }
        assert_int_equal(code, PS_NOMEM);
        assert_int_equal(err.code, PS_NOMEM);
    }
    ps_buf_fini(&t.buf);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms),
        cmocka_unit_test(neither_form),
        cmocka_unit_test(ends),
        cmocka_unit_test(behind_the_end),
        cmocka_unit_test(commas),
        cmocka_unit_test(broken_events),
        cmocka_unit_test(broken_at_the_end),
        cmocka_unit_test(broken_outer_object),
        cmocka_unit_test(zero_bytes_in_names),
        cmocka_unit_test(blanks_of_any_length),
        cmocka_unit_test(times),
        cmocka_unit_test(rounding),
        cmocka_unit_test(owners),
        cmocka_unit_test(ids),
        cmocka_unit_test(names),
        cmocka_unit_test(args),
        cmocka_unit_test(nested_args),
        cmocka_unit_test(projection),
        cmocka_unit_test(depth),
        cmocka_unit_test(random_documents),
        cmocka_unit_test(damaged_documents),
        cmocka_unit_test(false_candidates),
        cmocka_unit_test(many_layouts),
        cmocka_unit_test(many_brackets_of_lost_text),
        cmocka_unit_test(much_looked_at_in_vain),
        cmocka_unit_test(long_event),
        cmocka_unit_test(refused_batch),
        cmocka_unit_test(memory_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
