/* The functions of record.h. Those that ranges and marks call look at one word first; the others make sure that the process
 * is prepared, and hand on. */
#include "pipescope/record.h"

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

/* --- when and where -------------------------------------------------------------------------------------------------- */

int ps_record_set(const char *option, const char *value) {
    ps_process_init();
    if (option == NULL || !ps_rec_config_takes(option, value)) {
        return PS_RECORD_BAD_ARGUMENT;
    }
    return ps_rec_config_set(option, value) ? PS_RECORD_OK : PS_RECORD_BAD_ARGUMENT;
}

int ps_record_warmup(void) {
    ps_process_init();
    return ps_session_warmup();
}

int ps_record_start(void) {
    ps_process_init();
    return ps_session_start();
}

int ps_record_stop(void) {
    ps_process_init();
    return ps_session_stop();
}

int ps_record_export(const char *dir) {
    ps_process_init();
    return ps_session_export(0, dir);
}

uint64_t ps_record_last(void) {
    ps_process_init();
    return ps_session_last();
}

int ps_record_export_recording(uint64_t recording, const char *dir) {
    ps_process_init();
    return recording == 0 ? PS_RECORD_BAD_ARGUMENT : ps_session_export(recording, dir);
}

int ps_record_discard(void) {
    ps_process_init();
    return ps_session_discard();
}

int ps_record_enabled(void) {
    return ps_is_recording();
}

int ps_record_directory(char *out, uint32_t size) {
    ps_process_init();
    return ps_session_directory(out, size);
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
    ps_process_init();
    return ps_event_domain(name, name != NULL ? strlen(name) : 0);
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
    ps_process_init();
    return ps_session_step_begin(step, NULL);
}

int ps_record_step_begin_on(int64_t step, void *stream) {
    ps_process_init();
    return ps_session_step_begin(step, stream);
}

int ps_record_step_end(void) {
    ps_process_init();
    return ps_session_step_end();
}

int ps_record_step(void) {
    ps_process_init();
    return ps_session_step(NULL);
}

int ps_record_step_on(void *stream) {
    ps_process_init();
    return ps_session_step(stream);
}

/* --- metadata, figures ----------------------------------------------------------------------------------------------- */

int ps_record_add_metadata(const char *key, const char *json) {
    ps_process_init();
    return ps_session_metadata(key, json);
}

int ps_record_name_stream(void *stream, const char *name) {
    ps_process_init();
    return ps_session_name_stream(stream, name);
}

int ps_record_clock_offset(int reference_rank, int64_t at_ns, int64_t offset_ns,
                           int64_t uncertainty_ns, const char *method) {
    ps_process_init();
    return ps_session_clock_offset(reference_rank, at_ns, offset_ns, uncertainty_ns, method);
}

int ps_record_get_stats(ps_record_stats *out) {
    ps_process_init();
    if (out == NULL || out->size < sizeof out->size) {
        return PS_RECORD_BAD_ARGUMENT;
    }
    return ps_session_stats(out);
}
