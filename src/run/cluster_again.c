/* A process that knows no rank leaves a folder <host>_<pid>_<time>_ascend_pt at every run, and one for each cycle of a
 * schedule. Taken for as many ranks they would be a job that never ran. What is certain without a rank:
 *
 *  - ranks of one job run at the same time, so recordings whose times overlap are several ranks;
 *  - folders of one host and process that do not overlap are that process again: the newest counts;
 *  - processes of one host that do not overlap, not even through a third one, are one after the other: of those runs
 *    the last counts, all ranks of it.
 *
 * A process lasts from the start of its first recording to the end of its last, cycles in between it. Times are those
 * of profiler_info.json: "collector" has them where pipescope recorded, also of a process that was killed; else the
 * end and how long it took by the monotonic clock. Where a process of a host has no times, all of its processes stay;
 * clocks of different hosts are not compared. */
#include "run/cluster_again.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/literal.h"
#include "base/num.h"
#include "base/order.h"
#include "run/cluster_files.h"

#define MAX_INFO_BYTES ((size_t)16 << 20)

typedef struct recording {
    size_t row;         /* in c->ranks */
    const char *worker; /* name of the folder without its time */
    size_t n_worker, n_host;
    int64_t start_ns, end_ns;   /* Unix; of the recording */
    int64_t begun_ns, ended_ns; /* of its process */
    bool is_timed;
    bool is_copy; /* that this program made; sorted before its original */
    bool is_left_out;
} recording;

static bool is_timestamped(const ps_cluster_rank *r) {
    return r->rank < 0 && r->rank_dir != NULL && r->timestamp >= 0;
}

/* "<host>_<pid>" of "<host>_<pid>_<time>_ascend_pt"; the host alone where a name in place of both has no number. */
static void take_again_names(const ps_cluster_rank *r, recording *out) {
    const char *name = ps_path_base(r->rank_dir);
    size_t n = strlen(name) - strlen("_ascend_pt");
    while (n > 0 && name[n - 1] != '_') {
        n--;
    }
    out->worker = name;
    out->n_worker = n > 0 ? n - 1 : 0;
    n = out->n_worker;
    while (n > 0 && name[n - 1] >= '0' && name[n - 1] <= '9') {
        n--;
    }
    out->n_host = n > 0 && n < out->n_worker && name[n - 1] == '_' ? n - 1 : out->n_worker;
}

static void take_times(const ps_literal *doc, recording *out) {
    const ps_literal *ours = ps_literal_get(doc, "collector");
    const ps_literal *end = ps_literal_get(doc, "end_info");
    int64_t begun = 0;
    int64_t ended = 0;
    if (ps_literal_int(ps_literal_get(ours, "start_ns"), &out->start_ns) &&
        ps_literal_int(ps_literal_get(ours, "end_ns"), &out->end_ns)) {
        out->is_timed = true;
    } else if (ps_literal_int(ps_literal_get(end, "collectionTimeEnd"), &out->end_ns) &&
               ps_literal_int(ps_literal_get(end, "MonotonicTimeEnd"), &ended) &&
               ps_literal_int(ps_literal_get(ps_literal_get(doc, "start_info"), "start_monotonic"),
                              &begun)) {
        out->start_ns = ps_i64_minus(out->end_ns, ps_i64_minus(ended, begun));
        out->is_timed = true;
    }
    out->is_timed = out->is_timed && out->start_ns > 0 && out->start_ns <= out->end_ns;
}

/* What cannot be read gives no times. PS_NOMEM only. */
static ps_code read_times(const ps_cluster_rank *r, recording *out) {
    ps_arena arena = {0};
    ps_buf text;
    ps_err odd = PS_ERR_INIT;
    ps_buf_init(&text, MAX_INFO_BYTES);
    const char *path = ps_path_join(&arena, r->rank_dir, "profiler_info.json");
    const ps_literal *doc = NULL;
    if (path == NULL) {
        odd.code = PS_NOMEM;
    } else if (ps_is_file(path) && ps_read_file(path, MAX_INFO_BYTES, &text, &odd) == PS_OK) {
        doc = ps_literal_parse(&arena, ps_buf_str(&text), text.len, &odd);
    }
    take_times(doc, out);
    ps_buf_fini(&text);
    ps_arena_fini(&arena);
    return odd.code == PS_NOMEM ? PS_NOMEM : PS_OK;
}

/* --- which are one rank ------------------------------------------------------------------------------- */

static int compare_again_texts(const char *a, size_t n_a, const char *b, size_t n_b) {
    int order = memcmp(a, b, n_a < n_b ? n_a : n_b);
    return order != 0 ? order : n_a < n_b ? -1 : n_a > n_b;
}

/* Hosts, their processes, then time. */
static int compare_again_names(const void *a, const void *b) {
    const recording *x = a;
    const recording *y = b;
    int order = compare_again_texts(x->worker, x->n_host, y->worker, y->n_host);
    order =
        order != 0 ? order : compare_again_texts(x->worker, x->n_worker, y->worker, y->n_worker);
    order = order != 0 ? order : strcmp(x->worker, y->worker); /* to the folder's end: its time */
    return order != 0 ? order : (int)y->is_copy - (int)x->is_copy;
}

PS_COMPARE(compare_begins, recording, PS_BY(begun_ns))

static bool same_worker(const recording *a, const recording *b) {
    return compare_again_texts(a->worker, a->n_worker, b->worker, b->n_worker) == 0;
}

static bool same_host(const recording *a, const recording *b) {
    return compare_again_texts(a->worker, a->n_host, b->worker, b->n_host) == 0;
}

/* list[0..n) are of one worker, by time: all but the last are left out, and that one gets the time of all. Those that
 * overlap are several processes under one name, and may be without times where the name has no process. Returns whether
 * all have times. */
static bool join_again_worker(recording *list, size_t n) {
    bool is_timed = true;
    for (size_t i = 0; i < n; i++) {
        is_timed = is_timed && list[i].is_timed;
        list[i].begun_ns = list[i].start_ns;
        list[i].ended_ns = list[i].end_ns;
    }
    bool overlap = !is_timed && list[0].n_host == list[0].n_worker;
    int64_t end = list[0].end_ns;
    for (size_t i = 1; is_timed && i < n; i++) {
        overlap = overlap || list[i].start_ns < end;
        end = list[i].end_ns > end ? list[i].end_ns : end;
    }
    for (size_t i = 0; !overlap && i + 1 < n; i++) {
        list[i].is_left_out = true;
    }
    if (!overlap) {
        list[n - 1].begun_ns = list[0].start_ns;
    }
    return is_timed;
}

/* list[0..n) are of one host, all timed. */
static void keep_last_run(recording *list, size_t n) {
    qsort(list, n, sizeof *list, compare_begins);
    size_t first = 0; /* of the run that i is in */
    int64_t end = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        if (list[i].is_left_out) {
            continue;
        }
        if (list[i].begun_ns >= end) {
            first = i;
        }
        end = list[i].ended_ns > end ? list[i].ended_ns : end;
    }
    for (size_t i = 0; i < first; i++) {
        list[i].is_left_out = true;
    }
}

static void choose_again(recording *list, size_t n) {
    for (size_t i = 0; i < n;) {
        size_t end = i;
        bool is_timed = true;
        while (end < n && same_host(&list[i], &list[end])) {
            size_t next = end + 1;
            while (next < n && same_worker(&list[end], &list[next])) {
                next++;
            }
            is_timed = join_again_worker(list + end, next - end) && is_timed;
            end = next;
        }
        if (is_timed) {
            keep_last_run(list + i, end - i);
        }
        i = end;
    }
}

/* --- saying so ---------------------------------------------------------------------------------------- */

enum { MAX_NAMED = 3 };

static void put_folders(ps_buf *text, const ps_cluster *c, const recording *list, size_t n,
                        bool left_out) {
    size_t n_named = 0;
    for (size_t i = 0; i < n; i++) {
        if (list[i].is_left_out == left_out && n_named++ < MAX_NAMED) {
            ps_buf_addf(text, "%s%s", n_named > 1 ? ", " : "", c->ranks[list[i].row].rank_dir);
        }
    }
    ps_buf_add_str(text, n_named > MAX_NAMED ? ", ..." : "");
}

static void put_again(ps_lang lang, const ps_cluster *c, const recording *list, size_t n,
                      size_t n_left, ps_buf *out) {
    ps_buf_add_str(
        out, PS_SAY(lang,
                    "recordings without a rank are of the same process, or of runs one after the "
                    "other: the newest is read, from ",
                    "没有 rank 的录制属于同一进程或先后多次运行：读取最新的，来自 "));
    put_folders(out, c, list, n, false);
    ps_buf_addf(out, PS_SAY(lang, "; %zu other%s left out, from ", "；另有 %zu 份略去%.0s，来自 "),
                n_left, n_left == 1 ? " is" : "s are");
    put_folders(out, c, list, n, true);
    ps_buf_add_str(out, PS_SAY(lang, " (name one folder to read what is in it)",
                               "（指定其中一个目录即可读取其内容）"));
}

static bool say_again(ps_cluster *c, const recording *list, size_t n, size_t n_left) {
    ps_buf texts[PS_N_LANGS] = {{0}};
    for (int lang = 0; lang < PS_N_LANGS; lang++) {
        put_again((ps_lang)lang, c, list, n, n_left, &texts[lang]);
    }
    return ps_cluster_say(c, texts, &c->left_out);
}

/* Takes the rows of those that are left out out of c->ranks. */
static void remove_left_out(ps_cluster *c, const recording *list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (list[i].is_left_out) {
            ps_cluster_rank *r = &c->ranks[list[i].row];
            ps_diag_add(&c->diag, PS_ODD_RANK_DUPLICATE, "no rank: %s", r->rel_path);
            r->path = NULL;
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < c->n_ranks; i++) {
        if (c->ranks[i].path != NULL) {
            c->ranks[kept++] = c->ranks[i];
        }
    }
    c->n_ranks = kept;
}

ps_code ps_cluster_drop_again(ps_cluster *c) {
    size_t n = 0;
    size_t n_left = 0;
    ps_code code = PS_OK;
    for (size_t i = 0; i < c->n_ranks; i++) {
        n += is_timestamped(&c->ranks[i]);
    }
    if (n < 2) {
        return PS_OK;
    }
    recording *list = ps_calloc(n, sizeof *list);
    if (list == NULL) {
        return PS_NOMEM;
    }
    n = 0;
    for (size_t i = 0; code == PS_OK && i < c->n_ranks; i++) {
        if (is_timestamped(&c->ranks[i])) {
            list[n].row = i;
            list[n].is_copy = c->ranks[i].is_copy;
            take_again_names(&c->ranks[i], &list[n]);
            code = read_times(&c->ranks[i], &list[n++]);
        }
    }
    if (code == PS_OK) {
        qsort(list, n, sizeof *list, compare_again_names);
        choose_again(list, n);
        for (size_t i = 0; i < n; i++) {
            n_left += list[i].is_left_out;
        }
        if (n_left > 0) {
            code = say_again(c, list, n, n_left) ? PS_OK : PS_NOMEM;
            remove_left_out(c, list, n);
        }
    }
    ps_free(list);
    return code;
}
