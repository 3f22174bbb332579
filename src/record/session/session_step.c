/* Steps, and the window of steps that the option "window" asks for. Steps are counted also while nothing is recorded.
 *
 *     before the window      a start by the program waits for it
 *     begin of step A ..     recording begins, before the step's own record
 *     end of step B-1, or begin of B or a later one: stop and export; after that nothing is recorded any more
 *
 * The lock here is held while a step's record is written, never while a recording begins or ends. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "record/core/events.h"
#include "record/ring/config_texts.h"
#include "record/ring/log.h"
#include "record/session/session.h"
#include "record/session/session_parts.h"

typedef enum window_state { BEFORE, INSIDE, OVER } window_state;
typedef enum todo { NOTHING, BEGIN, FINISH } todo;

static struct {
    pthread_mutex_t lock;
    bool open;
    int64_t number;      /* of the step that is open, or was last */
    bool any;            /* there was one */
    uint32_t generation; /* of the recording that has the open step's begin, 0 none */
    uint64_t id;         /* of its times on the device, 0 none */
    window_state window;
} g = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void close_open(bool cut) {
    if (g.open && g.generation != 0 && atomic_load(ps_recording) == g.generation) {
        ps_event_step_end(g.number, g.id, cut);
    }
    g.generation = 0;
    g.id = 0;
}

/* What the window wants as `step` begins. */
static todo at_begin(int64_t step) {
    int64_t first = 0;
    int64_t end = 0;
    if (g.window == OVER || !ps_rec_config_window(&first, &end)) {
        return NOTHING;
    }
    if (step >= end) {
        todo what = g.window == INSIDE ? FINISH : NOTHING;
        g.window = OVER;
        return what;
    }
    if (g.window == BEFORE && step >= first) {
        g.window = INSIDE;
        return BEGIN;
    }
    return NOTHING;
}

static todo at_end(void) {
    int64_t first = 0;
    int64_t end = 0;
    if (g.window != INSIDE || !ps_rec_config_window(&first, &end) || g.number < end - 1) {
        return NOTHING;
    }
    g.window = OVER;
    return FINISH;
}

static int act(todo what) {
    if (what == BEGIN) {
        int code = ps_session_begin(PS_BY_WINDOW);
        if (code != PS_RECORD_OK) {
            ps_rec_log("the window of steps cannot be recorded: %s", ps_record_error_text(code));
        }
        return code;
    }
    if (what == FINISH) {
        /* The program may have stopped, and exported, by itself. */
        return ps_session_stop() == PS_RECORD_OK ? ps_session_export_last() : PS_RECORD_OK;
    }
    return PS_RECORD_OK;
}

static int begin_step_window_step(int64_t step, void *stream) {
    (void)pthread_mutex_lock(&g.lock);
    if (!g.any) {
        ps_rec_option_look(); /* for the window */
    }
    close_open(false);
    g.open = false;
    todo what = at_begin(step);
    (void)pthread_mutex_unlock(&g.lock);
    int code = act(what);
    (void)pthread_mutex_lock(&g.lock);
    g.open = true;
    g.any = true;
    g.number = step;
    g.generation = atomic_load(ps_recording);
    if (g.generation != 0) {
        g.id = ps_event_step_begin(step, stream);
    }
    (void)pthread_mutex_unlock(&g.lock);
    return code;
}

int ps_session_step_begin(int64_t step, void *stream) {
    return begin_step_window_step(step, stream);
}

int ps_session_step_end(void) {
    (void)pthread_mutex_lock(&g.lock);
    bool was_open = g.open;
    close_open(false);
    g.open = false;
    todo what = was_open ? at_end() : NOTHING;
    (void)pthread_mutex_unlock(&g.lock);
    int code = act(what);
    return was_open ? code : PS_RECORD_WRONG_TIME;
}

int ps_session_step(void *stream) {
    (void)pthread_mutex_lock(&g.lock);
    int64_t next = !g.any ? 0 : g.number == INT64_MAX ? g.number : g.number + 1;
    (void)pthread_mutex_unlock(&g.lock);
    return begin_step_window_step(next, stream);
}

void ps_steps_close(void) {
    (void)pthread_mutex_lock(&g.lock);
    close_open(true);
    (void)pthread_mutex_unlock(&g.lock);
}

ps_window_answer ps_window_ask(void) {
    int64_t first = 0;
    int64_t end = 0;
    if (!ps_rec_config_window(&first, &end)) {
        return PS_WINDOW_NONE;
    }
    (void)pthread_mutex_lock(&g.lock);
    ps_window_answer answer = g.window == OVER ? PS_WINDOW_OVER : PS_WINDOW_WAITING;
    (void)pthread_mutex_unlock(&g.lock);
    return answer;
}

void ps_steps_at_exit(void) {
    int64_t first = 0;
    int64_t end = 0;
    if (pthread_mutex_trylock(&g.lock) != 0) {
        return; /* perhaps held below a signal handler that ends the process */
    }
    bool waited = g.window == BEFORE;
    (void)pthread_mutex_unlock(&g.lock);
    if (waited && ps_rec_config_window(&first, &end)) {
        ps_rec_log(
            g.any ? "no step of the window began: nothing was recorded (option window)"
                  : "the program has no steps (ps_record_step_begin): nothing was recorded (option "
                    "window)");
    }
}

void ps_steps_forget(void) {
    (void)pthread_mutex_init(&g.lock, NULL);
    g.generation = 0;
    g.id = 0;
}
