/* For bindings that cannot inline ps_is_recording(): a call into C costs them ten times as much as reading a word. */
#include "pipescope/record.h"
#include "record/core/events.h"
#include "record/session/session.h"

const volatile uint32_t *ps_record_enabled_word(void) {
    ps_process_init();
    return (const volatile uint32_t *)ps_recording;
}
