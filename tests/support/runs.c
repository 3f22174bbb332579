#include "support/runs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

ps_run_opts default_opts(void) {
    return (ps_run_opts){.n_threads = 2, .analysis = {.step_id = -1}};
}

void run_mode(outcome *o, const char *path, const char *mode, const ps_run_opts *opts) {
    *o = (outcome){.err = PS_ERR_INIT};
    ps_run_opts usual = default_opts();
    const ps_analysis *analysis = ps_analysis_find(mode);
    assert_non_null(analysis);
    o->cluster = ps_cluster_find(path, &o->err);
    assert_non_null(o->cluster);
    assert_true(o->cluster->n_ranks > 0 && o->cluster->n_ranks <= 64);
    const ps_cluster_rank *ranks[64];
    for (size_t r = 0; r < o->cluster->n_ranks; r++) {
        ranks[r] = &o->cluster->ranks[r];
    }
    o->run = ps_run_analyses(&analysis, 1, o->cluster, ranks, o->cluster->n_ranks,
                             opts != NULL ? opts : &usual, &o->err);
}

void outcome_fini(outcome *o) {
    ps_run_free(o->run);
    ps_cluster_free(o->cluster);
}

void run_pp_chart(const char *path, const ps_run_opts *opts) {
    outcome o;
    run_mode(&o, path, "pp_chart", opts);
    if (o.run == NULL) {
        fail_msg("pp_chart: %s", o.err.msg);
    }
    for (size_t r = 0; r < o.run->n_ranks; r++) {
        if (o.run->ranks[r].status != PS_RANK_DONE) {
            fail_msg("rank %lld: %s", (long long)o.run->ranks[r].rank->rank,
                     o.run->ranks[r].err.msg);
        }
    }
    outcome_fini(&o);
}

uint64_t count_oddity(const outcome *o, ps_oddity kind) {
    uint64_t n = 0;
    for (size_t r = 0; r < o->run->n_ranks; r++) {
        n += o->run->ranks[r].diag.counts[kind];
    }
    return n;
}

const ps_rank_report *report_of(const outcome *o, int64_t rank) {
    for (size_t r = 0; r < o->run->n_ranks; r++) {
        if (o->run->ranks[r].rank->rank == rank) {
            return &o->run->ranks[r];
        }
    }
    fail_msg("there is no rank %lld", (long long)rank);
    return NULL;
}

static void run_child(const char *bin, char *const *argv, int out) {
    int null = open("/dev/null", O_RDONLY);
    if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
        dup2(out, STDERR_FILENO) >= 0) {
        (void)execv(bin, argv);
    }
    _exit(127);
}

int run_program(ps_buf *said, ...) {
    char *bin = getenv("PIPESCOPE_BIN");
    if (bin == NULL || bin[0] == '\0') {
        skip();
    }
    char *argv[32] = {bin};
    size_t n = 1;
    va_list ap;
    va_start(ap, said);
    for (char *arg = va_arg(ap, char *); arg != NULL; arg = va_arg(ap, char *)) {
        assert_true(n < 31);
        argv[n++] = arg;
    }
    va_end(ap);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        run_child(bin, argv, ends[1]);
    }
    close(ends[1]);
    ps_buf text;
    ps_buf_init(&text, 0);
    char block[4096];
    for (ssize_t got = 0; (got = read(ends[0], block, sizeof block)) > 0;) {
        ps_buf_add(&text, block, (size_t)got);
    }
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 4) {
        fail_msg("the program ended with status %d: %s", status, ps_buf_str(&text));
    }
    if (said != NULL) {
        *said = text;
    } else {
        ps_buf_fini(&text);
    }
    return WEXITSTATUS(status);
}

bool contains(const ps_buf *text, const char *part) {
    return strstr(ps_buf_str(text), part) != NULL;
}

size_t count_lines_with(const ps_buf *text, const char *part) {
    size_t n = 0;
    for (const char *line = ps_buf_str(text); *line != '\0';) {
        size_t len = strcspn(line, "\n");
        const char *at = strstr(line, part);
        n += at != NULL && at < line + len;
        line += len + (line[len] == '\n');
    }
    return n;
}
