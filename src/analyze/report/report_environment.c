/* Where the job ran: variables of the environment, where the capture lists them (one that it does not list is not judged), and
 * the clock of its CPUs. */
#include <stdio.h>
#include <string.h>

#include "analyze/rank/step_index.h"
#include "analyze/report/report.h"
#include "analyze/report/report_advice.h"
#include "analyze/report/report_findings.h"
#include "base/literal.h"
#include "base/num.h"

typedef enum condition { COND_IS, COND_BELOW, COND_UNSET } condition;
typedef enum when { WHEN_ALWAYS, WHEN_HOST } when;

typedef struct variable {
    const char *name;
    condition condition;
    const char *operand;
    when when;
    const char *advice[PS_N_LANGS];
} variable;

static const variable VARIABLES[] = {
#define X(name_, condition_, operand_, when_, advice_, chinese_)                                   \
    {name_, COND_##condition_, operand_, WHEN_##when_, {advice_, chinese_}},
#include "analyze/report/report_environment.def"
#undef X
};

#define N_VARIABLES (sizeof VARIABLES / sizeof *VARIABLES)

/* Whether `value` is one of "a|b". */
static bool environment_is_one_of(const char *value, const char *list) {
    size_t n = strlen(value);
    for (const char *at = list; n > 0;) {
        size_t len = strcspn(at, "|");
        if (len == n && memcmp(at, value, n) == 0) {
            return true;
        }
        if (at[len] == '\0') {
            return false;
        }
        at += len + 1;
    }
    return false;
}

const char *ps_report_variable(const ps_report_rank *r, const char *name, char room[32]) {
    const ps_literal *v = ps_literal_get(r->environment, name);
    if (v != NULL && v->kind == PS_LITERAL_INT) {
        (void)snprintf(room, 32, "%lld", (long long)v->integer);
        return room;
    }
    return ps_literal_str(v);
}

static bool applies(const variable *v, const char *value, bool host_bound) {
    if (value == NULL || (v->when == WHEN_HOST && !host_bound)) {
        return false;
    }
    int64_t is = 0;
    int64_t limit = 0;
    switch (v->condition) {
    case COND_IS:
        return environment_is_one_of(value, v->operand);
    case COND_BELOW:
        return ps_parse_i64(value, strlen(value), &is) &&
               ps_parse_i64(v->operand, strlen(v->operand), &limit) && is < limit;
    case COND_UNSET:
        return value[0] == '\0';
    }
    return false;
}

/* The first rank on which it applies; NULL on none. */
static const ps_report_member *find_member(const ps_report *r, const variable *v, bool host_bound) {
    char room[32];
    for (size_t m = 0; m < r->n_members; m++) {
        const ps_report_rank *facts = r->members[m].facts;
        if (applies(v, ps_report_variable(facts, v->name, room), host_bound)) {
            return &r->members[m];
        }
    }
    return NULL;
}

/* --- levels, and the clock of the CPUs -------------------------------------------------------------------------------------- */

/* Of the first rank where it is low. */
static void find_level(ps_report *report, ps_rule_id rule, const char *name,
                       int64_t (*level_of)(const ps_report_rank *)) {
    const ps_lang lang = report->findings.lang;
    ps_findings *f = &report->findings;
    const ps_report_member *first = NULL;
    size_t n_over = 0;
    for (size_t i = 0; i < report->n_members; i++) {
        int64_t level = level_of(report->members[i].facts);
        bool is_low = level >= 0 && (double)level < f->thresholds[rule];
        n_over += is_low;
        first = first == NULL && is_low ? &report->members[i] : first;
    }
    if (first != NULL) {
        long long level = (long long)level_of(first->facts);
        ps_findings_add(f,
                        (ps_finding){.rule = rule,
                                     .rank = first->rank,
                                     .stage = -1,
                                     .value = (double)level,
                                     .n_over = n_over},
                        PS_SAY(lang, "%s is %lld on rank %s, and the device waits for the host.",
                               "%s 为 %lld（rank %s），而设备在等待主机。"),
                        name, level, PS_RANK(first->rank));
    }
}

static int64_t task_queue(const ps_report_rank *r) {
    return r->task_queue;
}
static int64_t cpu_affinity(const ps_report_rank *r) {
    return r->cpu_affinity;
}

static bool is_governed(const ps_report_member *m) {
    return m->facts->governor[0] != '\0' && strcmp(m->facts->governor, "performance") != 0;
}

static double below_share(const ps_report_member *m) {
    const ps_report_frequency *c = &m->facts->cpu_frequency;
    return c->is_known ? ps_percent(c->below_ns, c->all_ns) : 0;
}

/* Of the first rank where it is so. */
static void find_cpu_frequency(ps_report *report) {
    const ps_lang lang = report->findings.lang;
    ps_findings *f = &report->findings;
    const ps_report_member *m = NULL;
    size_t n_over = 0;
    for (size_t i = 0; i < report->n_members; i++) {
        const ps_report_member *x = &report->members[i];
        bool fires = is_governed(x) || ps_rule_fires(f, PS_RULE_CPU_FREQUENCY, below_share(x));
        n_over += fires;
        m = m == NULL && fires ? x : m;
    }
    if (m == NULL) {
        return;
    }
    const ps_report_frequency *c = &m->facts->cpu_frequency;
    ps_finding found = {.rule = PS_RULE_CPU_FREQUENCY,
                        .rank = m->rank,
                        .stage = -1,
                        .value = below_share(m),
                        .n_over = n_over};
    bool is_below = ps_rule_fires(f, PS_RULE_CPU_FREQUENCY, found.value);
    char governor[128] = "";
    char below[256] = "";
    if (is_governed(m)) {
        (void)snprintf(governor, sizeof governor,
                       PS_SAY(lang, "The governor of the CPUs of rank %s is %.60s.",
                              "rank %s 的 CPU 调频策略为 %.60s。"),
                       PS_RANK(m->rank), m->facts->governor);
    }
    if (is_below) {
        (void)snprintf(
            below, sizeof below,
            PS_SAY(
                lang,
                "%s%.60s of rank %s was below 0.9 of its highest frequency (%.0f MHz) for "
                "%.1f %% of the time, down to %.0f MHz.",
                "%s%.60s（rank %s）低于其最高频率（%.0f MHz）的 0.9 倍，占时间的 %.1f %%，最低 %.0f MHz。"),
            governor[0] != '\0' ? " " : "", c->series, PS_RANK(m->rank), c->usual_mhz, found.value,
            c->lowest_mhz);
    }
    ps_findings_add(f, found, "%s%s", governor, below);
    char advice[PS_ADVICE_TEXT];
    ps_findings_remedy(f, ps_report_frequency_advice(m, is_below, advice, sizeof advice));
    if (is_governed(m)) {
        char here[128];
        char share[32] = "";
        if (is_below) {
            (void)snprintf(share, sizeof share, PS_SAY(lang, "%.4g %% and ", "%.4g %%，"),
                           found.value);
        }
        (void)snprintf(here, sizeof here, PS_SAY(lang, "%sgovernor %.60s", "%s调频策略 %.60s"),
                       share, m->facts->governor);
        ps_findings_here(f, here);
    }
    if (!is_below) {
        return;
    }
    ps_findings_evidence(
        f, (ps_evidence){.rank = m->rank,
                         .step = PS_STEP_OUTSIDE,
                         .start_ns = c->longest_start_ns,
                         .dur_ns = c->longest_ns,
                         .name = c->series,
                         .note = PS_SAY(lang, "the longest stretch below", "低于该值的最长一段")});
}

/* --- all of it ---------------------------------------------------------------------------------------------------------- */

static void find_variables(ps_report *report, bool host_bound) {
    const ps_lang lang = report->findings.lang;
    ps_findings *f = &report->findings;
    const ps_report_member *where[N_VARIABLES];
    char names[256] = "";
    size_t n = 0;
    for (size_t i = 0; i < N_VARIABLES; i++) {
        where[i] = find_member(report, &VARIABLES[i], host_bound);
        if (where[i] != NULL) {
            size_t used = strlen(names);
            (void)snprintf(names + used, sizeof names - used, "%s%s",
                           n > 0 ? PS_SAY(lang, ", ", "、") : "", VARIABLES[i].name);
            n++;
        }
    }
    if (!ps_rule_fires(f, PS_RULE_ENVIRONMENT, (double)n)) {
        return;
    }
    ps_findings_add(
        f, (ps_finding){.rule = PS_RULE_ENVIRONMENT, .rank = -1, .stage = -1, .value = (double)n},
        PS_SAY(lang, "%zu variable%s of the environment may cost time: %s.",
               "%zu 个环境变量%.0s可能耗费时间：%s。"),
        n, n == 1 ? "" : "s", names);
    for (size_t i = 0; i < N_VARIABLES; i++) {
        char room[32];
        char name[128];
        if (where[i] == NULL) {
            continue;
        }
        const char *value = ps_report_variable(where[i]->facts, VARIABLES[i].name, room);
        bool is_set = value[0] != '\0';
        (void)snprintf(name, sizeof name, "%s%s%.40s", VARIABLES[i].name, is_set ? "=" : "",
                       is_set ? value : PS_SAY(lang, " is not set", "（未设置）"));
        ps_findings_evidence(f, (ps_evidence){.rank = where[i]->rank,
                                              .step = PS_STEP_OUTSIDE,
                                              .start_ns = PS_NO_START,
                                              .name = name,
                                              .note = VARIABLES[i].advice[lang]});
    }
}

void ps_report_environment(ps_report *report) {
    bool host_bound = ps_findings_has(&report->findings, PS_RULE_FREE_SHARE);
    find_cpu_frequency(report);
    if (host_bound) {
        find_level(report, PS_RULE_TASK_QUEUE, "TASK_QUEUE_ENABLE", task_queue);
        find_level(report, PS_RULE_CPU_BINDING, "CPU_AFFINITY_CONF", cpu_affinity);
    }
    find_variables(report, host_bound);
}
