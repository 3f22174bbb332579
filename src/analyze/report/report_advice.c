/* What to try, where that depends on what the capture shows: a variable that is set already, a framework that trains, a kind of
 * communication that is there at all. Rules whose advice holds of every capture have it in report_rules.def. */
#include "analyze/report/report_advice.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/report/report_findings.h"
#include "base/num.h"
#include "model/comm_kernels.h"

typedef struct text {
    ps_lang lang;
    char *out;
    size_t n, size;
} text;

static text begin_advice(ps_lang lang, char *out, size_t size) {
    out[0] = '\0';
    return (text){lang, out, 0, size};
}

/* What stands between two parts in the text's language: sentences in Chinese have no space between them. */
static const char *between_of(const text *t, const char *between) {
    static const char *const PAIRS[][PS_N_LANGS] = {
        {" ", ""}, {", ", "，"}, {"; ", "；"}, {", gather", "，"}, {", send", "，"}};
    for (size_t i = 0; i < sizeof PAIRS / sizeof *PAIRS; i++) {
        if (strcmp(PAIRS[i][PS_ENGLISH], between) == 0) {
            return PAIRS[i][t->lang];
        }
    }
    return between;
}

static void PS_PRINTF(3, 4) add(text *t, const char *between, const char *fmt, ...) {
    va_list args;
    if (t->n > 0 && t->n < t->size) {
        t->n += (size_t)snprintf(t->out + t->n, t->size - t->n, "%s", between_of(t, between));
    }
    if (t->n >= t->size) {
        return;
    }
    va_start(args, fmt);
    int n = vsnprintf(t->out + t->n, t->size - t->n, fmt, args);
    va_end(args);
    t->n += n > 0 ? (size_t)n : 0;
}

static void end_advice(text *t) {
    if (t->n > 0) {
        add(t, "", "%s", PS_SAY(t->lang, ".", "。"));
    }
}

#define NOT_SET(lang) PS_SAY(lang, " (if it is not set yet)", "（若尚未设置）")

/* --- the host ------------------------------------------------------------------------------------------------------------- */

static void add_task_queue(text *t, const ps_report_rank *r) {
    const ps_lang lang = t->lang;
    if (r->task_queue < 2) {
        add(t, "; ", "TASK_QUEUE_ENABLE=2%s", r->task_queue < 0 ? NOT_SET(lang) : "");
    }
}

static void add_governor(text *t, const ps_report_rank *r) {
    const ps_lang lang = t->lang;
    if (strcmp(r->governor, "performance") != 0) {
        add(t, "; ",
            PS_SAY(lang, "the CPU governor performance%s", "CPU 调频策略设为 performance%s"),
            r->governor[0] == '\0' ? NOT_SET(lang) : "");
    }
}

/* A variable with the value that it should have: known as such, of which nothing is to be said, as another one, or not known. */
static void add_setting(text *t, const char *between, const ps_report_rank *r, const char *variable,
                        const char *value) {
    const ps_lang lang = t->lang;
    char room[32];
    const char *now = ps_report_variable(r, variable, room);
    if (now == NULL || strcmp(now, value) != 0) {
        add(t, between, "%s=%s%s", variable, value, now == NULL ? NOT_SET(lang) : "");
    }
}

const char *ps_report_free_advice(const ps_report *report, const ps_report_member *m, char *out,
                                  size_t size) {
    const ps_lang lang = report->findings.lang;
    const ps_report_rank *r = m->facts;
    if (report->vendor == PS_VENDOR_OTHER) {
        return NULL;
    }
    text t = begin_advice(lang, out, size);
    add(&t, "",
        PS_SAY(lang, "Launch fewer and larger kernels; the causes say where the host is late.",
               "下发更少、更大的核函数；主机慢在何处见各原因。"));
    if (report->vendor == PS_VENDOR_NVIDIA) {
        add(&t, " ",
            PS_SAY(
                lang,
                "For what is launched kernel by kernel CUDA graphs (torch.cuda.graphs, make_graphed_callables) or "
                "torch.compile(mode=\"reduce-overhead\"); the process bound to the cores of the GPU's NUMA node, if it is "
                "not yet",
                "对逐个下发的核函数使用 CUDA graph（torch.cuda.graphs、make_graphed_callables）或 torch.compile(mode=\"reduce-overhead\")；若进程尚未绑定到 GPU 所在 NUMA 节点的核，请绑定"));
        add_governor(&t, r);
        end_advice(&t);
        return out;
    }
    add(&t, " ", PS_SAY(lang, "Fused operators of torch_npu", "使用 torch_npu 的融合算子"));
    add_task_queue(&t, r);
    if (r->cpu_affinity < 1) {
        add(&t, "; ",
            PS_SAY(lang, "CPU_AFFINITY_CONF=1 (coarse) or 2 (fine)%s",
                   "CPU_AFFINITY_CONF=1（粗粒度）或 2（细粒度）%s"),
            r->cpu_affinity < 0 ? NOT_SET(lang) : "");
    }
    add_governor(&t, r);
    if (!r->trains) {
        add(&t, "; ",
            PS_SAY(lang, "in serving MINDIE_ASYNC_SCHEDULING_ENABLE=1%s",
                   "推理服务设置 MINDIE_ASYNC_SCHEDULING_ENABLE=1%s"),
            NOT_SET(lang));
    }
    end_advice(&t);
    return out;
}

const char *ps_report_launch_advice(const ps_report *report, const ps_report_member *m, char *out,
                                    size_t size) {
    const ps_lang lang = report->findings.lang;
    text t = begin_advice(lang, out, size);
    add(&t, "",
        PS_SAY(lang,
               "A healthy queue is milliseconds deep. Make the host faster, or the kernels larger.",
               "健康的队列有数毫秒深。加快主机，或增大核函数。"));
    if (report->vendor == PS_VENDOR_NVIDIA) {
        add(&t, " ",
            PS_SAY(lang, "For what is launched kernel by kernel CUDA graphs or torch.compile.",
                   "对逐个下发的核函数使用 CUDA graph 或 torch.compile。"));
    } else if (report->vendor == PS_VENDOR_ASCEND) {
        add(&t, " ",
            PS_SAY(lang,
                   "Fused operators; for what is launched kernel by kernel graph mode (torchair)",
                   "使用融合算子；对逐个下发的核函数使用图模式（torchair）"));
        add_task_queue(&t, m->facts);
        end_advice(&t);
    }
    return out;
}

const char *ps_report_allocation_advice(const ps_report *report, const ps_report_member *m,
                                        char *out, size_t size) {
    const ps_lang lang = report->findings.lang;
    static const char *const VARIABLES[] = {[PS_VENDOR_OTHER] = NULL,
                                            [PS_VENDOR_ASCEND] = "PYTORCH_NPU_ALLOC_CONF",
                                            [PS_VENDOR_NVIDIA] = "PYTORCH_CUDA_ALLOC_CONF"};
    static const char EXPANDABLE[] = "expandable_segments:True";
    const char *variable = VARIABLES[report->vendor];
    char room[32];
    const char *now = variable != NULL ? ps_report_variable(m->facts, variable, room) : NULL;
    text t = begin_advice(lang, out, size);
    add(&t, "",
        PS_SAY(
            lang,
            "The allocator's cache does not hold what the next step needs: less memory in use, sizes that "
            "stay the same; no empty_cache() in the loop, if there is one.",
            "分配器的缓存容不下下一个 step 所需：减少内存占用，保持大小不变；若循环中有 empty_cache()，请去掉。"));
    if (variable != NULL && (now == NULL || strstr(now, EXPANDABLE) == NULL)) {
        add(&t, " ", "%s=%s%s.", variable, EXPANDABLE, now == NULL ? NOT_SET(lang) : "");
    }
    return out;
}

const char *ps_report_frequency_advice(const ps_report_member *m, bool is_below, char *out,
                                       size_t size) {
    const ps_lang lang = m->lang;
    text t = begin_advice(lang, out, size);
    const char *governor = m->facts->governor;
    if (strcmp(governor, "performance") != 0) {
        add(&t, "", "cpupower frequency-set -g performance%s",
            governor[0] == '\0'
                ? PS_SAY(lang, " (if that is not the governor yet)", "（若尚不是该策略）")
                : "");
    }
    if (is_below) {
        add(&t, "; ",
            PS_SAY(lang, "%s deep idle states, if they are on, and look at the temperature",
                   "%s深度空闲状态（若已开启），并检查温度"),
            t.n > 0 ? PS_SAY(lang, "switch off", "关闭") : PS_SAY(lang, "Switch off", "关闭"));
    }
    end_advice(&t);
    return out;
}

/* A variable that makes calls block: on, not known, or known as off, of which nothing is to be said. */
static void add_blocking(text *t, const ps_report_rank *r, const char *variable) {
    const ps_lang lang = t->lang;
    char room[32];
    const char *value = ps_report_variable(r, variable, room);
    if (value == NULL) {
        add(t, " ", PS_SAY(lang, "See that %s is off.", "确认 %s 已关闭。"), variable);
    } else if (value[0] != '\0' && strcmp(value, "0") != 0) {
        add(t, " ", PS_SAY(lang, "Switch %s off.", "关闭 %s。"), variable);
    }
}

/* Idle time in operators that read a value, and in copies of whole tensors, of the ranges that cost most. */
static void split_copies(const ps_report_stops *stops, int64_t *reads_ns, int64_t *tensors_ns) {
    static const char *const READS[] = {"aten::item", "aten::_local_scalar_dense", "aten::nonzero",
                                        "aten::is_nonzero"};
    *reads_ns = 0;
    *tensors_ns = 0;
    for (size_t i = 0; i < stops->n_top; i++) {
        bool is_read = false;
        for (size_t k = 0; k < sizeof READS / sizeof *READS; k++) {
            is_read = is_read || strcmp(stops->top[i].name, READS[k]) == 0;
        }
        int64_t *sum = is_read ? reads_ns : tensors_ns;
        *sum = ps_i64_plus(*sum, stops->top[i].idle_ns);
    }
}

const char *ps_report_copy_advice(const ps_report *report, const ps_report_member *m, char *out,
                                  size_t size) {
    const ps_lang lang = report->findings.lang;
    int64_t reads_ns = 0;
    int64_t tensors_ns = 0;
    split_copies(&m->facts->stops[PS_ACTIVITY_COPY], &reads_ns, &tensors_ns);
    bool has_frames = m->facts->has_frames;
    text t = begin_advice(lang, out, size);
    for (int k = 0; k < 2; k++) {
        bool is_reads = (k == 0) == (reads_ns >= tensors_ns);
        const char *before = k == 0 ? "" : " ";
        if (is_reads && reads_ns > 0) {
            add(&t, before,
                PS_SAY(
                    lang,
                    "Keep values on the device: no item(), no bool(tensor), no nonzero() in what each "
                    "step does; print and measure every N steps.%s",
                    "让数值留在设备上：每个 step 中不要 item()、bool(tensor)、nonzero()；每 N 个 step 打印与统计一次。%s"),
                has_frames ? PS_SAY(lang, " The rows below name who reads them.",
                                    "下面各行写明是谁在读取。")
                           : "");
        } else if (!is_reads && tensors_ns > 0) {
            add(&t, before,
                PS_SAY(
                    lang,
                    "pin_memory=True in the loader and to(device, non_blocking=True): the copy then runs "
                    "while the host goes on.",
                    "在 DataLoader 中设置 pin_memory=True，并使用 to(device, non_blocking=True)：拷贝时主机可继续工作。"));
        }
    }
    if (report->vendor == PS_VENDOR_NVIDIA && !has_frames) {
        add(&t, " ",
            PS_SAY(lang, "torch.cuda.set_sync_debug_mode(\"warn\") names the places.",
                   "torch.cuda.set_sync_debug_mode(\"warn\") 会指出位置。"));
    }
    return out[0] != '\0' ? out : NULL;
}

const char *ps_report_sync_advice(const ps_report *report, const ps_report_member *m, char *out,
                                  size_t size) {
    const ps_lang lang = report->findings.lang;
    const ps_report_rank *r = m->facts;
    bool is_ascend = report->vendor == PS_VENDOR_ASCEND;
    if (!is_ascend && report->vendor != PS_VENDOR_NVIDIA) {
        return NULL;
    }
    text t = begin_advice(lang, out, size);
    add(&t, "",
        PS_SAY(lang,
               "Remove explicit synchronisation from the loop; use events and wait_stream instead.",
               "去掉循环中的显式同步；改用 event 与 wait_stream。"));
    add_blocking(&t, r, is_ascend ? "ASCEND_LAUNCH_BLOCKING" : "CUDA_LAUNCH_BLOCKING");
    if (is_ascend) {
        add(&t, " ",
            PS_SAY(lang, "Find the callers of aclrtSynchronizeStream in the Python stacks%s.",
                   "在 Python 调用栈中查找 aclrtSynchronizeStream 的调用者%s。"),
            r->has_frames ? "" : PS_SAY(lang, " (with_stack=True)", "（with_stack=True）"));
    } else {
        add(&t, " ",
            PS_SAY(lang, "cudaStreamWaitEvent instead of cudaStreamSynchronize.",
                   "用 cudaStreamWaitEvent 代替 cudaStreamSynchronize。"));
    }
    return out;
}

const char *ps_report_comm_wait_advice(const ps_report *report, const ps_report_member *m,
                                       char *out, size_t size) {
    const ps_lang lang = report->findings.lang;
    text t = begin_advice(lang, out, size);
    add(&t, "",
        PS_SAY(
            lang,
            "Wait on the device and not on the host: async_op=True and wait() just before the result is used; no "
            "barrier() in the loop. If gradient norms or losses are read in each step (item()): every N steps.",
            "在设备上等待而不是在主机上：async_op=True，并在使用结果之前才 wait()；循环中不要 barrier()。若每个 step 读取梯度范数或 loss（item()）：改为每 N 个 step。"));
    if (report->vendor == PS_VENDOR_NVIDIA) {
        add_blocking(&t, m->facts, "TORCH_NCCL_BLOCKING_WAIT");
    }
    return out;
}

/* What of the copies that nothing hides goes which way, and comes from memory that is not pinned, or of which nobody knows. */
typedef struct copied {
    int64_t in_ns, out_ns, within_ns, pageable_ns, unknown_ns;
} copied;

static copied copied_of(const ps_report_rank *r) {
    copied c = {0};
    for (size_t i = 0; i < r->n_copies; i++) {
        const ps_report_copies *x = &r->copies[i];
        const char *direction = x->direction != NULL ? x->direction : "";
        bool is_in = strcmp(direction, "H2D") == 0;
        bool is_out = strcmp(direction, "D2H") == 0;
        int64_t *way = is_in ? &c.in_ns : is_out ? &c.out_ns : &c.within_ns;
        *way = ps_i64_plus(*way, x->alone_ns);
        if ((is_in || is_out) && x->memory == NULL) {
            c.unknown_ns = ps_i64_plus(c.unknown_ns, x->alone_ns);
        } else if ((is_in || is_out) && strcmp(x->memory, "pageable") == 0) {
            c.pageable_ns = ps_i64_plus(c.pageable_ns, x->alone_ns);
        }
    }
    return c;
}

/* What is a tenth of them at least. */
const char *ps_report_copies_advice(const ps_report_member *m, char *out, size_t size) {
    const ps_lang lang = m->lang;
    copied c = copied_of(m->facts);
    int64_t all_ns = ps_i64_plus(ps_i64_plus(c.in_ns, c.out_ns), c.within_ns);
    text t = begin_advice(lang, out, size);
    if (c.pageable_ns > all_ns / 10) {
        add(&t, " ",
            PS_SAY(lang, "pin_memory=True and to(device, non_blocking=True).",
                   "使用 pin_memory=True 与 to(device, non_blocking=True)。"));
    } else if (c.unknown_ns > all_ns / 10) {
        add(&t, " ",
            PS_SAY(
                lang,
                "If the host's memory is not pinned: pin_memory=True and to(device, non_blocking=True).",
                "若主机内存未锁页：使用 pin_memory=True 与 to(device, non_blocking=True)。"));
    }
    if (c.in_ns > all_ns / 10) {
        add(&t, " ",
            PS_SAY(lang, "Fetch the next batch on a stream of its own while this one computes.",
                   "当前批次计算时，在单独的流上取下一批数据。"));
    }
    if (c.out_ns > all_ns / 10) {
        add(&t, " ",
            PS_SAY(lang, "Keep results on the device, or take them to the host every N steps.",
                   "让结果留在设备上，或每 N 个 step 取回主机一次。"));
    }
    if (c.within_ns > all_ns / 10) {
        add(&t, " ",
            PS_SAY(
                lang,
                "Of copies within the device: write where the result is wanted instead of copying it.",
                "对设备内的拷贝：直接写到需要结果的地方，而不是再拷贝。"));
    }
    add(&t, " ", PS_SAY(lang, "Larger and fewer copies.", "更大、更少的拷贝。"));
    return out;
}

/* --- communication ---------------------------------------------------------------------------------------------------------- */

/* What the collectives of a rank do, and how large they are. */
typedef struct comm_shape {
    bool reduces, gathers, is_p2p;
    bool any_small; /* one below 1 MB */
    int64_t largest_bytes;
} comm_shape;

#define HCCL_BUFFER INT64_C(200000000) /* HCCL_BUFFSIZE where nobody sets it */

static comm_shape shape_of(const ps_report_member *m) {
    const ps_comm_list *list = &m->facts->comm;
    comm_shape s = {0};
    for (size_t i = 0; i < list->n; i++) {
        const ps_comm_op *op = &list->ops[i];
        ps_comm_what what = ps_comm_of_name(ps_comm_text(list, op->look->type));
        what = what <= PS_COMM_COMPUTING ? ps_comm_of_name(ps_comm_text(list, op->name)) : what;
        s.reduces = s.reduces || what == PS_COMM_ALL_REDUCE || what == PS_COMM_REDUCE_SCATTER;
        s.gathers = s.gathers || what == PS_COMM_ALL_GATHER;
        s.is_p2p = s.is_p2p || op->look->is_p2p;
        if (!op->look->is_p2p && op->look->size_bytes > 0) {
            s.largest_bytes =
                op->look->size_bytes > s.largest_bytes ? op->look->size_bytes : s.largest_bytes;
            s.any_small = s.any_small || op->look->size_bytes < 1000000;
        }
    }
    return s;
}

/* Operators that go through the buffer in pieces. */
static void add_hccl_buffer(text *t, const ps_report_rank *r, const comm_shape *s) {
    const ps_lang lang = t->lang;
    char room[32];
    const char *set = ps_report_variable(r, "HCCL_BUFFSIZE", room);
    int64_t mb = 0;
    bool is_set = set != NULL && ps_parse_i64(set, strlen(set), &mb) && mb > 0;
    int64_t buffer = is_set && mb < INT32_MAX ? mb * 1000000 : HCCL_BUFFER;
    if (s->largest_bytes > buffer) {
        add(t, " ",
            PS_SAY(lang, "HCCL_BUFFSIZE above %lld%s, since operators are larger.",
                   "HCCL_BUFFSIZE 设为大于 %lld%s，因为算子更大。"),
            (long long)(buffer / 1000000), set == NULL ? NOT_SET(lang) : "");
    }
}

const char *ps_report_overlap_advice(const ps_report *report, const ps_report_member *m, char *out,
                                     size_t size) {
    const ps_lang lang = report->findings.lang;
    comm_shape s = shape_of(m);
    text t = begin_advice(lang, out, size);
    int64_t beside_ns = 0;
    for (size_t i = 0; i < m->facts->n_steps; i++) {
        beside_ns = ps_i64_plus(beside_ns, ps_overlap_overlapped_ns(&m->facts->steps[i]));
    }
    /* A wait beside computing is no success of the buckets. */
    beside_ns = ps_report_knows_waits(m) ? m->facts->hidden_transfer_ns : beside_ns;
    beside_ns = m->facts->n_steps > 0 ? beside_ns / (int64_t)m->facts->n_steps : 0;
    bool overlaps = ps_percent(beside_ns, m->exposed_ns - m->waits_ns) > 10;
    if (s.reduces && overlaps) {
        add(&t, "",
            PS_SAY(
                lang,
                "Overlap more of the gradients with the backward: %s of communication lie beside computing "
                "already, so try other sizes of buckets (bucket_cap_mb, reduce_bucket_size)",
                "让反向掩盖更多梯度通信：已有 %s 的通信与计算并行，请尝试其他的桶大小（bucket_cap_mb、reduce_bucket_size）"),
            ps_ns_text_of(beside_ns).text);
    } else if (s.reduces) {
        add(&t, "",
            PS_SAY(lang, "Overlap gradients with the backward (buckets)",
                   "让反向掩盖梯度通信（分桶）"));
    }
    if (s.gathers) {
        add(&t, s.reduces ? ", gather" : "",
            PS_SAY(lang, "%s parameters one layer ahead", "%.0s提前一层收集参数"),
            s.reduces ? "" : "Gather");
    }
    if (s.is_p2p) {
        add(&t, t.n > 0 ? ", send" : "",
            PS_SAY(lang, "%s pipeline results asynchronously", "%.0s异步发送流水线的结果"),
            t.n > 0 ? "" : "Send");
    }
    if (t.n == 0) {
        return NULL;
    }
    end_advice(&t);
    if (report->vendor == PS_VENDOR_ASCEND) {
        size_t before = t.n;
        if (s.any_small) {
            add_setting(&t, " ", m->facts, "HCCL_OP_EXPANSION_MODE", "AIV");
        }
        add(&t, "", "%s",
            t.n > before ? PS_SAY(lang, " for small messages.", "（用于小消息）。") : "");
        add_hccl_buffer(&t, m->facts, &s);
    } else if (report->vendor == PS_VENDOR_NVIDIA) {
        add(&t, " ",
            PS_SAY(
                lang,
                "With sequence parallelism CUDA_DEVICE_MAX_CONNECTIONS=1%s. If NCCL's own choice does not fit: "
                "NCCL_BUFFSIZE, NCCL_MIN_NCHANNELS, NCCL_ALGO, NCCL_PROTO.",
                "使用序列并行时设置 CUDA_DEVICE_MAX_CONNECTIONS=1%s。若 NCCL 自己的选择不合适：NCCL_BUFFSIZE、NCCL_MIN_NCHANNELS、NCCL_ALGO、NCCL_PROTO。"),
            NOT_SET(lang));
    }
    return out;
}

/* Larger buckets are sent later, which works against hiding them. */
const char *ps_report_packets_advice(const ps_report *report, const ps_report_member *m, char *out,
                                     size_t size) {
    const ps_lang lang = report->findings.lang;
    comm_shape s = shape_of(m);
    text t = begin_advice(lang, out, size);
    add(&t, "",
        PS_SAY(
            lang,
            "Packets are pieces of an operator, one for each rank of its group: fewer and larger operators.",
            "包是算子的分片，组内每个 rank 一片：使用更少、更大的算子。"));
    if (s.reduces) {
        add(&t, " ",
            PS_SAY(
                lang,
                "Larger buckets of gradients (bucket_cap_mb) are complete later, so that less of them lies "
                "beside the backward: measure both.",
                "更大的梯度桶（bucket_cap_mb）完成得更晚，与反向并行的部分更少：请两种都测量。"));
    }
    if (s.gathers) {
        add(&t, " ", PS_SAY(lang, "Coalesced all-gathers.", "合并 all-gather。"));
    }
    if (report->vendor == PS_VENDOR_ASCEND) {
        add_hccl_buffer(&t, m->facts, &s);
    } else if (report->vendor == PS_VENDOR_NVIDIA) {
        add(&t, " ",
            PS_SAY(lang, "If NCCL cuts operators into pieces: NCCL_BUFFSIZE.",
                   "若 NCCL 把算子切成小块：NCCL_BUFFSIZE。"));
    }
    return out;
}

#define SMALL_TILE 16

/* --- products ---------------------------------------------------------------------------------------------------------------- */

bool ps_report_has_odd_size(const char *shapes, int64_t tile) {
    bool odd = false;
    while (*shapes != '\0') {
        size_t n = strspn(shapes, "0123456789");
        int64_t size = 0;
        odd = odd || (n > 0 && ps_parse_i64(shapes, n, &size) && size > 1 && size % tile != 0);
        shapes += n > 0 ? n : 1;
    }
    return odd;
}

/* Where the worst kernel is a backward pass its form is that of the forward one. */
static void add_attention_advice(text *t, ps_vendor vendor, const ps_report_kernel *k) {
    const ps_lang lang = t->lang;
    const ps_attention_form *form = &k->attention;
    add(t, "", "%s",
        form->is_packed ? PS_SAY(lang, "More tokens in one call", "一次调用处理更多 token")
                        : PS_SAY(lang, "Longer sequences in one call", "一次调用处理更长的序列"));
    if (!form->is_packed) {
        add(t, " ", PS_SAY(lang, "(packed, if they are padded now)", "（若现在有填充，则打包）"));
    }
    add(t, ", ", PS_SAY(lang, "more heads or batch in a call", "一次调用更多的 head 或 batch"));
    if (form->head_size == 0) {
        add(t, ", ",
            PS_SAY(lang, "a head size of 64 or 128, if it is another one",
                   "head 大小取 64 或 128（若为其他值）"));
    } else if (form->head_size % 64 != 0) {
        add(t, ", ",
            PS_SAY(lang, "a head size of 64 or 128 (here it is %lld)",
                   "head 大小取 64 或 128（当前为 %lld）"),
            (long long)form->head_size);
    }
    if (form->is_wide || !form->has_type) {
        add(t, ", ", PS_SAY(lang, "16-bit types (%s)", "16 位类型（%s）"),
            form->is_wide ? PS_SAY(lang, "these are 32-bit floats", "当前为 32 位浮点")
                          : PS_SAY(lang, "if these are wider", "若更宽"));
    }
    end_advice(t);
    if (!form->skips_blocks) {
        add(t, " ",
            PS_SAY(lang, "If the mask is causal%s, give it as a flag and not as a tensor: %s.",
                   "若掩码是因果的%s，请以标志而不是张量给出：%s。"),
            form->is_known
                ? PS_SAY(lang, " (all pairs are computed)", "（当前计算了所有的对）")
                : PS_SAY(lang, " and the kernel does not know it yet", "而核函数尚不知道"),
            vendor == PS_VENDOR_ASCEND ? PS_SAY(lang, "sparse_mode 2 or 3 of npu_fusion_attention",
                                                "npu_fusion_attention 的 sparse_mode 2 或 3")
                                       : "is_causal=True");
    }
    if (vendor == PS_VENDOR_ASCEND) {
        add(t, " ",
            PS_SAY(lang,
                   "If tensors are transposed for it: the input_layout in which they already are.",
                   "若为它转置了张量：使用张量现有的 input_layout。"));
    } else if (vendor == PS_VENDOR_NVIDIA) {
        add(t, " ",
            PS_SAY(
                lang,
                "If the chip is newer than what the kernel was written for: a backend of its generation "
                "(FlashAttention-3 or cuDNN on Hopper).",
                "若芯片比核函数所面向的更新：使用该代芯片的后端（Hopper 上的 FlashAttention-3 或 cuDNN）。"));
    }
}

const char *ps_report_mfu_advice(const ps_report *report, ps_rule_id rule,
                                 const ps_report_kernel *k, char *out, size_t size) {
    const ps_lang lang = report->findings.lang;
    bool is_conv = rule == PS_RULE_LOW_MFU_CONVOLUTION;
    bool is_ascend = report->vendor == PS_VENDOR_ASCEND;
    text t = begin_advice(lang, out, size);
    if (rule == PS_RULE_LOW_MFU_ATTENTION) {
        add_attention_advice(&t, report->vendor, k);
        return out;
    }
    if (rule != PS_RULE_LOW_MFU && !is_conv) {
        return NULL;
    }
    if (ps_report_has_odd_size(k->shapes, SMALL_TILE) || k->shapes[0] == '\0') {
        add(&t, "",
            is_conv ? PS_SAY(lang, "Channels that are multiples of 16, larger",
                             "通道数取 16 的整数倍，更大的")
                    : PS_SAY(lang, "Shapes that are multiples of 16 (better 128 or 256), larger",
                             "形状取 16 的整数倍（最好 128 或 256），更大的"));
    }
    add(&t, " ",
        t.n > 0   ? is_conv ? PS_SAY(lang, "batches", "batch")
                            : PS_SAY(lang, "microbatches", "microbatch")
          : is_conv ? PS_SAY(lang, "Larger batches", "更大的 batch")
                  : PS_SAY(lang, "Larger microbatches", "更大的 microbatch"));
    if (k->is_wide || !k->has_types) {
        add(&t, ", ", PS_SAY(lang, "16-bit types (%s)", "16 位类型（%s）"),
            k->is_wide ? PS_SAY(lang, "these are 32-bit floats", "当前为 32 位浮点")
                       : PS_SAY(lang, "if these are wider", "若更宽"));
    }
    end_advice(&t);
    if (is_ascend && !is_conv && !ps_findings_has(&report->findings, PS_RULE_CONVERSION)) {
        add(&t, " ",
            PS_SAY(
                lang,
                "Private formats for weights (torch_npu.npu_format_cast), no transposed copies before matmul.",
                "权重使用私有格式（torch_npu.npu_format_cast），matmul 前不做转置拷贝。"));
    } else if (report->vendor == PS_VENDOR_NVIDIA) {
        add(&t, " ", "%s",
            is_conv
                ? PS_SAY(
                      lang,
                      "memory_format=torch.channels_last; "
                      "torch.backends.cudnn.benchmark=True where shapes do not change.",
                      "memory_format=torch.channels_last；形状不变时 torch.backends.cudnn.benchmark=True。")
            : k->has_types && !k->is_wide
                ? PS_SAY(lang, "cuBLASLt with workspace.", "使用带 workspace 的 cuBLASLt。")
                : PS_SAY(lang, "TF32 or bf16, cuBLASLt with workspace.",
                         "使用 TF32 或 bf16，以及带 workspace 的 cuBLASLt。"));
    }
    return out;
}

/* --- conversions ------------------------------------------------------------------------------------------------------------ */

const char *ps_report_conversion_advice(const ps_report *report, int64_t layout_ns,
                                        int64_t numbers_ns, char *out, size_t size) {
    const ps_lang lang = report->findings.lang;
    bool is_ascend = report->vendor == PS_VENDOR_ASCEND;
    bool is_layout = layout_ns > numbers_ns / 10;
    bool is_numbers = numbers_ns > layout_ns / 10;
    text t = begin_advice(lang, out, size);
    add(&t, "",
        PS_SAY(
            lang,
            "Keep one %s%s%s from operator to operator; convert weights and inputs once, before the loop.",
            "在算子之间保持同一种%s%s%s；权重与输入在循环之前转换一次。"),
        is_layout ? PS_SAY(lang, "layout", "布局") : "",
        is_layout && is_numbers ? PS_SAY(lang, " and one ", "与") : "",
        is_numbers ? PS_SAY(lang, "type", "类型") : "");
    if (is_layout && is_ascend) {
        add(&t, " ",
            PS_SAY(
                lang,
                "torch_npu.npu.config.allow_internal_format=False where TransData stands between "
                "operators.",
                "TransData 位于算子之间时：torch_npu.npu.config.allow_internal_format=False。"));
    } else if (is_layout && report->vendor == PS_VENDOR_NVIDIA) {
        add(&t, " ",
            PS_SAY(
                lang,
                "channels_last for model and input where convolutions change layouts; no contiguous() "
                "that is not needed.",
                "卷积改变布局时，模型与输入使用 channels_last；去掉不必要的 contiguous()。"));
    }
    if (is_numbers) {
        add(&t, " ",
            PS_SAY(
                lang,
                "Types that the operators take as they are: autocast once around the whole model, not in "
                "each layer.",
                "使用算子可直接接受的类型：整个模型外只用一次 autocast，而不是每层都用。"));
    }
    return out;
}
