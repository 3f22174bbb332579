/* Small literal documents: JSON, and what Python's str(dict) prints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/literal.h"

typedef struct parsed {
    ps_arena arena;
    ps_err err;
    const ps_literal *v;
} parsed;

static parsed parse(const char *text) {
    parsed p = {.err = PS_ERR_INIT};
    ps_arena_init(&p.arena);
    p.v = ps_literal_parse(&p.arena, text, strlen(text), &p.err);
    return p;
}

/* Writes a value in one way, whatever its source looked like. */
static void dump(const ps_literal *v, ps_buf *out) {
    if (v->key != NULL) {
        ps_buf_addf(out, "%s:", v->key);
    }
    switch (v->kind) {
    case PS_LITERAL_NULL:
        ps_buf_add_str(out, "null");
        break;
    case PS_LITERAL_BOOL:
        ps_buf_add_str(out, v->boolean ? "true" : "false");
        break;
    case PS_LITERAL_INT:
        ps_buf_addf(out, "%lld", (long long)v->integer);
        break;
    case PS_LITERAL_NUMBER:
        ps_buf_addf(out, "<%s>", v->text);
        break;
    case PS_LITERAL_STRING:
        assert_int_equal(strlen(v->text), v->len);
        ps_buf_addf(out, "\"%s\"", v->text);
        break;
    case PS_LITERAL_ARRAY:
    case PS_LITERAL_OBJECT:
        ps_buf_add_char(out, v->kind == PS_LITERAL_ARRAY ? '[' : '{');
        for (const ps_literal *c = v->child; c != NULL; c = c->next) {
            dump(c, out);
            ps_buf_add_str(out, c->next != NULL ? "," : "");
        }
        ps_buf_add_char(out, v->kind == PS_LITERAL_ARRAY ? ']' : '}');
        break;
    }
}

static void expect(const char *text, const char *expected) {
    parsed p = parse(text);
    if (p.v == NULL) {
        fail_msg("%s: %s at byte %llu", text, p.err.msg, (unsigned long long)p.err.offset);
    } else {
        ps_buf out;
        ps_buf_init(&out, 0);
        dump(p.v, &out);
        assert_string_equal(ps_buf_str(&out), expected);
        ps_buf_fini(&out);
    }
    ps_arena_fini(&p.arena);
}

static void expect_error(const char *text, uint64_t offset) {
    parsed p = parse(text);
    assert_null(p.v);
    assert_int_equal(p.err.code, PS_SYNTAX);
    assert_int_equal(p.err.offset, offset);
    ps_arena_fini(&p.arena);
}

static void json(void **state) {
    (void)state;
    expect("{}", "{}");
    expect(" [ ] ", "[]");
    expect("{\"a\": 1, \"b\": [true, false, null], \"c\": {\"d\": \"x\"}}",
           "{a:1,b:[true,false,null],c:{d:\"x\"}}");
    expect("\"text\"", "\"text\"");
    expect("-7", "-7");
    expect("[1.5, -2e3, 9223372036854775807, 9223372036854775808]",
           "[<1.5>,<-2e3>,9223372036854775807,<9223372036854775808>]");
    expect("[NaN, Infinity, -Infinity]", "[null,null,null]"); /* as Python writes them */
}

static void python(void **state) {
    (void)state;
    expect("{'name': 'forward_step', 'current_microbatch': 3}",
           "{name:\"forward_step\",current_microbatch:3}");
    expect("{'a': True, 'b': False, 'c': None}", "{a:true,b:false,c:null}");
    expect("{'it': \"it's\", 'said': 'say \"x\"', 'both': '\\'\"'}",
           "{it:\"it's\",said:\"say \"x\"\",both:\"'\"\"}");
    expect("(1, (2, 3))", "[1,[2,3]]");
    expect("('alone',)", "[\"alone\"]"); /* how a tuple of one is printed */
    expect("'\\x41\\xe9'", "\"A\xc3\xa9\"");
}

static void escapes(void **state) {
    (void)state;
    expect("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\"\\/\b\f\n\r\t\"");
    expect("\"\\u0041\\u00e9\\u4e2d\"", "\"A\xc3\xa9\xe4\xb8\xad\"");
    expect("\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\"");
    expect("\"\\ud83d!\"", "\"\xef\xbf\xbd!\""); /* half a pair is no character */
    expect("\"\\ude00\"", "\"\xef\xbf\xbd\"");
    expect("\"\\ud83d\\u0041\"", "\"\xef\xbf\xbd"
                                 "A\"");
    expect("{\"k\\u0041\": 1}", "{kA:1}");
    expect_error("\"\\q\"", 3);
    expect_error("\"\\u12\"", 3);
    expect_error("\"\\x4\"", 3);
    expect_error("\"abc", 1);
    expect_error("\"abc\\", 1);
    expect_error("\"abc\\\"", 1);
}

static void errors_name_the_byte(void **state) {
    (void)state;
    expect_error("", 0);
    expect_error("   ", 3);
    expect_error("{", 1);
    expect_error("[1 2]", 3);
    expect_error("[1,]", 3);
    expect_error("{\"a\"}", 4);
    expect_error("{\"a\": }", 6);
    expect_error("{a: 1}", 1);
    expect_error("{} {}", 3);
    expect_error("forward_step", 0);
    expect_error("(,)", 1);
}

static void something_that_is_no_number_is_none(void **state) {
    (void)state;
    static const char *const BAD[] = {"-", "1.2.3", "--5", "1-2", "1e", "-.", "5e+"};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        parsed p = parse(BAD[i]);
        if (p.v != NULL) {
            fail_msg("%s was taken for a number", BAD[i]);
        }
        ps_arena_fini(&p.arena);
    }
}

/* `n` arrays, one in the other. */
static const ps_literal *parse_nested(parsed *p, size_t n) {
    char *text = malloc(2 * n + 1);
    assert_non_null(text);
    memset(text, '[', n);
    memset(text + n, ']', n);
    text[2 * n] = '\0';
    *p = parse(text);
    free(text);
    return p->v;
}

static void depth_is_bounded(void **state) {
    (void)state;
    parsed p;
    assert_non_null(parse_nested(&p, 64));
    ps_arena_fini(&p.arena);
    assert_null(parse_nested(&p, 65));
    assert_int_equal(p.err.code, PS_RANGE);
    ps_arena_fini(&p.arena);
    assert_null(parse_nested(&p, 1000000)); /* no stack is used up */
    assert_int_equal(p.err.code, PS_RANGE);
    ps_arena_fini(&p.arena);
}

static void number_of_values_is_bounded(void **state) {
    (void)state;
    size_t n = (size_t)1 << 20;
    char *text = malloc(2 * n + 2);
    assert_non_null(text);
    for (size_t i = 0; i < n; i++) {
        memcpy(text + 2 * i, i == 0 ? "[1" : ",1", 2);
    }
    memcpy(text + 2 * n, "]", 2);
    parsed p = parse(text);
    assert_null(p.v);
    assert_int_equal(p.err.code, PS_RANGE);
    ps_arena_fini(&p.arena);
    free(text);
}

static void members(void **state) {
    (void)state;
    parsed p = parse("{\"n\": \"42\", \"m\": 7, \"f\": 1.0, \"m\": 8, \"t\": "
                     "\"x\", \"o\": {\"q\":  [1, 2] }}");
    int64_t value = 0;
    assert_true(
        ps_literal_int(ps_literal_get(p.v, "n"), &value)); /* a text that holds an integer */
    assert_int_equal(value, 42);
    assert_true(ps_literal_int(ps_literal_get(p.v, "m"), &value)); /* the last one counts */
    assert_int_equal(value, 8);
    assert_false(ps_literal_int(ps_literal_get(p.v, "f"), &value));
    assert_false(ps_literal_int(ps_literal_get(p.v, "t"), &value));
    assert_false(ps_literal_int(NULL, &value));
    assert_null(ps_literal_get(p.v, "absent"));
    assert_null(ps_literal_get(NULL, "m"));
    assert_null(ps_literal_get(ps_literal_get(p.v, "t"), "m"));
    assert_null(ps_literal_str(ps_literal_get(p.v, "m")));
    assert_string_equal(ps_literal_str(ps_literal_get(p.v, "t")), "x");
    const ps_literal *o = ps_literal_get(p.v, "o"); /* the value as it stands in the source */
    assert_int_equal(o->source_len, strlen("{\"q\":  [1, 2] }"));
    assert_memory_equal(o->begin, "{\"q\":  [1, 2] }", o->source_len);
    ps_arena_fini(&p.arena);
}

static void add_ints(const ps_literal *v, ps_arena *arena, ps_buf *out) {
    int64_t value = 0;
    ps_int_runs ints = {0};
    assert_true(ps_literal_int_runs(v, -7, arena, &ints));
    for (ps_int_walk walk = {0}; ps_int_runs_next(&ints, &walk, &value);) {
        ps_buf_addf(out, "%lld ", (long long)value);
    }
}

/* Packed or not, a document is or is none, breaks at the same byte, and its arrays have the same integers. */
static void packed(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t n_ints; /* of the document itself; 0: it is none, or not packed */
    } CASES[] = {{"[1, 2,-3]", 3},
                 {"[]", 0},
                 {"[1, 2.5]", 0},
                 {"[1, 'a', \"4\"]", 0},
                 {"(1,)", 0},
                 {"(1,2)", 2},
                 {"[1,]", 0},
                 {"[ 1 ,\n2 ]", 2},
                 {"[1 2]", 0},
                 {"[1", 0},
                 {"[1,", 0},
                 {"[-]", 0},
                 {"[1, -]", 0},
                 {"[1e3]", 0},
                 {"[1, null]", 0},
                 {"[007]", 1},
                 {"[1]x", 0},
                 {"[-0]", 1},
                 {"[[1, 2], 3]", 0},
                 {"1", 0},
                 {"[999999999999999999]", 1},
                 {"[9223372036854775807]", 0},
                 {"[1, 9223372036854775808]", 0}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        parsed plain = parse(CASES[i].text);
        parsed p = {.err = PS_ERR_INIT};
        ps_arena_init(&p.arena);
        p.v = ps_literal_parse_packed(&p.arena, CASES[i].text, strlen(CASES[i].text), &p.err);
        assert_int_equal(p.v != NULL, plain.v != NULL);
        assert_int_equal(p.err.code, plain.err.code);
        assert_int_equal(p.err.offset, plain.err.offset);
        ps_buf a = {0};
        ps_buf b = {0};
        add_ints(plain.v, &plain.arena, &a);
        add_ints(p.v, &p.arena, &b);
        assert_string_equal(ps_buf_str(&a), ps_buf_str(&b));
        assert_int_equal(p.v != NULL ? p.v->ints.n : 0, CASES[i].n_ints);
        ps_buf_fini(&a);
        ps_buf_fini(&b);
        ps_arena_fini(&plain.arena);
        ps_arena_fini(&p.arena);
    }
}

/* Every allocation in turn fails: PS_NOMEM, and nothing is left. */
static void out_of_memory(void **state) {
    (void)state;
    static const char TEXT[] =
        "{\"a\": [1, 2.5, 'x', null], \"b\": {\"c\": \"\\u0041\"}, \"d\": [1, 2, 9, 3]}";
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        (void)ps_alloc_fail_at(n);
        parsed p = {.err = PS_ERR_INIT};
        ps_arena_init(&p.arena);
        p.v = ps_literal_parse_packed(&p.arena, TEXT, strlen(TEXT), &p.err);
        done = ps_alloc_fail_at(-1) <= n;
        assert_true((p.v != NULL) == done);
        assert_true(done || p.err.code == PS_NOMEM);
        ps_arena_fini(&p.arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json),
        cmocka_unit_test(python),
        cmocka_unit_test(escapes),
        cmocka_unit_test(errors_name_the_byte),
        cmocka_unit_test(something_that_is_no_number_is_none),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(number_of_values_is_bounded),
        cmocka_unit_test(members),
        cmocka_unit_test(packed),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
