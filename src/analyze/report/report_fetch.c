/* What a process does while its device waits for a batch: it waits for the workers that read it, or it works on the batch itself
 * (unpickles what a worker sent, collates, pins, reads where there are no workers). More workers help against the first only.
 *
 * Python frames tell (with_stack=True):
 *
 *   dataloader.py(625): __next__                               fetching a batch
 *     multiprocessing/queues.py(98): get
 *       multiprocessing/connection.py(917): wait               Python's own part: makes a selector, registers, closes
 *         <built-in method poll of select.poll object ...>     waits
 *       <built-in function loads>                              unpickles, whatever lies in it
 *
 * Where built-in functions were recorded only these wait: of 104 us in `poll` of Ascend's sample 9 are spent in the built-in. Where
 * they were not, the frames around them stand for them. Without frames nobody knows, but for an iterator without workers: that
 * reads itself. */
#include <stdio.h>
#include <string.h>

#include "analyze/report/report.h"
#include "base/text.h"

#define MAX_UP 256 /* ranges around a slice that are looked at */

/* --- names --------------------------------------------------------------------------------------------------------------- */

/* Built-in functions as the profiler of PyTorch writes them: "<built-in method poll of select.poll object at 0x7f..>". */
static ps_fetch fetch_of_builtin(const char *name) {
    static const char *const WAITS[] = {
        "<built-in method poll of select.",       "<method 'poll' of 'select.",
        "<built-in method acquire of _thread.",   "<method 'acquire' of '_thread.",
        "<built-in method __enter__ of _thread.", "<method '__enter__' of '_thread."};
    for (size_t i = 0; i < sizeof WAITS / sizeof *WAITS; i++) {
        if (ps_begins_with(name, WAITS[i])) {
            return PS_FETCH_WAIT;
        }
    }
    return strcmp(name, "<built-in function select>") == 0  ? PS_FETCH_WAIT
           : strcmp(name, "<built-in function loads>") == 0 ? PS_FETCH_UNPICKLE
                                                            : PS_N_FETCHES;
}

static bool is_builtin(const char *name) {
    return ps_begins_with(name, "<built-in ") || ps_begins_with(name, "<method ");
}

/* PS_N_FETCHES: says nothing of it. */
static ps_fetch fetch_of_frame(const char *name, bool has_builtins) {
    static const struct {
        const char *file, *function;
        ps_fetch fetch;
    } FRAMES[] = {
        {"multiprocessing/connection.py", "wait", PS_FETCH_WAIT},
        {"multiprocessing/connection.py", "poll", PS_FETCH_WAIT},
        {"selectors.py", "select", PS_FETCH_WAIT},
        {"threading.py", "wait", PS_FETCH_WAIT},
        {"pickle.py", "_loads", PS_FETCH_UNPICKLE},
        {"torch/utils/data/_utils/collate.py", NULL, PS_FETCH_COLLATE},
        {"torch/utils/data/_utils/pin_memory.py", NULL, PS_FETCH_PIN},
        {"torch/utils/data/_utils/fetch.py", "fetch", PS_FETCH_READ},
    };
    for (size_t i = 0; i < sizeof FRAMES / sizeof *FRAMES; i++) {
        if (ps_is_python_frame(name, FRAMES[i].file, FRAMES[i].function)) {
            bool is_own_part = has_builtins && FRAMES[i].fetch == PS_FETCH_WAIT;
            return is_own_part ? PS_N_FETCHES : FRAMES[i].fetch;
        }
    }
    return fetch_of_builtin(name);
}

/* --- what is done -------------------------------------------------------------------------------------------------------- */

typedef struct fetching {
    const ps_host_activity *host;
    const ps_trace *trace;
    const ps_slices *s;
    bool has_builtins; /* functions that are not Python's were recorded, too */
} fetching;

static bool any_builtin(const ps_trace *trace) {
    const ps_slices *s = ps_trace_slices(trace);
    bool any = false;
    for (uint32_t i = 0; !any && i < s->n; i++) {
        any = s->kind[i] == PS_SLICE_PYTHON && is_builtin(ps_trace_text(trace, s->name[i]));
    }
    return any;
}

/* Of the innermost slice at a moment, inside of `from`. The innermost name that says something counts, but for unpickling, in which
 * waiting and reading are its own. */
static ps_fetch fetch_of(const fetching *x, uint32_t slice, uint32_t from) {
    ps_fetch found = PS_N_FETCHES;
    bool any_frame = false;
    uint32_t at = slice;
    for (int k = 0; at != PS_NONE && k < MAX_UP; k++, at = x->host->links->parent[at]) {
        const char *name = ps_trace_text(x->trace, x->s->name[at]);
        bool is_frame = x->s->kind[at] == PS_SLICE_PYTHON;
        ps_fetch here = is_frame ? fetch_of_frame(name, x->has_builtins) : PS_N_FETCHES;
        bool is_own = ps_begins_with(name, "enumerate(DataLoader)#_SingleProcessDataLoaderIter");
        here = is_own ? PS_FETCH_READ : here;
        any_frame = any_frame || is_frame;
        found = here == PS_FETCH_UNPICKLE || found == PS_N_FETCHES ? here : found;
        if (at == from || found == PS_FETCH_UNPICKLE) {
            break;
        }
    }
    return found != PS_N_FETCHES        ? found
           : any_frame || slice != from ? PS_FETCH_OTHER
                                        : PS_FETCH_UNKNOWN;
}

static void take_piece(const fetching *x, const ps_idle_piece *p, int64_t *sums_ns) {
    uint32_t row = x->host->thread_of[x->s->track[p->from]];
    if (row == PS_NONE) {
        sums_ns[PS_FETCH_UNKNOWN] = ps_i64_plus(sums_ns[PS_FETCH_UNKNOWN], p->end_ns - p->start_ns);
        return;
    }
    const ps_host_thread *t = &x->host->threads[row];
    size_t low = 0;
    for (size_t high = t->n; low < high;) {
        size_t mid = low + (high - low) / 2;
        if (t->moments[mid].start_ns <= p->start_ns) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    for (int64_t at = p->start_ns; at < p->end_ns; low++) {
        uint32_t slice = low > 0 ? t->moments[low - 1].slice : PS_NONE;
        int64_t end = low < t->n && t->moments[low].start_ns < p->end_ns ? t->moments[low].start_ns
                                                                         : p->end_ns;
        int64_t *sum = &sums_ns[slice != PS_NONE ? fetch_of(x, slice, p->from) : PS_FETCH_UNKNOWN];
        *sum = ps_i64_plus(*sum, end - at);
        at = end;
    }
}

void ps_report_gather_fetches(const ps_host_activity *host, const ps_idle *idle,
                              ps_report_rank *r) {
    const ps_trace *trace = host->links->trace;
    fetching x = {host, trace, ps_trace_slices(trace), any_builtin(trace)};
    for (size_t i = 0; i < idle->n; i++) {
        if (idle->at[i].cause == PS_ACTIVITY_DATA && idle->at[i].from != PS_NONE) {
            take_piece(&x, &idle->at[i], r->fetch_ns);
        }
    }
}

/* --- what is said ---------------------------------------------------------------------------------------------------------- */

static const char *const WORK[PS_N_FETCHES][PS_N_LANGS] = {
    [PS_FETCH_UNPICKLE] = {"unpickling", "反序列化"},
    [PS_FETCH_COLLATE] = {"collating", "整理成批"},
    [PS_FETCH_PIN] = {"pinning", "锁页"},
    [PS_FETCH_READ] = {"reading", "读取"},
    [PS_FETCH_OTHER] = {"other work", "其他工作"}};

static int64_t worked_ns(const ps_report_rank *r) {
    int64_t sum_ns = 0;
    for (int k = 0; k < PS_N_FETCHES; k++) {
        sum_ns = ps_i64_plus(sum_ns, WORK[k][PS_ENGLISH] != NULL ? r->fetch_ns[k] : 0);
    }
    return sum_ns;
}

void ps_report_say_fetch(const ps_report_member *m, char *out, size_t size) {
    const ps_lang lang = m->lang;
    const ps_report_rank *r = m->facts;
    int64_t n = r->n_steps > 0 ? (int64_t)r->n_steps : 1;
    size_t at = 0;
    out[0] = '\0';
    if (r->fetch_ns[PS_FETCH_WAIT] / n > 0) {
        at += (size_t)snprintf(out, size,
                               PS_SAY(lang, " For %s of it the process waits for its workers.",
                                      "其中 %s 进程在等待其 worker。"),
                               ps_ns_text_of(r->fetch_ns[PS_FETCH_WAIT] / n).text);
    }
    if (at < size && worked_ns(r) / n > 0) {
        at += (size_t)snprintf(out + at, size - at,
                               PS_SAY(lang, " For %s of it the process works on the batch itself (",
                                      "其中 %s 进程自己在处理该批数据（"),
                               ps_ns_text_of(worked_ns(r) / n).text);
        bool any = false;
        for (int k = 0; k < PS_N_FETCHES && at < size; k++) {
            if (WORK[k][lang] != NULL && r->fetch_ns[k] / n > 0) {
                at += (size_t)snprintf(out + at, size - at, "%s%s %s",
                                       any ? PS_SAY(lang, ", ", "、") : "", WORK[k][lang],
                                       ps_ns_text_of(r->fetch_ns[k] / n).text);
                any = true;
            }
        }
        at += at < size ? (size_t)snprintf(out + at, size - at, PS_SAY(lang, ").", "）。")) : 0;
    }
    if (at < size && r->fetch_ns[PS_FETCH_UNKNOWN] / n > 0) {
        (void)snprintf(
            out + at, size - at,
            PS_SAY(
                lang,
                " For %s of it nobody knows whether the process waits for workers or works itself: "
                "Python frames (with_stack=True) would tell.",
                "其中 %s 不清楚进程是在等待 worker 还是自己在工作：Python 调用栈（with_stack=True）可以说明。"),
            ps_ns_text_of(r->fetch_ns[PS_FETCH_UNKNOWN] / n).text);
    }
}

const char *ps_report_fetch_remedy(const ps_report_member *m) {
    const ps_lang lang = m->lang;
    const int64_t *ns = m->facts->fetch_ns;
    int64_t read_ns = ps_i64_plus(ns[PS_FETCH_READ], ns[PS_FETCH_COLLATE]);
    int64_t work_ns = worked_ns(m->facts);
    if (ns[PS_FETCH_UNKNOWN] > work_ns && ns[PS_FETCH_UNKNOWN] > ns[PS_FETCH_WAIT]) {
        return PS_SAY(
            lang,
            "See first what it does there (with_stack=True). If it waits for its workers: more of them, "
            "prefetch_factor, persistent_workers=True, decode before the training. If it works on the "
            "batch itself: pin_memory=True, whose thread opens batches ahead.",
            "先看进程在那里做什么（with_stack=True）。若在等待 worker：增加 worker、prefetch_factor、persistent_workers=True，训练前先解码。若自己在处理数据：pin_memory=True，其线程会提前打开各批数据。");
    }
    if (work_ns <= ns[PS_FETCH_WAIT]) {
        return NULL;
    }
    return read_ns > work_ns / 2
               ? PS_SAY(
                     lang,
                     "num_workers above 0: the process reads and collates batches itself; then "
                     "prefetch_factor, persistent_workers=True, pin_memory=True.",
                     "把 num_workers 设为大于 0：目前进程自己读取并整理各批数据；再设置 prefetch_factor、persistent_workers=True、pin_memory=True。")
               : PS_SAY(
                     lang,
                     "The batch is there and the process opens it itself, so more workers do not help: "
                     "pin_memory=True, whose thread opens and pins batches ahead of the loop.",
                     "数据已到而进程自己打开它，增加 worker 没有帮助：pin_memory=True，其线程会在循环之前打开并锁页各批数据。");
}
