/* Variables of the environment, where the capture lists them. One that it does not list is not judged. */
#include <stdio.h>
#include <string.h>

#include "analyze/rank/step_index.h"
#include "analyze/report/report.h"
#include "base/literal.h"
#include "base/num.h"

typedef enum condition { COND_IS, COND_BELOW, COND_UNSET } condition;
typedef enum when { WHEN_ALWAYS, WHEN_HOST } when;

typedef struct variable {
    const char *name;
    condition condition;
    const char *operand;
    when when;
    const char *advice;
} variable;

static const variable VARIABLES[] = {
#define X(name_, condition_, operand_, when_, advice_)                                             \
    {name_, COND_##condition_, operand_, WHEN_##when_, advice_},
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

static bool has_environment_fired(const ps_findings *f, ps_rule_id rule) {
    for (size_t i = 0; i < f->n; i++) {
        if (f->all[i].rule == rule) {
            return true;
        }
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

void ps_report_environment(ps_report *report) {
    ps_findings *f = &report->findings;
    const ps_report_member *where[N_VARIABLES];
    bool host_bound = has_environment_fired(f, PS_RULE_FREE_SHARE);
    char names[256] = "";
    size_t n = 0;
    for (size_t i = 0; i < N_VARIABLES; i++) {
        where[i] = find_member(report, &VARIABLES[i], host_bound);
        if (where[i] != NULL) {
            size_t used = strlen(names);
            (void)snprintf(names + used, sizeof names - used, "%s%s", n > 0 ? ", " : "",
                           VARIABLES[i].name);
            n++;
        }
    }
    if (!ps_rule_fires(f, PS_RULE_ENVIRONMENT, (double)n)) {
        return;
    }
    ps_findings_add(
        f, (ps_finding){.rule = PS_RULE_ENVIRONMENT, .rank = -1, .stage = -1, .value = (double)n},
        "%zu variable%s of the environment may cost time: %s.", n, n == 1 ? "" : "s", names);
    for (size_t i = 0; i < N_VARIABLES; i++) {
        char room[32];
        char name[128];
        if (where[i] == NULL) {
            continue;
        }
        const char *value = ps_report_variable(where[i]->facts, VARIABLES[i].name, room);
        bool is_set = value[0] != '\0';
        (void)snprintf(name, sizeof name, "%s%s%.40s", VARIABLES[i].name, is_set ? "=" : "",
                       is_set ? value : " is not set");
        ps_findings_evidence(f, (ps_evidence){.rank = where[i]->rank,
                                              .step = PS_STEP_OUTSIDE,
                                              .start_ns = PS_NO_START,
                                              .name = name,
                                              .note = VARIABLES[i].advice});
    }
}
