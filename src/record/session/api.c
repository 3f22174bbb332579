/* The functions of record.h. Those that ranges and marks call look at one word first; the others make sure that the process
 * is prepared, and hand on. */
#include "pipescope/record.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/version.h"
#include "record/core/domains.h"
#include "record/core/events.h"
#include "record/ring/config.h"
#include "record/session/session.h"

/* --- results --------------------------------------------------------------------------------------------------------- */

const char *ps_record_error_text(int code) {
    switch (code) {
    case PS_RECORD_OK:
        return "ok";
    case PS_RECORD_BAD_ARGUMENT:
        return "unknown option, value out of range, or text that is no JSON";
    case PS_RECORD_WRONG_TIME:
        return "not possible now: recording, exporting, or neither of them";
    case PS_RECORD_IO:
        return "files could not be written";
    case PS_RECORD_NO_MEMORY:
        return "out of memory";
    case PS_RECORD_NOTHING:
        return "nothing was recorded";
    case PS_RECORD_UNAVAILABLE:
        return "the export needs libsqlite3, which is not there: raw files are kept";
    default:
        return "unknown code";
    }
}

const char *ps_record_version(void) {
    return PS_VERSION;
}

/* --- control calls --------------------------------------------------------------------------------------------------- */

/* They hold locks while they open and write files: a thread of the program that is cancelled (pthread_cancel) ends behind the call, not
 * in it. */
static int begin_control(void) {
    int cancel = PTHREAD_CANCEL_ENABLE;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    ps_process_init();
    return cancel;
}

static void end_control(int cancel) {
    (void)pthread_setcancelstate(cancel, NULL);
}

/* --- when and where -------------------------------------------------------------------------------------------------- */

int ps_record_set(const char *option, const char *value) {
    int cancel = begin_control();
    bool is_set =
        option != NULL && ps_rec_config_takes(option, value) && ps_rec_config_set(option, value);
    end_control(cancel);
    return is_set ? PS_RECORD_OK : PS_RECORD_BAD_ARGUMENT;
}

int ps_record_warmup(void) {
    int cancel = begin_control();
    int result = ps_session_warmup();
    end_control(cancel);
    return result;
}

int ps_record_start(void) {
    int cancel = begin_control();
    int result = ps_session_start();
    end_control(cancel);
    return result;
}

int ps_record_stop(void) {
    int cancel = begin_control();
    int result = ps_session_stop();
    end_control(cancel);
    return result;
}

int ps_record_export(const char *dir) {
    int cancel = begin_control();
    int result = ps_session_export(0, dir);
    end_control(cancel);
    return result;
}

uint64_t ps_record_last(void) {
    int cancel = begin_control();
    uint64_t result = ps_session_last();
    end_control(cancel);
    return result;
}

int ps_record_export_recording(uint64_t recording, const char *dir) {
    int cancel = begin_control();
    int result = recording == 0 ? PS_RECORD_BAD_ARGUMENT : ps_session_export(recording, dir);
    end_control(cancel);
    return result;
}

int ps_record_discard(void) {
    int cancel = begin_control();
    int result = ps_session_discard();
    end_control(cancel);
    return result;
}

int ps_record_enabled(void) {
    return ps_is_recording();
}

int ps_record_directory(char *out, uint32_t size) {
    int cancel = begin_control();
    int result = ps_session_directory(out, size);
    end_control(cancel);
    return result;
}

/* --- ranges and marks ------------------------------------------------------------------------------------------------ */

static inline ps_text api_text_of(const char *message) {
    return (ps_text){.bytes = message, .length = message != NULL ? strlen(message) : 0};
}

/* The caller's handle as a domain that may be used; NULL (counted) when it is none of ours. */
static inline const ps_record_domain *api_domain_of(const ps_record_domain *handle) {
    const ps_record_domain *domain = ps_domain_check(handle);
    if (__builtin_expect(domain == NULL, 0)) {
        ps_event_drop(PS_DROP_BAD_DOMAIN);
    }
    return domain;
}

ps_record_domain *ps_record_domain_named(const char *name) {
    int cancel = begin_control();
    ps_record_domain *result = ps_event_domain(name, name != NULL ? strlen(name) : 0);
    end_control(cancel);
    return result;
}

void ps_record_mark(ps_record_domain *handle, const char *message, void *stream) {
    if (!ps_is_recording()) {
        return;
    }
    const ps_record_domain *domain = api_domain_of(handle);
    if (domain != NULL) {
        ps_event_mark(domain, api_text_of(message), stream, NULL);
    }
}

uint64_t ps_record_range_start(ps_record_domain *handle, const char *message, void *stream) {
    if (!ps_is_recording()) {
        return 0;
    }
    const ps_record_domain *domain = api_domain_of(handle);
    return domain == NULL ? 0 : ps_event_start(domain, api_text_of(message), stream, NULL);
}

void ps_record_range_end(uint64_t range) {
    if (ps_is_recording()) {
        ps_event_end(NULL, range);
    }
}

int ps_record_range_push(ps_record_domain *handle, const char *message, void *stream) {
    if (!ps_is_recording()) {
        return -1;
    }
    const ps_record_domain *domain = api_domain_of(handle);
    return domain == NULL ? -1 : ps_event_push(domain, api_text_of(message), stream, NULL);
}

int ps_record_range_pop(ps_record_domain *handle) {
    if (!ps_is_recording()) {
        return -1;
    }
    const ps_record_domain *domain = api_domain_of(handle);
    return domain == NULL ? -1 : ps_event_pop(domain);
}

uint64_t ps_record_op_begin(const char *name, const char *shapes, void *stream) {
    return ps_is_recording() ? ps_event_op_begin(api_text_of(name), api_text_of(shapes), stream, 0)
                             : 0;
}

uint64_t ps_record_op_begin_backward(const char *name, const char *shapes, void *stream,
                                     uint64_t forward) {
    return ps_is_recording()
               ? ps_event_op_begin(api_text_of(name), api_text_of(shapes), stream, forward)
               : 0;
}

uint64_t ps_record_op_begin_host(const char *name, const char *shapes, uint64_t forward) {
    return ps_is_recording()
               ? ps_event_op_begin_host(api_text_of(name), api_text_of(shapes), forward)
               : 0;
}

void ps_record_op_end(uint64_t op) {
    if (ps_is_recording()) {
        ps_event_op_end(op);
    }
}

/* --- steps ----------------------------------------------------------------------------------------------------------- */

int ps_record_step_begin(int64_t step) {
    int cancel = begin_control();
    int result = ps_session_step_begin(step, NULL);
    end_control(cancel);
    return result;
}

int ps_record_step_begin_on(int64_t step, void *stream) {
    int cancel = begin_control();
    int result = ps_session_step_begin(step, stream);
    end_control(cancel);
    return result;
}

int ps_record_step_end(void) {
    int cancel = begin_control();
    int result = ps_session_step_end();
    end_control(cancel);
    return result;
}

int ps_record_step(void) {
    int cancel = begin_control();
    int result = ps_session_step(NULL);
    end_control(cancel);
    return result;
}

int ps_record_step_on(void *stream) {
    int cancel = begin_control();
    int result = ps_session_step(stream);
    end_control(cancel);
    return result;
}

/* --- metadata, figures ----------------------------------------------------------------------------------------------- */

int ps_record_add_metadata(const char *key, const char *json) {
    int cancel = begin_control();
    int result = ps_session_metadata(key, json);
    end_control(cancel);
    return result;
}

int ps_record_name_stream(void *stream, const char *name) {
    int cancel = begin_control();
    int result = ps_session_name_stream(stream, name);
    end_control(cancel);
    return result;
}

int ps_record_clock_offset(int reference_rank, int64_t at_ns, int64_t offset_ns,
                           int64_t uncertainty_ns, const char *method) {
    int cancel = begin_control();
    int result = ps_session_clock_offset(reference_rank, at_ns, offset_ns, uncertainty_ns, method);
    end_control(cancel);
    return result;
}

int ps_record_get_stats(ps_record_stats *out) {
    if (out == NULL || out->size < sizeof out->size) {
        return PS_RECORD_BAD_ARGUMENT;
    }
    int cancel = begin_control();
    int result = ps_session_stats(out);
    end_control(cancel);
    return result;
}
