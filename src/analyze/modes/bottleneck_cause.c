/* Two questions, as msprof-analyze asks them.
 *
 * Host or device? Of each kernel that the slow rank launched while the fast one waited: how long the host took from the
 * framework's operator to the call, and how long the kernel then lay in the queue. Where more than half lay there at
 * least 100 us longer, the device was behind; else the host did not launch in time.
 *
 * What differs? From the collective backwards the kernels of both ranks are matched by name, until both ranks are less
 * than 1 ms apart: there the ways part. Of the matched ones, the kernel that took longest beside its counterpart, and
 * the one before which the slow rank fell back most. Kernels of one name are the same work where their shapes are
 * (alike.h): else the sentence says which shapes both had, or that nobody recorded them. */
#include "analyze/modes/bottleneck_cause.h"

#include <string.h>

#include "analyze/comm/comm_list.h"
#include "analyze/rank/kernel_args.h"
#include "analyze/rank/kernel_facts.h"
#include "analyze/stats/alike.h"
#include "base/alloc.h"
#include "base/num.h"

enum { QUEUE_NS = 100000, TOGETHER_NS = 1000000, LOOK_AHEAD = 16 };

/* --- the way to a collective ------------------------------------------------------------------------------------ */

static bool add_cause_kernel(const ps_links *l, uint32_t i, ps_way *out) {
    const ps_slices *s = ps_trace_slices(l->trace);
    int64_t origin = ps_trace_origin_ns(l->trace);
    const char *name = ps_trace_text(l->trace, s->name[i]);
    uint32_t call = l->call[i];
    uint32_t op = l->op[i];
    const char *shapes = ps_kernel_shapes(l, i);
    ps_way_kernel k = {.start_ns = origin + s->start_ns[i],
                       .call_start_ns = PS_NO_TIME,
                       .call_end_ns = PS_NO_TIME,
                       .op_end_ns = PS_NO_TIME,
                       .name = ps_strpool_add(&out->names, name, strlen(name))};
    k.shapes = shapes != NULL ? ps_strpool_add(&out->names, shapes, strlen(shapes)) : PS_STR_NONE;
    k.end_ns = k.start_ns + s->dur_ns[i];
    if (call != PS_NONE) {
        k.call_start_ns = origin + s->start_ns[call];
        k.call_end_ns = k.call_start_ns + s->dur_ns[call];
    }
    if (op != PS_NONE) {
        k.op_end_ns = origin + s->start_ns[op] + s->dur_ns[op];
    }
    if (ps_str_is_none(k.name) || (shapes != NULL && ps_str_is_none(k.shapes)) ||
        !ps_grow(&out->kernels, &out->cap, out->n + 1, PS_WAY_KERNELS, sizeof *out->kernels)) {
        return false;
    }
    out->kernels[out->n++] = k;
    return true;
}

ps_code ps_way_collect(const ps_links *l, uint32_t slice, ps_way *out, ps_err *err) {
    *out = (ps_way){0};
    const ps_slices *s = ps_trace_slices(l->trace);
    int64_t step = ps_links_step(l, slice);
    bool ok = ps_strpool_init(&out->names);
    for (uint32_t i = slice; ok && i > 0 && out->n < PS_WAY_KERNELS; i--) {
        if (s->kind[i - 1] != PS_SLICE_KERNEL) {
            continue;
        }
        if (ps_links_step(l, i - 1) != step) {
            break;
        }
        ok = add_cause_kernel(l, i - 1, out);
    }
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_way_fini(ps_way *way) {
    ps_free(way->kernels);
    ps_strpool_fini(&way->names);
    *way = (ps_way){0};
}

/* --- host or device --------------------------------------------------------------------------------------------- */

/* On the clock of the slow one. */
static int64_t fast_time(const ps_lateness *l, int64_t ns) {
    return ps_i64_minus(ns, l->shift_ns);
}

static void explain_bound(ps_lang lang, const ps_lateness *l, ps_buf *out) {
    int64_t from = fast_time(l, l->fast_start_ns); /* the others wait from here on */
    size_t n = 0;
    size_t n_linked = 0;
    size_t n_queued = 0;
    int64_t busy_ns = 0;
    for (size_t i = 0; i < l->slow->n; i++) {
        const ps_way_kernel *k = &l->slow->kernels[i];
        int64_t start = k->start_ns > from ? k->start_ns : from;
        int64_t end = k->end_ns < l->slow_start_ns ? k->end_ns : l->slow_start_ns;
        if (end <= start) {
            continue;
        }
        n++;
        busy_ns = ps_i64_plus(
            busy_ns,
            ps_i64_minus(end, start)); /* of one stream; kernels side by side count twice */
        if (k->call_end_ns == PS_NO_TIME) {
            continue;
        }
        int64_t queue = k->start_ns - k->call_end_ns;
        int64_t host = k->op_end_ns != PS_NO_TIME && k->call_start_ns > k->op_end_ns
                           ? k->call_start_ns - k->op_end_ns
                           : 0;
        n_linked++;
        n_queued += queue - host > QUEUE_NS;
    }
    if (n == 0) {
        ps_buf_addf(out,
                    PS_SAY(lang, "no kernel ran meanwhile, so the host had launched none in time",
                           "期间没有核函数运行，即主机未能及时下发"));
    } else if (n_linked == 0) {
        ps_buf_addf(out,
                    PS_SAY(lang, "%zu kernel%s ran meanwhile for %s; %s not in the profile",
                           "期间有 %zu 个核函数%.0s运行了 %s；采集数据中没有其下发%.0s"),
                    n, n == 1 ? "" : "s", ps_ns_text_of(busy_ns).text,
                    n == 1 ? "its launch is" : "their launches are");
    } else {
        ps_buf_addf(
            out,
            PS_SAY(lang, "%s-bound, %zu of %zu kernel%s lay in the queue over 100 us (%s ran %s)",
                   "受限于%s，%zu/%zu 个核函数%.0s在队列中超过 100 us（%.0s共运行 %s）"),
            n_queued * 2 > n_linked ? PS_SAY(lang, "device", "设备") : PS_SAY(lang, "host", "主机"),
            n_queued, n_linked, n_linked == 1 ? "" : "s", n == 1 ? "it" : "they",
            ps_ns_text_of(busy_ns).text);
    }
}

/* --- what differs ----------------------------------------------------------------------------------------------- */

static bool cause_same_name(const ps_lateness *l, size_t i, size_t j) {
    return strcmp(ps_strpool_get(&l->slow->names, l->slow->kernels[i].name),
                  ps_strpool_get(&l->fast->names, l->fast->kernels[j].name)) == 0;
}

/* Goes on to the next pair of one name, skipping few on either side. False when there is none. */
static bool next_pair(const ps_lateness *l, size_t *i, size_t *j) {
    for (size_t skipped = 0; skipped <= LOOK_AHEAD; skipped++) {
        for (size_t a = 0; a <= skipped; a++) {
            size_t x = *i + a;
            size_t y = *j + skipped - a;
            if (x < l->slow->n && y < l->fast->n && cause_same_name(l, x, y)) {
                *i = x;
                *j = y;
                return true;
            }
        }
    }
    return false;
}

/* The i-th kernel of the slow one and the j-th of the fast one, which have one name. */
static ps_alike cause_alike(const ps_lateness *l, size_t i, size_t j) {
    enum { ONE_NAME = 1, ONE_STAGE = 1 };
    ps_str s = l->slow->kernels[i].shapes;
    ps_str f = l->fast->kernels[j].shapes;
    bool same = strcmp(ps_strpool_get(&l->slow->names, s), ps_strpool_get(&l->fast->names, f)) == 0;
    return ps_alike_of((ps_alike_facts){ONE_NAME, ONE_STAGE, ps_str_is_none(s) ? -1 : 0},
                       (ps_alike_facts){ONE_NAME, ONE_STAGE, ps_str_is_none(f) ? -1 : !same});
}

static void say_longer(ps_lang lang, const ps_lateness *l, size_t i, size_t j, int64_t longer_ns,
                       ps_buf *out) {
    const ps_way_kernel *s = &l->slow->kernels[i];
    const ps_way_kernel *f = &l->fast->kernels[j];
    ps_buf_addf(out, PS_SAY(lang, "; %.120s took %s longer", "；%.120s 多用了 %s"),
                ps_strpool_get(&l->slow->names, s->name), ps_ns_text_of(longer_ns).text);
    switch (cause_alike(l, i, j)) {
    case PS_ALIKE_SURE:
        return;
    case PS_ALIKE_UNSURE:
        ps_buf_add_str(out,
                       PS_SAY(lang, " (shapes were not recorded: that they are equal is assumed)",
                              "（未记录形状：假定相同）"));
        return;
    case PS_ALIKE_NOT:
        if (ps_str_is_none(s->shapes) || ps_str_is_none(f->shapes)) {
            ps_buf_add_str(out, PS_SAY(lang, " (shapes were recorded of one of the ranks only)",
                                       "（只有其中一个 rank 记录了形状）"));
        } else {
            ps_buf_addf(out,
                        PS_SAY(lang, " (other work: shapes %.80s, on the other rank %.80s)",
                               "（工作不同：形状 %.80s，另一 rank 为 %.80s）"),
                        ps_strpool_get(&l->slow->names, s->shapes),
                        ps_strpool_get(&l->fast->names, f->shapes));
        }
        return;
    }
}

static void explain_kernels(ps_lang lang, const ps_lateness *l, ps_buf *out) {
    int64_t longer = 0; /* of the kernel that took longest beside its counterpart */
    int64_t fallen = 0; /* of the one before which the slow rank fell back most */
    size_t longest = 0;
    size_t longest_fast = 0;
    size_t behind = 0;
    size_t i = 0;
    size_t j = 0;
    int64_t after_ns =
        ps_i64_minus(l->slow_start_ns, fast_time(l, l->fast_start_ns)); /* apart later on */
    size_t after = SIZE_MAX; /* SIZE_MAX: the collective */
    size_t n = 0;
    bool met = false;
    for (; !met && next_pair(l, &i, &j); i++, j++) {
        const ps_way_kernel *s = &l->slow->kernels[i];
        const ps_way_kernel *f = &l->fast->kernels[j];
        int64_t apart = ps_i64_minus(s->start_ns, fast_time(l, f->start_ns));
        int64_t difference = (s->end_ns - s->start_ns) - (f->end_ns - f->start_ns);
        int64_t lost = ps_i64_minus(ps_i64_minus(after_ns, apart),
                                    difference); /* between the end of this one and the later one */
        if (difference > longer) {
            longer = difference;
            longest = i;
            longest_fast = j;
        }
        if (lost > fallen) {
            fallen = lost;
            behind = after;
        }
        after_ns = apart;
        after = i;
        n++;
        met = apart < TOGETHER_NS && apart > -TOGETHER_NS;
    }
    if (n == 0) {
        ps_buf_addf(out, PS_SAY(lang, "; no kernels of both ranks could be matched",
                                "；两个 rank 的核函数无法匹配"));
        return;
    }
    if (longer > 0) {
        say_longer(lang, l, longest, longest_fast, longer, out);
    }
    if (fallen > 0) {
        ps_buf_addf(out, PS_SAY(lang, "; %s were lost before %.120s", "；%s 损失于 %.120s 之前"),
                    ps_ns_text_of(fallen).text,
                    behind == SIZE_MAX
                        ? PS_SAY(lang, "the operator itself", "该算子本身")
                        : ps_strpool_get(&l->slow->names, l->slow->kernels[behind].name));
    }
}

void ps_lateness_explain(ps_lang lang, const ps_lateness *l, ps_buf *out) {
    ps_buf_addf(out,
                PS_SAY(lang, "rank %lld began %s after rank %lld: ",
                       "rank %lld 晚了 %s 开始（相对 rank %lld）："),
                (long long)l->slow_rank,
                ps_ns_text_of(ps_i64_minus(l->slow_start_ns, fast_time(l, l->fast_start_ns))).text,
                (long long)l->fast_rank);
    if (l->slow == NULL || l->slow->n == 0) {
        ps_buf_addf(out,
                    PS_SAY(lang, "its kernels are not in the profile", "采集数据中没有其核函数"));
        return;
    }
    explain_bound(lang, l, out);
    if (l->fast != NULL && l->fast->n > 0) {
        explain_kernels(lang, l, out);
    }
}

static void way_kernel_archive(ps_archive *a, void *kernel) {
    ps_way_kernel *x = kernel;
    PS_ARCHIVE(a, x, start_ns, end_ns, call_start_ns, call_end_ns, op_end_ns, name, shapes);
}

void ps_way_archive(ps_archive *a, void *way) {
    ps_way *x = way;
    ps_strpool *before = ps_archive_use_pool(a, &x->names);
    PS_ARCHIVE_ARRAY(a, x, kernels, n, way_kernel_archive);
    (void)ps_archive_use_pool(a, before);
}
