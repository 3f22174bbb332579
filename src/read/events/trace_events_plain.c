/* The fast way in plain C, for machines that have nothing better and for comparing. */
#define PS_JSON_PLAIN 1
#include "read/events/trace_events_fast.h"

ps_stretch_fast *ps_stretch_fast_plain(void) {
    return run_fast;
}
