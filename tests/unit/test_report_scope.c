/* What figures of findings are of: counts and times of one step of a rank, shares of the one step of the job, findings of some ranks of
 * how many; and no word that only the program knows. Times in the comments are microseconds. */
#include "support/report_run.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void expect_said(const report_run *o, ps_rule_id rule, const char *part) {
    assert_true(report_fired(o, rule));
    if (strstr(report_text(o, rule), part) == NULL) {
        fail_msg("'%s' is not in: %s", part, report_text(o, rule));
    }
}

/* Two steps with three conversions of 20 in each. */
static void counts_are_of_one_step_as_times_are(void **state) {
    (void)state;
    rig r = rig_begin(1000);
    ps_builder_step(r.b, 2, REPORT_EPOCH_NS + 1000 * US, REPORT_EPOCH_NS + 2000 * US);
    for (int64_t step = 0; step < 2000; step += 1000) {
        (void)rig_kernel(&r, "MatMul", NULL, step, step + 1, step + 500);
        for (int64_t at = step + 600; at < step + 900; at += 100) {
            (void)rig_kernel(&r, "TransData", NULL, step, at, at + 20);
        }
    }
    ps_trace *t = rig_seal(&r);
    report_run o;
    report_over(&o, &t, 1, NULL, NULL);
    expect_said(&o, PS_RULE_CONVERSION, "60.0 us in a step");
    expect_said(&o, PS_RULE_CONVERSION, "for layout in 3 kernels");
    const ps_table *k = report_table(&o, "kernels");
    size_t calls = ps_table_column(k, "calls a step");
    assert_true(calls != SIZE_MAX);
    assert_true(ps_table_cell(k, 1, calls)->u.r == 3.0);
    report_fini(&o);
}

/* Rank 1 has a step of 800 and waits 400 for its host: 40 % of the step of 1000 of which gains are said, too. */
static void shares_are_of_one_step(void **state) {
    (void)state;
    rig long_one = rig_begin(1000);
    (void)rig_kernel(&long_one, "Add", NULL, 0, 2, 1000);
    rig r = rig_begin(800);
    (void)rig_kernel(&r, "Add", NULL, 0, 1, 400);
    (void)rig_kernel(&r, "Add", NULL, 799, 800, 801);
    ps_trace *traces[2] = {rig_seal(&long_one), rig_seal(&r)};
    report_run o;
    report_over(&o, traces, 2, NULL, NULL);
    expect_said(&o, PS_RULE_FREE_SHARE, "On rank 1");
    expect_said(&o, PS_RULE_FREE_SHARE,
                "of its step of 801 us (shares are of the longest, 1.00 ms)");
    expect_said(&o, PS_RULE_FREE_SHARE, "(40.1 % of the step)");
    report_fini(&o);
}

/* Kernels of rank 0 start when they are launched, most of rank 1 wait in the queue; both lose a tenth for the host. */
static void rules_of_ranks_say_on_how_many(void **state) {
    (void)state;
    ps_trace *traces[2];
    for (int rank = 0; rank < 2; rank++) {
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "Add", NULL, 0, 1, 280);
        (void)rig_kernel(&r, "Add", NULL, rank == 0 ? 290 : 2, 300, 580);
        (void)rig_kernel(&r, "Add", NULL, rank == 0 ? 590 : 4, 600, 800);
        (void)rig_kernel(&r, "Add", NULL, 899, 900, 1000);
        traces[rank] = rig_seal(&r);
    }
    report_run o;
    report_over(&o, traces, 2, NULL, NULL);
    expect_said(&o, PS_RULE_LAUNCH_DELAY, "On rank 0 4 of 4 kernels");
    expect_said(&o, PS_RULE_LAUNCH_DELAY, "This rule fires on 1 of 2 ranks.");
    report_fini(&o);
}

static bool has_word(const char *text, const char *word) {
    size_t n = strlen(word);
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        bool begins = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '-');
        if (begins && !(isalnum((unsigned char)at[n]) || at[n] == '-')) {
            return true;
        }
    }
    return false;
}

/* The names of rules are for --threshold: sentences say what they mean. */
static void no_sentence_has_a_rules_name(void **state) {
    (void)state;
    for (int i = 0; i < PS_N_RULES; i++) {
        const ps_rule *rule = ps_rule_of((ps_rule_id)i);
        const ps_rule_words *w = &rule->english;
        const char *texts[] = {w->title, w->rule, w->advice, w->ascend, w->nvidia};
        for (int k = 0; k < PS_N_RULES; k++) {
            const char *name = ps_rule_of((ps_rule_id)k)->name;
            for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
                if (strchr(name, '-') != NULL && has_word(texts[t], name)) {
                    fail_msg("%s says %s: %s", rule->name, name, texts[t]);
                }
            }
        }
    }
}

static size_t places(const char *text) {
    size_t n = 0;
    for (const char *at = strstr(text, "{}"); at != NULL; at = strstr(at + 2, "{}")) {
        n++;
    }
    return n;
}

/* What the one language says the other one says, with the threshold in as many places. */
static void rules_speak_both_languages(void **state) {
    (void)state;
    for (int i = 0; i < PS_N_RULES; i++) {
        const ps_rule *rule = ps_rule_of((ps_rule_id)i);
        const ps_rule_words *en = ps_rule_words_of(rule, PS_ENGLISH);
        const ps_rule_words *zh = ps_rule_words_of(rule, PS_CHINESE);
        const char *of[][2] = {{en->title, zh->title},
                               {en->rule, zh->rule},
                               {en->advice, zh->advice},
                               {en->ascend, zh->ascend},
                               {en->nvidia, zh->nvidia}};
        for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
            bool same = of[k][1] != NULL && (of[k][0][0] == '\0') == (of[k][1][0] == '\0') &&
                        places(of[k][0]) == places(of[k][1]);
            if (!same) {
                fail_msg("%s: %s", rule->name, of[k][0]);
            }
        }
        char advice[1024];
        ps_rule_advice(PS_CHINESE, rule, PS_VENDOR_ASCEND, advice, sizeof advice);
        assert_null(strstr(advice, ". ")); /* no English full stop between Chinese sentences */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_of_one_step_as_times_are),
        cmocka_unit_test(shares_are_of_one_step),
        cmocka_unit_test(rules_of_ranks_say_on_how_many),
        cmocka_unit_test(no_sentence_has_a_rules_name),
        cmocka_unit_test(rules_speak_both_languages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
