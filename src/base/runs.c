#include "base/runs.h"

#include "base/num.h"
#include "base/sort.h"

/* How many different ones there are, which then come first. */
static size_t sort_numbers(int64_t *numbers, size_t n) {
    ps_sort(numbers, n, sizeof *numbers, ps_compare_i64);
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || numbers[i] != numbers[k - 1]) {
            numbers[k++] = numbers[i];
        }
    }
    return k;
}

static uint64_t step_before(const int64_t *numbers, size_t i) {
    return (uint64_t)numbers[i] - (uint64_t)numbers[i - 1];
}

/* Of the numbers from `i` on. */
static size_t length_of_run(const int64_t *numbers, size_t n, size_t i) {
    size_t end = i + 1;
    while (end < n && step_before(numbers, end) == step_before(numbers, i + 1)) {
        end++;
    }
    bool is_run = end - i >= 3 || (end - i == 2 && step_before(numbers, i + 1) == 1);
    return is_run ? end - i : 1;
}

void ps_buf_add_runs(ps_buf *out, int64_t *numbers, size_t n, size_t max_runs) {
    size_t n_runs = 0;
    n = sort_numbers(numbers, n);
    for (size_t i = 0; i < n;) {
        if (n_runs++ == max_runs && max_runs > 0) {
            ps_buf_add_str(out, ", ...");
            return;
        }
        size_t length = length_of_run(numbers, n, i);
        ps_buf_addf(out, "%s%lld", i > 0 ? ", " : "", (long long)numbers[i]);
        if (length > 1) {
            ps_buf_addf(out, "-%lld", (long long)numbers[i + length - 1]);
            uint64_t step = step_before(numbers, i + 1);
            if (step > 1) {
                ps_buf_addf(out, " by %llu", (unsigned long long)step);
            }
        }
        i += length;
    }
}

ps_code ps_fail_no_such(ps_err *err, ps_code code, const char *what, int64_t wanted, int64_t *there,
                        size_t n) {
    enum { MOST_SAID = 16 };
    ps_buf list = {0};
    ps_buf_add_runs(&list, there, n, MOST_SAID);
    bool is_whole = ps_buf_ok(&list);
    code = is_whole && n > 0 ? ps_fail_said(err, code, "%s %lld: no such %s; there are: %s",
                                            "%s %lld：没有这样的 %s；现有：%s", what,
                                            (long long)wanted, what, ps_buf_str(&list))
           : is_whole
               ? ps_fail_said(err, code, "%s %lld: no such %s; there are none",
                              "%s %lld：没有这样的 %s；一个也没有", what, (long long)wanted, what)
               : ps_fail_nomem(err);
    ps_buf_fini(&list);
    return code;
}
