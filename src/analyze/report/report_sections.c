/* What there is to say of each section of the report beside its findings: what was not judged, for want of what, and else
 * that nothing is over its threshold. Every page prints it; nothing is called fine that nobody could look at. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/report/report.h"
#include "base/num.h"

typedef struct section_row {
    const char *section, *said;
} section_row;

static const ps_column SECTIONS[] = {{.name = "section", PS_FIELD(section_row, section)},
                                     {.name = "said", PS_FIELD(section_row, said)}};

#define NOTHING_OVER(lang) PS_SAY(lang, "Nothing is over its threshold.", "没有超过阈值的。")

typedef struct said {
    ps_lang lang;
    bool is_not_judged; /* the section as a whole */
    char text[768];
    size_t n;
} said;

/* A sentence, after a space where one stands before it and the language has them. */
static void PS_PRINTF(2, 3) say(said *s, const char *fmt, ...) {
    va_list args;
    if (s->n > 0 && s->n + 1 < sizeof s->text && s->lang == PS_ENGLISH) {
        s->text[s->n++] = ' ';
    }
    va_start(args, fmt);
    int n = vsnprintf(s->text + s->n, sizeof s->text - s->n, fmt, args);
    va_end(args);
    size_t more = n > 0 ? (size_t)n : 0;
    s->n = s->n + more < sizeof s->text ? s->n + more : sizeof s->text - 1;
}

/* A sentence that begins with that the section is not judged. */
#define say_not_judged(s, ...) ((s)->is_not_judged = true, say(s, __VA_ARGS__))

/* --- what the ranks hold ------------------------------------------------------------------------------------------------ */

typedef struct holdings {
    bool any_computing, any_launches, any_calls, any_kernels, any_flops;
    bool any_communication, any_exposed, any_links, any_host_comm;
    size_t n_without_timeline;
} holdings;

static bool has_flops(const ps_report_rank *r) {
    bool any = false;
    for (size_t i = 0; i < r->n_kernels && !any; i++) {
        any = r->kernels[i].flops > 0;
    }
    return any;
}

static bool has_communication(const ps_report_rank *r) {
    bool any = r->comm.n > 0;
    for (size_t i = 0; i < r->n_steps && !any; i++) {
        any = r->steps[i].communication_ns > 0;
    }
    return any;
}

static holdings look_at_members(const ps_report *report) {
    holdings h = {.any_computing = false};
    for (size_t i = 0; i < report->n_members; i++) {
        const ps_report_member *m = &report->members[i];
        h.any_computing = h.any_computing || m->computing_ns > 0;
        h.any_launches = h.any_launches || m->facts->n_launches > 0;
        h.any_calls = h.any_calls || m->facts->any_calls;
        h.any_kernels = h.any_kernels || m->facts->n_kernels > 0;
        h.any_flops = h.any_flops || has_flops(m->facts);
        h.any_communication = h.any_communication || has_communication(m->facts);
        h.any_host_comm = h.any_host_comm || m->facts->any_host_comm;
        h.any_exposed = h.any_exposed || m->exposed_ns > 0;
        h.any_links = h.any_links || (m->facts->part != NULL && m->facts->part->tables.n_links > 0);
        h.n_without_timeline += m->facts->no_timeline != NULL;
    }
    return h;
}

static size_t findings_of(const ps_report *report, ps_report_section section) {
    size_t n = 0;
    for (size_t i = 0; i < report->findings.n; i++) {
        n += ps_rule_of(report->findings.all[i].rule)->section == section;
    }
    return n;
}

/* The number of the finding that says that the capture holds only a part, or may do; 0: it holds all. */
static size_t part_finding(const ps_report *report) {
    for (size_t i = 0; i < report->findings.n; i++) {
        if (report->findings.all[i].rule == PS_RULE_THINNED) {
            return i + 1;
        }
    }
    return 0;
}

/* "the capture holds only a part of the events (finding 1)" */
static const char *part_text(const ps_report *report, char out[96]) {
    const ps_lang lang = report->findings.lang;
    size_t part = part_finding(report);
    bool is_known = part == 0 || report->findings.all[part - 1].title == NULL;
    (void)snprintf(out, 96, PS_SAY(lang, "%s (finding %zu)", "%s（发现 %zu）"),
                   is_known ? PS_SAY(lang, "the capture holds only a part of the events",
                                     "采集数据只有一部分事件")
                            : PS_SAY(lang, "whether the capture holds all events is not known",
                                     "采集数据是否包含全部事件不得而知"),
                   part);
    return out;
}

static bool is_found(const ps_report *report, ps_rule_id rule) {
    bool found = false;
    for (size_t i = 0; i < report->findings.n && !found; i++) {
        found = report->findings.all[i].rule == rule;
    }
    return found;
}

/* --- the sections ------------------------------------------------------------------------------------------------------- */

static void say_dispatch(const ps_report *report, const holdings *h, size_t n, said *s) {
    const ps_lang lang = report->findings.lang;
    size_t part = part_finding(report);
    char text[96];
    if (report->has_host_times) {
        say_not_judged(
            s,
            PS_SAY(
                lang,
                "Not judged: the times of the devices are the host's (no GPU was recorded), so nothing was launched "
                "and no device waited for the host.",
                "未判断：设备时间是主机的时间（没有录制 GPU），因此没有下发，也没有设备等待主机。"));
    } else if (h->n_without_timeline > 0 && h->n_without_timeline == report->n_members) {
        say_not_judged(
            s,
            PS_SAY(
                lang,
                "Not judged: what the host did, launches and copies are only in the timeline, which is not there "
                "(trace_view.json, or msprof_*.json of msprof). Idle time of the device is all that is known.",
                "未判断：主机的工作、下发与拷贝只在时间线中，而时间线不在（trace_view.json，或 msprof 的 msprof_*.json）。已知的只有设备的空闲时间。"));
    } else if (h->n_without_timeline > 0) {
        say(s,
            PS_SAY(
                lang,
                "Of ranks without their timeline (trace_view.json, or msprof_*.json of msprof) nobody knows what the "
                "host did, launches and copies: only their idle time is judged.",
                "没有时间线（trace_view.json，或 msprof 的 msprof_*.json）的 rank，其主机的工作、下发与拷贝不得而知：只判断其空闲时间。"));
    } else if (part > 0 && n == 0) {
        say_not_judged(s, PS_SAY(lang, "Not judged: %s.", "未判断：%s。"), part_text(report, text));
    } else if (!h->any_computing) {
        say_not_judged(s, PS_SAY(lang, "Not judged: the profile has no computing kernels.",
                                 "未判断：采集数据中没有计算核函数。"));
    } else if (!h->any_launches) {
        say_not_judged(
            s,
            h->any_calls
                ? PS_SAY(
                      lang,
                      "Not judged: nothing connects the host's calls into the driver with what they launched, so whether the "
                      "device waited for the host is not known.",
                      "未判断：主机的驱动调用与其下发的工作没有关联，因此设备是否等待主机不得而知。")
                : PS_SAY(
                      lang,
                      "Not judged: the profile holds no launches (calls of the host into the driver), so whether the device "
                      "waited for the host is not known.",
                      "未判断：采集数据中没有下发（主机的驱动调用），因此设备是否等待主机不得而知。"));
    } else if (n == 0) {
        say(s, NOTHING_OVER(s->lang));
    }
}

/* Findings of a section look at other things than what is not judged, which is said beside them. */
static void say_compute_lacks(const ps_report *report, const holdings *h, size_t n, said *s) {
    const ps_lang lang = report->findings.lang;
    if (!h->any_kernels && n > 0) {
        say(s,
            PS_SAY(
                lang,
                "The profile says when the devices computed, and not which kernels ran: these are not "
                "judged.",
                "采集数据只说明设备何时在计算，没有说明运行了哪些核函数：不作判断。"));
    } else if (!h->any_flops && !is_found(report, PS_RULE_FLOPS_DOUBT)) {
        say(s,
            PS_SAY(
                lang,
                "How near kernels come to the chip's peak is not judged: of none are the FLOPs and the peak known "
                "(shapes of inputs; --peak-tflops).",
                "核函数离芯片峰值多远不作判断：没有一个的 FLOPs 与峰值是已知的（输入的形状；--peak-tflops）。"));
    }
}

static void say_compute(const ps_report *report, const holdings *h, size_t n, said *s) {
    const ps_lang lang = report->findings.lang;
    size_t part = part_finding(report);
    char text[96];
    if (part > 0 && n > 0) {
        say(s,
            PS_SAY(
                lang,
                "As %s, what part of the computing a kernel takes, and what a step would gain, is not judged.",
                "由于%s，核函数占计算的比例与 step 的收益不作判断。"),
            part_text(report, text));
    } else if (part > 0) {
        say_not_judged(
            s,
            PS_SAY(lang,
                   "Not judged: %s, so what part of the computing a kernel takes is not known.",
                   "未判断：%s，因此核函数占计算的比例不得而知。"),
            part_text(report, text));
        return;
    } else if (n == 0 && !h->any_computing) {
        say_not_judged(s, PS_SAY(lang, "Not judged: the profile has no computing kernels.",
                                 "未判断：采集数据中没有计算核函数。"));
        return;
    } else if (n == 0 && !h->any_kernels) {
        say_not_judged(
            s,
            PS_SAY(
                lang,
                "Not judged: the profile says when the devices computed, and not which kernels ran.",
                "未判断：采集数据只说明设备何时在计算，没有说明运行了哪些核函数。"));
        return;
    } else if (n == 0) {
        say(s, NOTHING_OVER(s->lang));
    }
    say_compute_lacks(report, h, n, s);
}

static void say_marks(const ps_report *report, size_t n, said *s) {
    const ps_lang lang = report->findings.lang;
    bool is_host = strcmp(report->comm_from_marks, "host") == 0;
    if (n == 0) {
        say(s, NOTHING_OVER(s->lang));
    }
    say(s,
        is_host
            ? PS_SAY(
                  lang,
                  "The operators come from communication marks, times of the host: a send or a receive holds its "
                  "waiting for the other end, too.",
                  "算子来自通信打点，时间是主机的：发送或接收也包含对另一端的等待。")
            : PS_SAY(lang, "The operators come from communication marks, times of the stream.",
                     "算子来自通信打点，时间是流的。"));
}

/* What the rules of communication look at beside the operators of a rank. */
static void say_comm_lacks(const ps_report *report, const holdings *h, said *s) {
    const ps_lang lang = report->findings.lang;
    if (h->any_host_comm) {
        say(s,
            PS_SAY(
                lang,
                "The operators are those of gloo on the host: how much of them computing hides, and "
                "between whom a send or a receive goes, is not told.",
                "算子是主机上 gloo 的操作：计算掩盖了其中多少、发送与接收在谁之间，无从得知。"));
    }
    if (report->n_members == 1 && report->job.n_ranks != 1) {
        say(s, PS_SAY(lang, "Who waits for whom is not judged: one rank is here.",
                      "谁等谁不作判断：此处只有一个 rank。"));
    }
    if (!h->any_links) {
        say(s, PS_SAY(lang, "The speed of links is not judged: the profile has no table of them.",
                      "链路速度不作判断：采集数据中没有链路表。"));
    }
}

static void say_comm(const ps_report *report, const holdings *h, size_t n, said *s) {
    const ps_lang lang = report->findings.lang;
    size_t part = part_finding(report);
    char text[96];
    if (report->comm_from_marks != NULL) {
        say_marks(report, n, s);
    } else if (n == 0 && part > 0) {
        say_not_judged(s, PS_SAY(lang, "Not judged: %s.", "未判断：%s。"), part_text(report, text));
    } else if (n == 0 && !h->any_communication) {
        say_not_judged(s, PS_SAY(lang, "Not judged: no communication was recorded.",
                                 "未判断：没有录制通信。"));
    } else if (n == 0 && h->any_computing && !h->any_exposed) {
        say(s, PS_SAY(lang, "Nothing is over its threshold: computing hides all communication.",
                      "没有超过阈值的：计算掩盖了全部通信。"));
        say_comm_lacks(report, h, s);
    } else {
        if (part > 0) {
            say(s,
                PS_SAY(lang, "As %s, who comes late, and what nothing hides, is not judged.",
                       "由于%s，谁迟到、哪些未掩盖不作判断。"),
                part_text(report, text));
        } else if (n == 0) {
            say(s, NOTHING_OVER(s->lang));
        }
        say_comm_lacks(report, h, s);
    }
}

/* A bubble is told of some stage. */
static bool has_bubble(const ps_chart *chart) {
    bool any = false;
    for (size_t i = 0; i < chart->n_figures && !any; i++) {
        any = chart->figures[i].is_judged;
    }
    return any;
}

/* No chart: what the ranks say of being a pipeline, and what is missing. */
static void say_no_chart(const ps_report *report, said *s) {
    const ps_lang lang = report->findings.lang;
    if (report->n_stages > 1) {
        say_not_judged(
            s,
            PS_SAY(
                lang,
                "Not judged: %s that the ranks are a pipeline of %lld stages, but nothing in the profile says what is a "
                "forward and what a backward (marks with a device side, labels of a framework, jobs, forward-backward "
                "flows), so there is no chart and no bubble is told. Name them (docs/marks.md), or give rules that match "
                "their ranges: pipescope chart --forward-re, --backward-re.",
                "未判断：%s这些 rank 是 %lld 个阶段的流水线，但采集数据没有说明哪些是前向、哪些是反向（带设备侧的打点、框架标签、job、前向到反向的连线），因此没有流水线图，也不给出空泡。请命名它们（docs/marks.md），或给出匹配其 range 的规则：pipescope chart --forward-re、--backward-re。"),
            report->stages_by_group
                ? PS_SAY(lang, "the process groups say", "进程组表明")
                : PS_SAY(lang, "the sizes of the job say", "作业的并行规模表明"),
            (long long)report->n_stages);
    } else if (report->n_stages == 1) {
        say(s, PS_SAY(lang, "The sizes of the job say that it is no pipeline: it has one stage.",
                      "作业的并行规模表明没有流水线：只有一个阶段。"));
    } else {
        say(s,
            PS_SAY(
                lang,
                "Nothing says that the ranks are a pipeline (pipescope chart tells what is looked for).",
                "没有任何信息表明这些 rank 是流水线（pipescope chart 会说明查找了什么）。"));
    }
}

/* What stalls waited for needs links between ops, which follow from the schedule or from labels that name each op. */
static bool knows_waits(const ps_report *report) {
    const ps_table *waits = ps_report_chart_table(report, "PipelineWaits");
    bool any = waits == NULL;
    for (size_t r = 0; waits != NULL && r < waits->n_rows && !any; r++) {
        any = ps_column_int(waits, r, "other", -1) >= 0;
    }
    return any;
}

static void say_chart_lacks(const ps_report *report, said *s) {
    const ps_lang lang = report->findings.lang;
    const ps_chart *chart = report->chart;
    bool any_bubble = has_bubble(chart);
    if (any_bubble && !knows_waits(report)) {
        say(s,
            PS_SAY(
                lang,
                "What stalls waited for is not judged: which op needs what of which stage is not known.",
                "停顿在等什么不作判断：哪个算子需要哪个阶段的什么不得而知。"));
    }
    if (chart->unjudged[0] != '\0' && !is_found(report, PS_RULE_UNEXPLAINED)) {
        say(s, "%s", chart->unjudged);
    }
    if (any_bubble && chart->unreplayed[0] != '\0') {
        say(s, "%s", chart->unreplayed);
    }
}

static void say_pipeline(const ps_report *report, const holdings *h, size_t n, said *s) {
    const ps_lang lang = report->findings.lang;
    size_t part = part_finding(report);
    char text[96];
    (void)h;
    if (report->chart == NULL) {
        say_no_chart(report, s);
        return;
    }
    if (n == 0 && part > 0) {
        say_not_judged(s, PS_SAY(lang, "Not judged: %s.", "未判断：%s。"), part_text(report, text));
    } else if (n == 0 && has_bubble(report->chart)) {
        say(s, NOTHING_OVER(s->lang));
    } else if (n == 0) {
        say_not_judged(s, PS_SAY(lang, "Not judged.", "未判断。"));
    }
    say_chart_lacks(report, s);
}

/* --- the table ---------------------------------------------------------------------------------------------------------- */

typedef void say_fn(const ps_report *report, const holdings *h, size_t n, said *s);

static void say_section(const ps_report *report, ps_report_section section, said *s) {
    static say_fn *const SAY[PS_N_SECTIONS] = {[PS_SECTION_DISPATCH] = say_dispatch,
                                               [PS_SECTION_COMPUTE] = say_compute,
                                               [PS_SECTION_COMMUNICATION] = say_comm,
                                               [PS_SECTION_PIPELINE] = say_pipeline};
    holdings h = look_at_members(report);
    *s = (said){.lang = report->findings.lang};
    SAY[section](report, &h, findings_of(report, section), s);
}

/* What nothing says to be a pipeline is nothing to judge. */
ps_judged ps_report_judged(const ps_report *report) {
    size_t n = 0;
    size_t n_not = 0;
    for (int section = 0; section < PS_N_SECTIONS; section++) {
        said s;
        say_section(report, (ps_report_section)section, &s);
        bool is_not = s.is_not_judged;
        bool is_there = section != PS_SECTION_PIPELINE || report->chart != NULL;
        n += is_there && !is_not;
        n_not += is_not;
    }
    return n == 0 ? PS_JUDGED_NOTHING : n_not > 0 ? PS_JUDGED_A_PART : PS_JUDGED_ALL;
}

ps_code ps_report_add_sections(const ps_report *report, ps_err *err) {
    ps_table *t = ps_table_new("sections", "what is judged", PS_COLUMNS(SECTIONS));
    for (int section = 0; section < PS_N_SECTIONS; section++) {
        said s;
        say_section(report, (ps_report_section)section, &s);
        if (s.n > 0) {
            ps_table_put(t, &(section_row){ps_section_name((ps_report_section)section), s.text});
        }
    }
    return ps_result_add(report->in->result, t, err);
}
