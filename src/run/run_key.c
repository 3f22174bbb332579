#include "run/run_key.h"

#include <unistd.h>

#include "analyze/core/analysis_options.h"
#include "analyze/report/report_rules.h"
#include "analyze/whatif/whatif_causes.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/version.h"
#include "model/comm_kernels.h"

#define MAX_PROGRAM_BYTES ((size_t)1 << 30)

void ps_hash_key_add(const void *bytes, size_t n, ps_buf *out) {
    uint64_t first = ps_hash64(bytes, n);
    uint64_t both[2] = {first, n > 0 ? ps_hash64((const char *)bytes + n / 2, n - n / 2) : 0};
    ps_buf_addf(out, "%016llx%016llx", (unsigned long long)first,
                (unsigned long long)ps_hash64(both, sizeof both));
}

/* Where the system never shows a program its own file, the version has to do. A file that could not be read this time would make another
 * key than the next time. */
ps_code ps_program_key_add(ps_buf *out, ps_err *err) {
    static const char OWN[] = "/proc/self/exe";
    ps_buf program;
    ps_buf_init(&program, MAX_PROGRAM_BYTES);
    ps_buf_addf(out, "pipescope %s ", PS_VERSION);
    ps_code code =
        access(OWN, R_OK) != 0 ? PS_OK : ps_read_file(OWN, MAX_PROGRAM_BYTES, &program, err);
    if (program.len > 0) {
        ps_hash_key_add(program.data, program.len, out);
    }
    ps_buf_add_char(out, '\n');
    ps_buf_fini(&program);
    return code == PS_OK && !ps_buf_ok(out) ? ps_fail_nomem(err) : code;
}

static void add_reals(const double *at, size_t n, ps_buf *out) {
    for (size_t i = 0; at != NULL && i < n; i++) {
        ps_buf_addf(out, " %a", at[i]);
    }
    ps_buf_add_char(out, '\n');
}

void ps_run_key_add(const ps_analysis *const *analyses, size_t n_analyses,
                    const ps_analysis_opts *opts, ps_buf *out) {
    for (size_t a = 0; a < n_analyses; a++) {
        ps_buf_addf(out, "%s ", analyses[a]->name);
    }
    ps_buf_addf(out, "\n%d %d %llx\n", opts->in_full, opts->one_of_several,
                (unsigned long long)ps_comm_rules_hash());
    add_reals(opts->thresholds, PS_N_RULES, out);
    add_reals(opts->cause_thresholds, PS_N_WHATIF_THRESHOLDS, out);
    ps_analysis_opts_key(opts, UINT32_MAX, out);
}
