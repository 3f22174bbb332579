/* What the parts of the session share: session.c (states), session_folder.c (folder, files), session_facts.c (what a recording
 * says of itself, metadata), session_export.c, session_step.c.
 *
 * Locks, taken in this order, none while the program waits for the disk but `place` at the first event:
 *
 *     control   which recording is the current one and which are waiting for their export (session.c)
 *     place     the files of the current recording; also taken by ps_session_ring_place() on the program's threads
 *     facts     metadata and names of streams (session_facts.c)
 *
 * Waiting for threads, for the device and exporting are done with none of them held: the state says what is going on. */
#ifndef PS_RECORD_SESSION_PARTS_H
#define PS_RECORD_SESSION_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "pipescope/record.h"
#include "record/core/threads.h"
#include "record/ring/clock.h"
#include "record/ring/config.h"
#include "record/ring/format.h"
#include "record/ring/spool.h"

/* One recording. Everything but what says otherwise is set before other threads see it. */
typedef struct ps_session_recording {
    uint32_t generation;
    uint64_t session;
    ps_rec_config config;
    uint64_t options; /* their version when `config` was read */
    uint64_t ring_slots;
    int clock;
    ps_anchor first;  /* when it was started, or made ready */
    int64_t start_ns; /* Unix: for the name of its folder */
    bool automatic;   /* by the option `record` */
    bool windowed;    /* by the option `window` */
    char backend[16];
    char *environment; /* ps_environment_read() */
    char places[256];  /* PS_RECORD_PLACES_VARIABLE, "" when nobody asks */
    bool set_aside;    /* automatic, and ended because the program began a recording itself */

    /* Set under `place`, by the first event. */
    bool placed;  /* there is a spool and a writer */
    bool on_disk; /* the spool is a file */
    bool mapped;  /* the rings are files too: nothing is lost when the process is killed */
    char folder[4096 + 512];   /* "" while there is none */
    char raw[4096 + 512 + 16]; /* FRAMEWORK */
    ps_spool spool;

    bool left_in_rings;    /* the spool did not take all: the files of the rings stay */
    bool given_up;         /* could not be exported as the process ended */
    ps_record_stats stats; /* when stopped */
    uint64_t stop;         /* the how many-th stop of the process that was */
    struct ps_session_recording *next;
} ps_session_recording;

/* --- session_folder.c ---------------------------------------------------------------------------------------------- */

/* Makes the folder and the spool, or a spool in memory. False when not even that can be had. */
bool ps_session_recording_place(ps_session_recording *take);

/* Makes <dir>/<name of the take>, 0750; the name into take->folder. */
PS_MUST_USE ps_code ps_session_recording_make_folder(ps_session_recording *take, const char *dir,
                                                     char *out, size_t size, ps_err *err);

/* Leaves word for `pipescope record` that the take lies in `folder`. */
void ps_session_recording_announce(const ps_session_recording *take, const char *folder);

/* Leaves word for `pipescope record` that nothing of the take is on a disk, and why; NULL takes that back. */
void ps_session_recording_announce_lost(const ps_session_recording *take, const char *why);

/* Removes the files of rings that are wholly in the spool. */
void ps_session_recording_remove_rings(const ps_session_recording *take, const bool *keep);

/* Removes the folder with all that the recorder put there. */
void ps_session_recording_remove_folder(const char *folder);

/* --- session_facts.c ----------------------------------------------------------------------------------------------- */

/* Through ring 0: what every recording begins with. */
void ps_session_recording_define(const ps_session_recording *take);

/* And what one ends with that was stopped in order. */
void ps_session_recording_define_stop(const ps_session_recording *take);

/* Nobody asks for facts any more: the next recording defines them anew. */
void ps_facts_undefined(void);

void ps_facts_forget(void); /* in a forked child: keeps them, but for the lock */
void ps_facts_hold(void);
void ps_facts_release(void);
bool ps_facts_are_defined(void); /* the current recording has them. Under that lock */

/* --- session_clock.c ----------------------------------------------------------------------------------------------- */

/* Through ring 0: what was measured of clocks before the recording. Under the lock of facts. */
void ps_clock_offsets_define(void);

/* --- session_environment.c ------------------------------------------------------------------------------------------ */

/* The variables of the environment that matter for a distributed training, as JSON objects of at most a few KB: texts one behind
 * the other, the last one empty. NULL when memory is out. On the thread that starts the recording: others may be setting some. */
char *ps_environment_read(void);
/* Through ring 0; `texts` may be NULL. */
void ps_environment_define(const char *texts);

/* --- session_export.c ---------------------------------------------------------------------------------------------- */

/* Writes the database of a stopped recording; `dir` NULL: where it was recorded. PS_RECORD_OK or another code of record.h.
 * `say`: one line about what was recorded, also when all went well. */
int ps_session_recording_export(ps_session_recording *take, const char *dir, bool say);

/* --- session_step.c ------------------------------------------------------------------------------------------------ */

/* Ends the step that is open, as recording ends. */
void ps_steps_close(void);
void ps_steps_forget(void);
void ps_steps_at_exit(void); /* says when the window never came */

/* What the window says of a start by the program. */
typedef enum ps_window_answer {
    PS_WINDOW_NONE,
    PS_WINDOW_WAITING,
    PS_WINDOW_OVER
} ps_window_answer;
ps_window_answer ps_window_ask(void);

/* --- session.c ----------------------------------------------------------------------------------------------------- */

typedef enum ps_start_by { PS_BY_PROGRAM, PS_BY_OPTION, PS_BY_WINDOW } ps_start_by;

int ps_session_begin(ps_start_by by);

/* Exports what was stopped last, and says in one line what it was. */
int ps_session_export_last(void);

/* Whether there is a recording that runs, by what this library knows (in a forked child too). */
bool ps_session_is_recording(void);

/* In a forked child that will not record, before the session is forgotten: leaves word of it for `pipescope record`. */
void ps_session_announce_fork(void);

/* As the process ends: stops, exports all that is not exported yet. */
void ps_session_finish(void);
bool ps_session_has_work(void);
unsigned ps_session_exit_timeout_s(void); /* of the recording that began last */

void ps_session_tell_begun(uint32_t generation);
/* ps_ring_place_fn: for threads.h. */
bool ps_session_ring_place(uint32_t generation, ps_ring_place *out);
/* From the writer: events that could not even find the rings. */
void ps_session_count_nested(void);

/* The folders of what has not been exported yet, one a call by number; false past the last. */
bool ps_session_unexported(unsigned number, char *out, size_t size);

void ps_session_forget(void); /* in a forked child */

/* --- process.c ----------------------------------------------------------------------------------------------------- */

/* The driver of the device has exit handlers of its own: from now on ours runs before those registered so far. */
void ps_process_exit_early(void);

#endif
