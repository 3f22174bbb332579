/* What the pipelines of Paddle's dynamic graph write with pp_configs' `profiling`, into profile_record_tmp_file_for_rank_N: two lines for
 * each pass, with the moment at which the device had come to it in whole milliseconds. The second form is of several pieces of the model
 * on a rank, whose numbers stand behind VP.
 *
 *   {"name": "F0", "cat": "pipeline timeline", "ph": "B", "pid": 0, "tid": 1, "ts": 1701771693000, "cname": "thread_state_running"}
 *   {"name": "B3_VP1", "cat": "virtual pipeline timeline", "ph": "E", "pid": 0, "tid": 2, "ts": 1701771693020, "cname": "rail_idle"} */
#ifndef PS_READ_PADDLE_STAMPS_H
#define PS_READ_PADDLE_STAMPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No line is longer. */
#define PS_PADDLE_STAMP_BYTES 512

typedef struct ps_paddle_stamp {
    bool is_forward, begins;
    int64_t microbatch, chunk; /* chunk -1: the model lies there in one piece */
    int64_t at_us;             /* since the epoch */
} ps_paddle_stamp;

typedef enum ps_paddle_line {
    PS_PADDLE_LINE_STAMP,
    PS_PADDLE_LINE_EMPTY,
    PS_PADDLE_LINE_OTHER, /* no stamp */
    PS_PADDLE_LINE_NOMEM
} ps_paddle_line;

/* One line, without its end. */
ps_paddle_line ps_paddle_stamp_parse(const char *line, size_t n, ps_paddle_stamp *out);

#endif
