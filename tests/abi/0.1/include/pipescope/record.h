/* Recording ranges of a running program: libpipescope-record.so.
 *
 *     #include <pipescope/record.h>
 *
 *     ps_record_start();                              // or `pipescope record -- ./program`, then not even this
 *     for (int step = 0; step < n_steps; step++) {
 *         ps_record_step_begin(step);
 *         uint64_t range = ps_record_range_start(NULL, "{'name': 'forward_step'}", PS_RECORD_HOST_STREAM);
 *         forward();
 *         ps_record_range_end(range);
 *         ps_record_step_end();
 *     }
 *     ps_record_stop();
 *     ps_record_export(NULL);                         // a process that ends does both by itself
 *
 * What is written is the folder that Ascend's PyTorch profiler writes, <worker>_<time>_ascend_pt: all that reads one
 * reads the other. Options come from ps_record_set() or from environment variables (src/record/ring/options.def lists both).
 *
 * Every function may be called at any time, in any order, from any thread and from signal handlers (ranges and marks
 * only), and none ends the program or waits for the disk while recording. Functions that return int give 0 or one of
 * the negative codes below. While nothing is recorded a range costs about a nanosecond.
 *
 * A signal handler may record at any moment, also the first event of its thread (the thread's ring is made without malloc, stdio or
 * the dynamic linker), with two exceptions. The first event of a recording makes its folder and its writer thread, for which it
 * needs malloc: a program whose very first event may be a handler's calls ps_record_warmup() before. And a range on a stream of
 * a GPU calls the driver.
 *
 * Besides these functions the library exports those of mstx (mstxRangeStartA ...) and is a tool that NVTX version 3 and
 * mstx load by themselves (NVTX_INJECTION64_PATH, MSTX_INJECTION_PATH). */
#ifndef PIPESCOPE_RECORD_H
#define PIPESCOPE_RECORD_H

#include <stddef.h> /* NULL, which stands for the default of most arguments */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PS_API __attribute__((visibility("default")))

/* --- results ------------------------------------------------------------------------------------------------------- */

enum {
    PS_RECORD_OK = 0,
    PS_RECORD_BAD_ARGUMENT = -1, /* unknown option, value out of range, text that is no JSON */
    PS_RECORD_WRONG_TIME =
        -2, /* not in this state: start while recording, export while recording ... */
    PS_RECORD_IO =
        -3, /* files could not be written; what was recorded is kept in memory or as raw files */
    PS_RECORD_NO_MEMORY = -4,
    PS_RECORD_NOTHING = -5, /* nothing was recorded, so nothing was written */
    PS_RECORD_UNAVAILABLE =
        -6 /* the export needs libsqlite3 and there is none: raw files are kept */
};

/* What a code means; never NULL. */
PS_API const char *ps_record_error_text(int code);

/* The library's version, "0.1.0". */
PS_API const char *ps_record_version(void);

/* --- when and where ------------------------------------------------------------------------------------------------ */

/* Sets an option by its name ("output_dir", "rank", "backend" ...: docs/recording.md). It holds from the next start
 * on and wins over the environment. `value` is copied; NULL means the default. */
PS_API int ps_record_set(const char *option, const char *value);

/* Makes ready what the first start would make: output folder, rings of the threads seen so far, device events,
 * calibration of the clock. Records nothing. */
PS_API int ps_record_warmup(void);

/* Begins to record. Starts a new output folder, made when the first event comes. A recording that was stopped and not exported
 * is exported when the process ends. With the option "window" it begins with the window's first step. */
PS_API int ps_record_start(void);

/* Ends recording; waits for the device times that are still on their way (at most 30 s). Open ranges are listed as such. */
PS_API int ps_record_stop(void);

/* Writes the database and the JSON files of what was recorded last. `dir`: where its folder lies instead of where it
 * was recorded; NULL to leave it there. Blocks until written; raw files are removed when all went well. */
PS_API int ps_record_export(const char *dir);

/* For programs that export in the background while they record again: the number of the recording that was stopped last, from 1 on
 * in the order of the stops (0 before the first), and the export of that one, whatever was stopped since. What is not exported
 * by the end of the process is then, in the order in which it was recorded. */
PS_API uint64_t ps_record_last(void);
PS_API int ps_record_export_recording(uint64_t recording, const char *dir);

/* Forgets what was recorded last and removes its folder. Stops when recording; of what was only made ready (warmup) nothing
 * stays, and recordings before it are left alone. */
PS_API int ps_record_discard(void);

/* 1 while recording, else 0. */
PS_API int ps_record_enabled(void);

/* Where that can be read without a call: a word that is not 0 while recording, another number in each recording. Read only; it
 * stays where it is as long as the process lives, and is 0 in a forked child. */
PS_API const volatile uint32_t *ps_record_enabled_word(void);

/* The folder of the current or last recording, "" when there is none; into `out`, cut to `size` bytes with the zero.
 * Returns its length. */
PS_API int ps_record_directory(char *out, uint32_t size);

/* --- ranges and marks ---------------------------------------------------------------------------------------------- */

/* A name that ranges are grouped by. NULL is the domain "default". The same name gives the same handle; handles live as
 * long as the process. */
typedef struct ps_record_domain ps_record_domain;
PS_API ps_record_domain *ps_record_domain_named(const char *name);

/* Streams. A range on a stream also gets the times at which the device came to its start and to its end. A handle is
 * a CUstream / cudaStream_t; NULL means host only. Without a GPU, any handle gives a device row with the host's times, so
 * that pipelines on CPUs can be drawn; PS_RECORD_HOST_STREAM is the usual one, other small numbers are further lanes. */
#define PS_RECORD_HOST_STREAM ((void *)1) /* equals CU_STREAM_LEGACY, the default stream of CUDA */

/* A moment. `message` is copied: 1 to 4095 bytes of UTF-8. */
PS_API void ps_record_mark(ps_record_domain *domain, const char *message, void *stream);

/* A span between two calls, also of different threads. Returns its id, 0 when it is not recorded. */
PS_API uint64_t ps_record_range_start(ps_record_domain *domain, const char *message, void *stream);
PS_API void ps_record_range_end(uint64_t range);

/* Nested spans of this thread. Push returns the depth before, pop the depth after; -1 when nothing was recorded. */
PS_API int ps_record_range_push(ps_record_domain *domain, const char *message, void *stream);
PS_API int ps_record_range_pop(ps_record_domain *domain);

/* An operator of a framework, with the kernel it stands for, on machines where nothing else knows of operators: one row
 * of the operators, one of the device. Needed for module statistics (ranges in the domain "Module"). `shapes` may be NULL:
 * its input shapes, "64,128;128,32". */
PS_API uint64_t ps_record_op_begin(const char *name, const char *shapes, void *stream);
/* The same in the backward pass: `forward` is what ps_record_op_begin gave for the operator whose gradient this one computes.
 * It then counts for the module in which that one ran, as the backward pass of that call. */
PS_API uint64_t ps_record_op_begin_backward(const char *name, const char *shapes, void *stream,
                                            uint64_t forward);
/* An operator of the host alone, which stands for no kernel: a view, or what holds others. A row of the operators, none of the device.
 * `forward`: as above, 0 for none. */
PS_API uint64_t ps_record_op_begin_host(const char *name, const char *shapes, uint64_t forward);
PS_API void ps_record_op_end(uint64_t op);

/* --- steps --------------------------------------------------------------------------------------------------------- */

/* One iteration of the training loop, numbered by the caller. When the option "window" is "A:B", recording starts as step
 * A begins, and stops and exports as step B begins (or B - 1 ends). A step that is open is ended by the next begin and by
 * stop. */
PS_API int ps_record_step_begin(int64_t step);
PS_API int ps_record_step_end(void);

/* The same for loops that have one place to say it: ends the open step and begins the next number, from 0 on. Belongs where an
 * iteration begins. Where it stands at the end, it must be called once before the loop, too: what comes before the first call is in
 * no step. */
PS_API int ps_record_step(void);

/* Both with the stream that the step's work is put on, as of a range: the step then also has its times on the device. NULL: host
 * only, as above. */
PS_API int ps_record_step_begin_on(int64_t step, void *stream);
PS_API int ps_record_step_on(void *stream);

/* --- metadata ------------------------------------------------------------------------------------------------------ */

/* A key of profiler_metadata.json, for every recording of this process; `json` is any JSON value, at most 4096 bytes each
 * and 50 KiB in all. pipescope knows "pp_info" ({"pp_type": "1f1b", "microbatch_num": 8}), "distributed_args" and
 * "parallel_group_info". */
PS_API int ps_record_add_metadata(const char *key, const char *json);

/* How far this machine's wall clock lies from that of the machine of another rank, as the program measured it (by an exchange of
 * messages: docs/recording.md says how). Kept with the recording, for those who read the ranks together; no time is changed by it.
 * Called at the start and at the end of a run it also tells how the clocks drift.
 *   reference_rank   whose clock it is; the same on all ranks. That rank itself calls with offset 0.
 *   at_ns            CLOCK_REALTIME here when it was measured, at most a day ago; 0 for now
 *   offset_ns        clock here less the clock there
 *   uncertainty_ns   the truth differs by no more; 0 for ranks of one machine
 *   method           how, a word of a-z, 0-9, _ and -: "exchange" (NULL), "same_host", "ptp"
 * Holds for the recording that runs and for later ones of the process. */
PS_API int ps_record_clock_offset(int reference_rank, int64_t at_ns, int64_t offset_ns,
                                  int64_t uncertainty_ns, const char *method);

/* A name for a stream, shown in timelines. */
PS_API int ps_record_name_stream(void *stream, const char *name);

/* --- what was recorded --------------------------------------------------------------------------------------------- */

typedef struct ps_record_stats {
    uint32_t size;      /* set by the caller: sizeof(ps_record_stats) */
    uint32_t n_threads; /* that recorded something */
    uint64_t n_ranges;  /* begun */
    uint64_t n_marks;
    uint64_t n_ops;
    uint64_t n_device; /* device times that arrived */
    uint64_t
        n_dropped; /* events that are missing, of all kinds; which, is in the metadata collector.drops */
    uint64_t spool_bytes; /* written so far */
    uint32_t crash_safe;  /* 1: what was recorded survives the death of the process */
    uint32_t recording;
    char backend[16]; /* "host", "cuda_event", "cupti" */
} ps_record_stats;

/* Of the current or last recording. */
PS_API int ps_record_get_stats(ps_record_stats *out);

#ifdef __cplusplus
}
#endif
#endif
