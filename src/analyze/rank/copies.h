/* Copies and fills of memory by a device: direction, memory of the host, size. One piece for the views and the report. */
#ifndef PS_ANALYZE_COPIES_H
#define PS_ANALYZE_COPIES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/rank/work.h"
#include "model/trace.h"

/* Arguments that say the direction, the size and the memory, by format. */
typedef struct ps_copy_keys {
    ps_str direction, size[2], source, target;
} ps_copy_keys;

typedef struct ps_copy {
    ps_str kind;           /* as the profile writes the direction, else the name of the slice */
    const char *direction; /* "H2D", "D2H", "D2D", "H2H", "P2P", "fill"; NULL unknown */
    const char *
        memory; /* of the host: "pageable", "pinned"; NULL where it has no part or it is not said */
    int64_t bytes; /* -1 unknown */
} ps_copy;

ps_copy_keys ps_copy_keys_of(const ps_trace *trace);
/* Transfers of a communication operator, which text captures show once more on its stream, are none. */
bool ps_is_copy(const ps_work *work, uint32_t slice);
ps_copy ps_copy_read(const ps_trace *trace, const ps_copy_keys *keys, uint32_t slice);

#endif
