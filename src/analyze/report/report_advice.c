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
    char *out;
    size_t n, size;
} text;

static text begin_advice(char *out, size_t size) {
    out[0] = '\0';
    return (text){out, 0, size};
}

static void PS_PRINTF(3, 4) add(text *t, const char *between, const char *fmt, ...) {
    va_list args;
    if (t->n > 0 && t->n < t->size) {
        t->n += (size_t)snprintf(t->out + t->n, t->size - t->n, "%s", between);
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
    if (t->n > 0 && t->n + 1 < t->size) {
        t->out[t->n++] = '.';
        t->out[t->n] = '\0';
    }
}

#define NOT_SET " (if it is not set yet)"

/* --- the host ------------------------------------------------------------------------------------------------------------- */

static void add_task_queue(text *t, const ps_report_rank *r) {
    if (r->task_queue < 2) {
        add(t, "; ", "TASK_QUEUE_ENABLE=2%s", r->task_queue < 0 ? NOT_SET : "");
    }
}

static void add_governor(text *t, const ps_report_rank *r) {
    if (strcmp(r->governor, "performance") != 0) {
        add(t, "; ", "the CPU governor performance%s", r->governor[0] == '\0' ? NOT_SET : "");
    }
}

/* A variable with the value that it should have: known as such, of which nothing is to be said, as another one, or not known. */
static void add_setting(text *t, const char *between, const ps_report_rank *r, const char *variable,
                        const char *value) {
    char room[32];
    const char *now = ps_report_variable(r, variable, room);
    if (now == NULL || strcmp(now, value) != 0) {
        add(t, between, "%s=%s%s", variable, value, now == NULL ? NOT_SET : "");
    }
}

const char *ps_report_free_advice(const ps_report *report, const ps_report_member *m, char *out,
                                  size_t size) {
    const ps_report_rank *r = m->facts;
    if (report->vendor == PS_VENDOR_OTHER) {
        return NULL;
    }
    text t = begin_advice(out, size);
    add(&t, "", "Launch fewer and larger kernels; the causes say where the host is late.");
    if (report->vendor == PS_VENDOR_NVIDIA) {
        add(&t, " ",
            "For what is launched kernel by kernel CUDA graphs (torch.cuda.graphs, make_graphed_callables) or "
            "torch.compile(mode=\"reduce-overhead\"); the process bound to the cores of the GPU's NUMA node, if it is "
            "not yet");
        add_governor(&t, r);
        end_advice(&t);
        return out;
    }
    add(&t, " ", "Fused operators of torch_npu");
    add_task_queue(&t, r);
    if (r->cpu_affinity < 1) {
        add(&t, "; ", "CPU_AFFINITY_CONF=1 (coarse) or 2 (fine)%s",
            r->cpu_affinity < 0 ? NOT_SET : "");
    }
    add_governor(&t, r);
    if (!r->trains) {
        add(&t, "; ", "in serving MINDIE_ASYNC_SCHEDULING_ENABLE=1%s", NOT_SET);
    }
    end_advice(&t);
    return out;
}

const char *ps_report_launch_advice(const ps_report *report, const ps_report_member *m, char *out,
                                    size_t size) {
    text t = begin_advice(out, size);
    add(&t, "",
        "A healthy queue is milliseconds deep. Make the host faster, or the kernels larger.");
    if (report->vendor == PS_VENDOR_NVIDIA) {
        add(&t, " ", "For what is launched kernel by kernel CUDA graphs or torch.compile.");
    } else if (report->vendor == PS_VENDOR_ASCEND) {
        add(&t, " ",
            "Fused operators; for what is launched kernel by kernel graph mode (torchair)");
        add_task_queue(&t, m->facts);
        end_advice(&t);
    }
    return out;
}

const char *ps_report_allocation_advice(const ps_report *report, const ps_report_member *m,
                                        char *out, size_t size) {
    static const char *const VARIABLES[] = {[PS_VENDOR_OTHER] = NULL,
                                            [PS_VENDOR_ASCEND] = "PYTORCH_NPU_ALLOC_CONF",
                                            [PS_VENDOR_NVIDIA] = "PYTORCH_CUDA_ALLOC_CONF"};
    static const char EXPANDABLE[] = "expandable_segments:True";
    const char *variable = VARIABLES[report->vendor];
    char room[32];
    const char *now = variable != NULL ? ps_report_variable(m->facts, variable, room) : NULL;
    text t = begin_advice(out, size);
    add(&t, "",
        "The allocator's cache does not hold what the next step needs: less memory in use, sizes that "
        "stay the same; no empty_cache() in the loop, if there is one.");
    if (variable != NULL && (now == NULL || strstr(now, EXPANDABLE) == NULL)) {
        add(&t, " ", "%s=%s%s.", variable, EXPANDABLE, now == NULL ? NOT_SET : "");
    }
    return out;
}

const char *ps_report_frequency_advice(const ps_report_member *m, bool is_below, char *out,
                                       size_t size) {
    text t = begin_advice(out, size);
    const char *governor = m->facts->governor;
    if (strcmp(governor, "performance") != 0) {
        add(&t, "", "cpupower frequency-set -g performance%s",
            governor[0] == '\0' ? " (if that is not the governor yet)" : "");
    }
    if (is_below) {
        add(&t, "; ", "%s deep idle states, if they are on, and look at the temperature",
            t.n > 0 ? "switch off" : "Switch off");
    }
    end_advice(&t);
    return out;
}

/* A variable that makes calls block: on, not known, or known as off, of which nothing is to be said. */
static void add_blocking(text *t, const ps_report_rank *r, const char *variable) {
    char room[32];
    const char *value = ps_report_variable(r, variable, room);
    if (value == NULL) {
        add(t, " ", "See that %s is off.", variable);
    } else if (value[0] != '\0' && strcmp(value, "0") != 0) {
        add(t, " ", "Switch %s off.", variable);
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
    int64_t reads_ns = 0;
    int64_t tensors_ns = 0;
    split_copies(&m->facts->stops[PS_ACTIVITY_COPY], &reads_ns, &tensors_ns);
    bool has_frames = m->facts->has_frames;
    text t = begin_advice(out, size);
    for (int k = 0; k < 2; k++) {
        bool is_reads = (k == 0) == (reads_ns >= tensors_ns);
        const char *before = k == 0 ? "" : " ";
        if (is_reads && reads_ns > 0) {
            add(&t, before,
                "Keep values on the device: no item(), no bool(tensor), no nonzero() in what each "
                "step does; print and measure every N steps.%s",
                has_frames ? " The rows below name who reads them." : "");
        } else if (!is_reads && tensors_ns > 0) {
            add(&t, before,
                "pin_memory=True in the loader and to(device, non_blocking=True): the copy then runs "
                "while the host goes on.");
        }
    }
    if (report->vendor == PS_VENDOR_NVIDIA && !has_frames) {
        add(&t, " ", "torch.cuda.set_sync_debug_mode(\"warn\") names the places.");
    }
    return out[0] != '\0' ? out : NULL;
}

const char *ps_report_sync_advice(const ps_report *report, const ps_report_member *m, char *out,
                                  size_t size) {
    const ps_report_rank *r = m->facts;
    bool is_ascend = report->vendor == PS_VENDOR_ASCEND;
    if (!is_ascend && report->vendor != PS_VENDOR_NVIDIA) {
        return NULL;
    }
    text t = begin_advice(out, size);
    add(&t, "",
        "Remove explicit synchronisation from the loop; use events and wait_stream instead.");
    add_blocking(&t, r, is_ascend ? "ASCEND_LAUNCH_BLOCKING" : "CUDA_LAUNCH_BLOCKING");
    if (is_ascend) {
        add(&t, " ", "Find the callers of aclrtSynchronizeStream in the Python stacks%s.",
            r->has_frames ? "" : " (with_stack=True)");
    } else {
        add(&t, " ", "cudaStreamWaitEvent instead of cudaStreamSynchronize.");
    }
    return out;
}

const char *ps_report_comm_wait_advice(const ps_report *report, const ps_report_member *m,
                                       char *out, size_t size) {
    text t = begin_advice(out, size);
    add(&t, "",
        "Wait on the device and not on the host: async_op=True and wait() just before the result is used; no "
        "barrier() in the loop. If gradient norms or losses are read in each step (item()): every N steps.");
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
    copied c = copied_of(m->facts);
    int64_t all_ns = ps_i64_plus(ps_i64_plus(c.in_ns, c.out_ns), c.within_ns);
    text t = begin_advice(out, size);
    if (c.pageable_ns > all_ns / 10) {
        add(&t, " ", "pin_memory=True and to(device, non_blocking=True).");
    } else if (c.unknown_ns > all_ns / 10) {
        add(&t, " ",
            "If the host's memory is not pinned: pin_memory=True and to(device, non_blocking=True).");
    }
    if (c.in_ns > all_ns / 10) {
        add(&t, " ", "Fetch the next batch on a stream of its own while this one computes.");
    }
    if (c.out_ns > all_ns / 10) {
        add(&t, " ", "Keep results on the device, or take them to the host every N steps.");
    }
    if (c.within_ns > all_ns / 10) {
        add(&t, " ",
            "Of copies within the device: write where the result is wanted instead of copying it.");
    }
    add(&t, " ", "Larger and fewer copies.");
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
        ps_comm_what what = ps_comm_of_name(ps_comm_text(list, op->type));
        what = what <= PS_COMM_COMPUTING ? ps_comm_of_name(ps_comm_text(list, op->name)) : what;
        s.reduces = s.reduces || what == PS_COMM_ALL_REDUCE || what == PS_COMM_REDUCE_SCATTER;
        s.gathers = s.gathers || what == PS_COMM_ALL_GATHER;
        s.is_p2p = s.is_p2p || op->is_p2p;
        if (!op->is_p2p && op->size_bytes > 0) {
            s.largest_bytes = op->size_bytes > s.largest_bytes ? op->size_bytes : s.largest_bytes;
            s.any_small = s.any_small || op->size_bytes < 1000000;
        }
    }
    return s;
}

/* Operators that go through the buffer in pieces. */
static void add_hccl_buffer(text *t, const ps_report_rank *r, const comm_shape *s) {
    char room[32];
    const char *set = ps_report_variable(r, "HCCL_BUFFSIZE", room);
    int64_t mb = 0;
    bool is_set = set != NULL && ps_parse_i64(set, strlen(set), &mb) && mb > 0;
    int64_t buffer = is_set && mb < INT32_MAX ? mb * 1000000 : HCCL_BUFFER;
    if (s->largest_bytes > buffer) {
        add(t, " ", "HCCL_BUFFSIZE above %lld%s, since operators are larger.",
            (long long)(buffer / 1000000), set == NULL ? NOT_SET : "");
    }
}

const char *ps_report_overlap_advice(const ps_report *report, const ps_report_member *m, char *out,
                                     size_t size) {
    comm_shape s = shape_of(m);
    text t = begin_advice(out, size);
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
            "Overlap more of the gradients with the backward: %s of communication lie beside computing "
            "already, so try other sizes of buckets (bucket_cap_mb, reduce_bucket_size)",
            ps_ns_text_of(beside_ns).text);
    } else if (s.reduces) {
        add(&t, "", "Overlap gradients with the backward (buckets)");
    }
    if (s.gathers) {
        add(&t, s.reduces ? ", gather" : "", "%s parameters one layer ahead",
            s.reduces ? "" : "Gather");
    }
    if (s.is_p2p) {
        add(&t, t.n > 0 ? ", send" : "", "%s pipeline results asynchronously",
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
        add(&t, "", "%s", t.n > before ? " for small messages." : "");
        add_hccl_buffer(&t, m->facts, &s);
    } else if (report->vendor == PS_VENDOR_NVIDIA) {
        add(&t, " ",
            "With sequence parallelism CUDA_DEVICE_MAX_CONNECTIONS=1%s. If NCCL's own choice does not fit: "
            "NCCL_BUFFSIZE, NCCL_MIN_NCHANNELS, NCCL_ALGO, NCCL_PROTO.",
            NOT_SET);
    }
    return out;
}

/* Larger buckets are sent later, which works against hiding them. */
const char *ps_report_packets_advice(const ps_report *report, const ps_report_member *m, char *out,
                                     size_t size) {
    comm_shape s = shape_of(m);
    text t = begin_advice(out, size);
    add(&t, "",
        "Packets are pieces of an operator, one for each rank of its group: fewer and larger operators.");
    if (s.reduces) {
        add(&t, " ",
            "Larger buckets of gradients (bucket_cap_mb) are complete later, so that less of them lies "
            "beside the backward: measure both.");
    }
    if (s.gathers) {
        add(&t, " ", "Coalesced all-gathers.");
    }
    if (report->vendor == PS_VENDOR_ASCEND) {
        add_hccl_buffer(&t, m->facts, &s);
    } else if (report->vendor == PS_VENDOR_NVIDIA) {
        add(&t, " ", "If NCCL cuts operators into pieces: NCCL_BUFFSIZE.");
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
    const ps_attention_form *form = &k->attention;
    add(t, "", "%s", form->is_packed ? "More tokens in one call" : "Longer sequences in one call");
    if (!form->is_packed) {
        add(t, " ", "(packed, if they are padded now)");
    }
    add(t, ", ", "more heads or batch in a call");
    if (form->head_size == 0) {
        add(t, ", ", "a head size of 64 or 128, if it is another one");
    } else if (form->head_size % 64 != 0) {
        add(t, ", ", "a head size of 64 or 128 (here it is %lld)", (long long)form->head_size);
    }
    if (form->is_wide || !form->has_type) {
        add(t, ", ", "16-bit types (%s)",
            form->is_wide ? "these are 32-bit floats" : "if these are wider");
    }
    end_advice(t);
    if (!form->skips_blocks) {
        add(t, " ", "If the mask is causal%s, give it as a flag and not as a tensor: %s.",
            form->is_known ? " (all pairs are computed)" : " and the kernel does not know it yet",
            vendor == PS_VENDOR_ASCEND ? "sparse_mode 2 or 3 of npu_fusion_attention"
                                       : "is_causal=True");
    }
    if (vendor == PS_VENDOR_ASCEND) {
        add(t, " ",
            "If tensors are transposed for it: the input_layout in which they already are.");
    } else if (vendor == PS_VENDOR_NVIDIA) {
        add(t, " ",
            "If the chip is newer than what the kernel was written for: a backend of its generation "
            "(FlashAttention-3 or cuDNN on Hopper).");
    }
}

const char *ps_report_mfu_advice(const ps_report *report, ps_rule_id rule,
                                 const ps_report_kernel *k, char *out, size_t size) {
    bool is_conv = rule == PS_RULE_LOW_MFU_CONVOLUTION;
    bool is_ascend = report->vendor == PS_VENDOR_ASCEND;
    text t = begin_advice(out, size);
    if (rule == PS_RULE_LOW_MFU_ATTENTION) {
        add_attention_advice(&t, report->vendor, k);
        return out;
    }
    if (rule != PS_RULE_LOW_MFU && !is_conv) {
        return NULL;
    }
    if (ps_report_has_odd_size(k->shapes, SMALL_TILE) || k->shapes[0] == '\0') {
        add(&t, "",
            is_conv ? "Channels that are multiples of 16, larger"
                    : "Shapes that are multiples of 16 (better 128 or 256), larger");
    }
    add(&t, " ",
        t.n > 0   ? is_conv ? "batches" : "microbatches"
        : is_conv ? "Larger batches"
                  : "Larger microbatches");
    if (k->is_wide || !k->has_types) {
        add(&t, ", ", "16-bit types (%s)",
            k->is_wide ? "these are 32-bit floats" : "if these are wider");
    }
    end_advice(&t);
    if (is_ascend && !is_conv && !ps_findings_has(&report->findings, PS_RULE_CONVERSION)) {
        add(&t, " ",
            "Private formats for weights (torch_npu.npu_format_cast), no transposed copies before matmul.");
    } else if (report->vendor == PS_VENDOR_NVIDIA) {
        add(&t, " ", "%s",
            is_conv                       ? "memory_format=torch.channels_last; "
                                            "torch.backends.cudnn.benchmark=True where shapes do not change."
            : k->has_types && !k->is_wide ? "cuBLASLt with workspace."
                                          : "TF32 or bf16, cuBLASLt with workspace.");
    }
    return out;
}

/* --- conversions ------------------------------------------------------------------------------------------------------------ */

const char *ps_report_conversion_advice(const ps_report *report, int64_t layout_ns,
                                        int64_t numbers_ns, char *out, size_t size) {
    bool is_ascend = report->vendor == PS_VENDOR_ASCEND;
    bool is_layout = layout_ns > numbers_ns / 10;
    bool is_numbers = numbers_ns > layout_ns / 10;
    text t = begin_advice(out, size);
    add(&t, "",
        "Keep one %s%s%s from operator to operator; convert weights and inputs once, before the loop.",
        is_layout ? "layout" : "", is_layout && is_numbers ? " and one " : "",
        is_numbers ? "type" : "");
    if (is_layout && is_ascend) {
        add(&t, " ",
            "torch_npu.npu.config.allow_internal_format=False where TransData stands between "
            "operators.");
    } else if (is_layout && report->vendor == PS_VENDOR_NVIDIA) {
        add(&t, " ",
            "channels_last for model and input where convolutions change layouts; no contiguous() "
            "that is not needed.");
    }
    if (is_numbers) {
        add(&t, " ",
            "Types that the operators take as they are: autocast once around the whole model, not in "
            "each layer.");
    }
    return out;
}
