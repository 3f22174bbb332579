/* Counted oddities. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/diag.h"
#include "base/err.h"

/* All are counted, the first three places are kept, and a long one is cut. */
static void the_first_places_are_kept(void **state) {
    (void)state;
    ps_diag d = {0};
    for (int i = 1; i <= 5; i++) {
        ps_diag_add(&d, PS_ODD_TIME, "TASK rowid %d", i);
    }
    assert_int_equal(d.counts[PS_ODD_TIME], 5);
    assert_string_equal(d.places[PS_ODD_TIME][0], "TASK rowid 1");
    assert_string_equal(d.places[PS_ODD_TIME][2], "TASK rowid 3");
    assert_int_equal(d.counts[PS_ODD_TEXT], 0);
    ps_diag_add(&d, PS_ODD_TEXT, "%0500d", 7);
    assert_int_equal(strlen(d.places[PS_ODD_TEXT][0]), sizeof d.places[0][0] - 1);
}

/* Whether the format or the room cuts it: no piece of a character stays. */
static void no_character_is_cut(void **state) {
    (void)state;
    ps_diag d = {0};
    ps_diag_add(&d, PS_ODD_TEXT, "%.4s, row 7",
                "\xe5\x90\x8d\xe5\xad\x97"); /* two of three bytes each */
    assert_string_equal(d.places[PS_ODD_TEXT][0], "\xe5\x90\x8d, row 7");
    ps_diag_add(&d, PS_ODD_TIME, "%0*d\xc3\xa9", (int)sizeof d.places[0][0] - 2, 7);
    assert_int_equal(strlen(d.places[PS_ODD_TIME][0]), sizeof d.places[0][0] - 2);
}

/* Nor in errors, where the beginning of a long path is cut. */
static void errors_cut_no_character(void **state) {
    (void)state;
    ps_err err = PS_ERR_INIT;
    (void)ps_fail(&err, PS_IO, "%.4s, row 7", "\xe5\x90\x8d\xe5\xad\x97");
    assert_string_equal(err.msg, "\xe5\x90\x8d, row 7");
    char path[sizeof err.file * 3 + 8];
    for (size_t shift = 0; shift < 3; shift++) {
        memset(path, 'a', shift);
        for (size_t i = 0; i < sizeof err.file; i++) {
            memcpy(path + shift + 3 * i, "\xe5\x90\x8d", 3);
        }
        path[shift + 3 * sizeof err.file] = '\0';
        (void)ps_fail_file(&err, PS_IO, path, "gone");
        assert_memory_equal(err.file, "...\xe5\x90\x8d", 6);
        assert_string_equal(err.file + 3, path + strlen(path) - strlen(err.file + 3));
    }
}

static void counting_needs_no_place(void **state) {
    (void)state;
    ps_diag d = {0};
    ps_diag_count(&d, PS_ODD_TIME, 40);
    ps_diag_count(&d, PS_ODD_TIME, 0);
    ps_diag_add(&d, PS_ODD_TIME, "here");
    assert_int_equal(d.counts[PS_ODD_TIME], 41);
    assert_string_equal(d.places[PS_ODD_TIME][0], "here");
}

/* Repeats of a named place are counted and leave nothing unnamed. */
static void a_place_may_repeat(void **state) {
    (void)state;
    ps_diag d = {0};
    ps_diag_add(&d, PS_ODD_FLOPS_TYPE, "mm");
    ps_diag_repeat(&d, PS_ODD_FLOPS_TYPE, 400);
    assert_int_equal(d.counts[PS_ODD_FLOPS_TYPE], 401);
    assert_false(ps_diag_has_more_places(&d, PS_ODD_FLOPS_TYPE));
    ps_diag all = {0};
    for (int rank = 0; rank < 4; rank++) {
        assert_false(ps_diag_has_more_places(&all, PS_ODD_FLOPS_TYPE));
        ps_diag_merge(&all, &d, "rank");
    }
    assert_true(
        ps_diag_has_more_places(&all, PS_ODD_FLOPS_TYPE)); /* four, of which three are kept */
}

/* Two analyses of one rank met the same operators: they count once, and what only one of them met is added. */
static void another_look_counts_once(void **state) {
    (void)state;
    ps_diag all = {0};
    ps_diag wide = {0};
    ps_diag narrow = {0};
    for (int i = 1; i <= 8; i++) {
        ps_diag_add(&wide, PS_ODD_P2P_PEER, "hcom_send_%d", i);
    }
    for (int i = 1; i <= 2; i++) {
        ps_diag_add(&narrow, PS_ODD_P2P_PEER, "hcom_send_%d", i);
    }
    ps_diag_add(&narrow, PS_ODD_MARK_TWICE, "0F");
    ps_diag_merge_look(&all, &narrow);
    ps_diag_merge_look(&all, &wide);
    ps_diag_merge_look(&all, &narrow);
    assert_int_equal(all.counts[PS_ODD_P2P_PEER], 8);
    assert_int_equal(all.counts[PS_ODD_MARK_TWICE], 1);
    ps_diag unnamed = {0}; /* whether that is the same nobody knows */
    ps_diag_count(&unnamed, PS_ODD_P2P_PEER, 5);
    ps_diag_merge_look(&all, &unnamed);
    assert_int_equal(all.counts[PS_ODD_P2P_PEER], 13);
    ps_diag other = {0};
    ps_diag_add(&other, PS_ODD_MARK_TWICE, "1F");
    ps_diag_merge_look(&all, &other);
    assert_int_equal(all.counts[PS_ODD_MARK_TWICE], 2);
}

/* Merged in order; the places that are free are filled, with the name in front.
 */
static void merging_adds_counts_and_places(void **state) {
    (void)state;
    ps_diag all = {0};
    ps_diag one = {0};
    ps_diag two = {0};
    ps_diag_add(&one, PS_ODD_TIME, "a");
    ps_diag_add(&one, PS_ODD_TIME, "b");
    ps_diag_add(&two, PS_ODD_TIME, "c");
    ps_diag_add(&two, PS_ODD_TIME, "d");
    ps_diag_add(&two, PS_ODD_FILE, "e");
    ps_diag_merge(&all, &one, "rank 0");
    ps_diag_merge(&all, &two, "rank 1");
    assert_int_equal(all.counts[PS_ODD_TIME], 4);
    assert_string_equal(all.places[PS_ODD_TIME][0], "rank 0: a");
    assert_string_equal(all.places[PS_ODD_TIME][1], "rank 0: b");
    assert_string_equal(all.places[PS_ODD_TIME][2], "rank 1: c");
    assert_string_equal(all.places[PS_ODD_FILE][0], "rank 1: e");
    ps_diag_add(&one, PS_ODD_FILE, "rank 0"); /* the rank as a whole */
    ps_diag_merge(&all, &one, "rank 0");
    assert_string_equal(all.places[PS_ODD_FILE][1], "rank 0");
    ps_diag plain = {0};
    ps_diag_merge(&plain, &two, NULL);
    assert_string_equal(plain.places[PS_ODD_TIME][0], "c");
}

/* Only those of severity "error" turn a rank into a failed one under --strict.
 */
static void errors_are_told_from_losses(void **state) {
    (void)state;
    ps_diag d = {0};
    ps_diag_count(&d, PS_ODD_MARK_NESTED, 3);  /* info */
    ps_diag_count(&d, PS_ODD_MARK_NO_STEP, 5); /* loss */
    assert_int_equal(ps_diag_n_errors(&d), 0);
    ps_diag_count(&d, PS_ODD_TIME, 2);
    ps_diag_count(&d, PS_ODD_STRING_ID, 1);
    assert_int_equal(ps_diag_n_errors(&d), 3);
}

/* Each kind has a name of its own, and a sentence in each language that begins with the count. */
static void every_kind_has_a_name_and_a_sentence(void **state) {
    (void)state;
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        for (int lang = 0; lang < PS_N_LANGS; lang++) {
            char text[PS_ODDITY_TEXT];
            ps_oddity_text((ps_lang)lang, (ps_oddity)k, 12345, text, sizeof text);
            assert_int_equal(strncmp(text, "12345 ", 6), 0); /* pages add those of ranks up */
            assert_null(strpbrk(text, "{|}"));
        }
        for (int other = 0; other < k; other++) {
            assert_string_not_equal(ps_oddity_name((ps_oddity)k), ps_oddity_name((ps_oddity)other));
        }
    }
}

static void a_sentence_is_said_in_the_language_of_the_reader(void **state) {
    (void)state;
    ps_diag d = {0};
    ps_buf english = {0};
    ps_buf chinese = {0};
    for (int i = 0; i < 4; i++) {
        ps_diag_add(&d, PS_ODD_TIME, "TASK rowid %d", i);
    }
    ps_diag_say(PS_ENGLISH, &d, PS_ODD_TIME, &english);
    ps_diag_say(PS_CHINESE, &d, PS_ODD_TIME, &chinese);
    assert_string_equal(
        ps_buf_str(&english),
        "4 rows have a time that is missing, not a number or ends before it starts: "
        "TASK rowid 0; TASK rowid 1; TASK rowid 2; ...");
    assert_string_equal(
        ps_buf_str(&chinese),
        "4 行的时间缺失、不是数字或结束早于开始：TASK rowid 0；TASK rowid 1；TASK rowid 2；...");
    ps_buf_fini(&english);
    ps_buf_fini(&chinese);
}

/* What is said in both is read in either; what is wrong with a file is told in English, behind its kind. */
static void errors_are_said_in_the_language_of_the_reader(void **state) {
    (void)state;
    ps_err err = PS_ERR_INIT;
    char text[600];
    (void)ps_fail_said(&err, PS_NOTHING, "no %s here", "此处没有 %s", "steps");
    ps_err_prefix(&err, "%s", "mode");
    ps_err_add_said(&err, "%d more", "另有 %d 个", 3);
    ps_err_say(PS_ENGLISH, &err, text, sizeof text);
    assert_string_equal(text, "mode: no steps here; 3 more");
    ps_err_say(PS_CHINESE, &err, text, sizeof text);
    assert_string_equal(text, "mode: 此处没有 steps；另有 3 个");
    (void)ps_fail_file(&err, PS_SYNTAX, "a.json", "expected a number");
    ps_err_say(PS_CHINESE, &err, text, sizeof text);
    assert_string_equal(text, "a.json: 格式错误：expected a number");
    (void)ps_fail_nomem(&err);
    ps_err_say(PS_CHINESE, &err, text, sizeof text);
    assert_string_equal(text, "内存不足");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_places_are_kept),
        cmocka_unit_test(no_character_is_cut),
        cmocka_unit_test(errors_cut_no_character),
        cmocka_unit_test(counting_needs_no_place),
        cmocka_unit_test(a_place_may_repeat),
        cmocka_unit_test(another_look_counts_once),
        cmocka_unit_test(merging_adds_counts_and_places),
        cmocka_unit_test(errors_are_told_from_losses),
        cmocka_unit_test(a_sentence_is_said_in_the_language_of_the_reader),
        cmocka_unit_test(errors_are_said_in_the_language_of_the_reader),
        cmocka_unit_test(every_kind_has_a_name_and_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
