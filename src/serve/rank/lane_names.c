#include "serve/rank/lane_names.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "model/recording.h"

const char *ps_thread_role_name(ps_thread_role role) {
    static const char *const NAMES[] = {"", "main", "dequeue", "autograd"};
    return NAMES[role];
}

int ps_compare_natural(const char *a, const char *b) {
    while (*a != '\0' && *b != '\0') {
        if (!ps_is_digit(*a) || !ps_is_digit(*b)) {
            if (*a != *b) {
                return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
            }
            a++;
            b++;
            continue;
        }
        const char *whole_a = a;
        const char *whole_b = b;
        a += strspn(a, "0");
        b += strspn(b, "0");
        size_t digits_a = strspn(a, "0123456789");
        size_t digits_b = strspn(b, "0123456789");
        int by = digits_a != digits_b ? (digits_a < digits_b ? -1 : 1) : memcmp(a, b, digits_a);
        by = by != 0 ? by : (a - whole_a > b - whole_b) - (a - whole_a < b - whole_b);
        if (by != 0) {
            return by;
        }
        a += digits_a;
        b += digits_b;
    }
    return (*a != '\0') - (*b != '\0');
}

/* A label without what only repeats the number: "pt_autograd_0" of "thread 456 (pt_autograd_0)", "" of "Thread 456". */
static const char *own_label(const char *label, int64_t tid, size_t *n) {
    char number[24];
    int digits = snprintf(number, sizeof number, "%lld", (long long)tid);
    const char *s = label;
    if (strncasecmp(s, "thread ", 7) == 0 && strncmp(s + 7, number, (size_t)digits) == 0 &&
        !ps_is_digit(s[7 + digits])) {
        s += 7 + digits;
        s += strspn(s, " ");
    }
    *n = strlen(s);
    if (*n >= 2 && s[0] == '(' && s[*n - 1] == ')') {
        s++;
        *n -= 2;
    }
    if (*n == (size_t)digits && strncmp(s, number, *n) == 0) {
        *n = 0;
    }
    return s;
}

void ps_name_thread(const ps_trace *t, const ps_track *track, ps_thread_role role, ps_buf *out) {
    const char *name = ps_trace_text(t, track->name);
    if (name[0] != '\0' || track->tid == -1) {
        const char *label = ps_trace_text(t, track->label);
        ps_buf_add_str(out, label[0] != '\0' ? label : (name[0] != '\0' ? name : "Thread"));
        return;
    }
    size_t n = 0;
    const char *own = own_label(ps_trace_text(t, track->label), track->tid, &n);
    ps_buf_addf(out, "Thread %lld", (long long)track->tid);
    if (n > 0) {
        ps_buf_addf(out, " (%.*s)", (int)(n < 200 ? n : 200), own);
    } else if (role != PS_ROLE_NONE) {
        ps_buf_addf(out, " (%s)", ps_thread_role_name(role));
    }
}

void ps_key_text(const char *text, ps_buf *out) {
    for (const char *c = text; *c != '\0'; c++) {
        ps_buf_add_char(out, *c == '/' ? '|' : *c);
    }
}

void ps_key_thread(const ps_trace *t, const ps_track *track, ps_thread_role role, ps_buf *out) {
    if (role != PS_ROLE_NONE) {
        ps_buf_add_str(out, ps_thread_role_name(role));
        return;
    }
    const char *name = ps_trace_text(t, track->name);
    if (name[0] != '\0') {
        ps_key_text(name, out);
        return;
    }
    size_t n = 0;
    const char *own = own_label(ps_trace_text(t, track->label), track->tid, &n);
    for (size_t i = 0; i < n; i++) {
        ps_buf_add_char(out, own[i] == '/' ? '|' : own[i]);
    }
}

void ps_name_stream(const ps_trace *t, const ps_track *track, ps_buf *out) {
    const char *label = ps_trace_text(t, track->label);
    if (label[0] >= 'a' && label[0] <= 'z' && strncmp(label, "stream", 6) == 0) {
        ps_buf_addf(out, "Stream%s", label + 6); /* every producer writes it in its own way */
    } else if (label[0] != '\0') {
        ps_buf_add_str(out, label);
    } else {
        ps_buf_addf(out, "Stream %lld", (long long)track->tid);
    }
}

void ps_name_comm(const ps_trace *t, const ps_track *track, ps_buf *out) {
    bool is_comm = track->kind == PS_TRACK_COMM_GROUP;
    const char *label = is_comm ? ps_trace_text(t, track->label) : "";
    if (strncmp(label, "Group ", 6) == 0) {
        ps_buf_add_str(out, label);
    } else {
        const char *name = label[0] != '\0' ? label : ps_trace_text(t, track->name);
        ps_buf_addf(out, "Group %s Communication", name);
    }
}

void ps_name_plane(const ps_trace *t, const ps_track *track, ps_buf *out) {
    const char *label = ps_trace_text(t, track->label);
    if (label[0] != '\0') {
        ps_buf_add_str(out, label);
    } else {
        ps_buf_addf(out, "Plane %lld", (long long)track->tid);
    }
}

void ps_name_process(const ps_trace *t, const ps_process *process, int64_t pid, bool pid_is_real,
                     ps_buf *out) {
    const char *name = process != NULL ? ps_trace_text(t, process->name) : "";
    const char *labels = process != NULL ? ps_trace_text(t, process->labels) : "";
    bool is_text = process != NULL && process->pid_is_text;
    if (name[0] == '\0') {
        ps_buf_add_str(out, is_text ? "Process without a name" : "Process");
    } else {
        ps_buf_add_str(out, name);
    }
    if (!is_text && (name[0] == '\0' || pid_is_real)) {
        ps_buf_addf(out, " %lld", (long long)pid);
    }
    if (strpbrk(labels, "0123456789") !=
        NULL) { /* "GPU 3"; "CPU" says nothing that the lanes do not */
        ps_buf_addf(out, " (%s)", labels);
    }
}

bool ps_is_ascend_task(const char *category) {
    return ps_begins_with(category, "KERNEL_") || ps_begins_with(category, "MIX_AI") ||
           ps_begins_with(category, "PROFILING_") || ps_begins_with(category, "AI_C");
}

void ps_name_device(const ps_trace *t, int64_t device, ps_device_words words, ps_buf *out) {
    const char *word = ps_trace_has_host_times(t) ? "CPU"
                       : words.is_ascend          ? "NPU"
                       : words.has_kernels        ? "GPU"
                                                  : "Device";
    ps_buf_add_str(out, device < 0 ? "Device" : word);
    if (device >= 0) {
        ps_buf_addf(out, " %lld", (long long)device);
    }
}

size_t ps_counter_family(const char *name) {
    size_t n = strcspn(name, "/0123456789");
    if (name[n] == '\0') {
        return 0;
    }
    while (n > 0 && (name[n - 1] == ' ' || name[n - 1] == '_' || name[n - 1] == '[')) {
        n--;
    }
    return n;
}
