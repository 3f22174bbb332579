/* Words of the lane tree: names that people read, and keys that are the same on every rank. */
#ifndef PS_SERVE_LANE_NAMES_H
#define PS_SERVE_LANE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/trace.h"

/* What a host thread is known for by its slices: numbers of threads differ from rank to rank, roles do not. */
typedef enum ps_thread_role {
    PS_ROLE_NONE,
    PS_ROLE_MAIN,    /* its number is that of the process */
    PS_ROLE_DEQUEUE, /* takes operators from the framework's queue */
    PS_ROLE_AUTOGRAD /* runs backward operators */
} ps_thread_role;

const char *ps_thread_role_name(ps_thread_role role); /* "main"; "" for none */

/* By name, numbers inside by value: "HBM 2" before "HBM 10". */
int ps_compare_natural(const char *a, const char *b);

/* Adds "Thread 456 (pt_autograd_0)". */
void ps_name_thread(const ps_trace *t, const ps_track *track, ps_thread_role role, ps_buf *out);
/* Adds what is stable of a thread's name: "main", "pt_autograd_0"; nothing when there is only a number. */
void ps_key_thread(const ps_trace *t, const ps_track *track, ps_thread_role role, ps_buf *out);
/* Adds "Stream 7". */
void ps_name_stream(const ps_trace *t, const ps_track *track, ps_buf *out);
/* Adds "Group 7 Communication" of a communicator. */
void ps_name_comm(const ps_trace *t, const ps_track *track, ps_buf *out);
/* Adds "Plane 0" of one of its planes. */
void ps_name_plane(const ps_trace *t, const ps_track *track, ps_buf *out);
/* Adds "python 4037", "Ascend Hardware (NPU 5)", "Process 7". `pid_is_real`: a number of the operating system. */
void ps_name_process(const ps_trace *t, const ps_process *process, int64_t pid, bool pid_is_real,
                     ps_buf *out);
/* What profiles call their devices. */
typedef struct ps_device_words {
    bool is_ascend;   /* written by an Ascend profiler */
    bool has_kernels; /* of a GPU, where it is not */
} ps_device_words;

/* Whether a task of a device with this category is of an Ascend one. */
bool ps_is_ascend_task(const char *category);
/* Adds "NPU 5", "GPU 0", "CPU 0" of a profile of the host, "Device 0" where nobody says what it is; "Device" below 0. */
void ps_name_device(const ps_trace *t, int64_t device, ps_device_words words, ps_buf *out);
/* Adds a text as one part of an id: '/' parts them, so it becomes '|'. */
void ps_key_text(const char *text, ps_buf *out);

/* What a counter belongs to: the text before a '/' or the number that tells it from its like, "HBM" of "HBM 0/Read".
 * Length of it; 0 when the whole name is one word. */
size_t ps_counter_family(const char *name);

#endif
