/* A chart packed for the page: JSON with typed columns, about ten bytes an op.
 *
 *   {"title":"...","schedule":"1f1b","how":"...","origin_ns":"0",
 *    "measured":1,"untold":"...",  idle time is what "bubbles" says; why some ranks have none
 *    "unreplayed":"...",           why no other schedule was replayed, or nothing is gained
 *    "notes":["..."],              what the terminal says of its ops beside it
 *    "numbers":"...",              what the numbers on blocks mean, where they are not plain microbatches
 *    "ranks":[[rank,stage (-1: it is none, or which is not known),pipeline,1 or 0: its bubble is told],...],
 *    "unmarked":[[rank row,step,ns],...],        of the bubble, what may be ops without marks
 *    "overlapped":[[rank row,step,ns],...],      of busy time, a forward and a backward at once
 *    "windows":[[pipeline,step,start,end],...],  of computation, by pipeline and start; end < start: none
 *    "labels":[["7F+13B",kind,chunk,microbatch,chunk2,microbatch2,phase,source,[texts]],...],
 *    "runs":[rank row,step,count, ...],  ops in order; "n":ops
 *    "label":C,"gap":C,"dur":C,"host":C,"hostdur":C,
 *    "links":{"n":N,"from":C,"to":C},
 *    "bubbles":{"n":N,"runs":[...],"gap":C,"dur":C,"cause":C,"waits":C},
 *    "others":{"n":N,"runs":[...],"gap":C,"dur":C},   work of the device in no op
 *    "path":{"n":N,"op":C},        the critical path of each step and pipeline, from its end to its start: z(op - the one before)
 *    "parts":[[op,"attn(F)",row 0..2 below its op,look,start - that of the op,duration],...]}
 *
 * The texts of a label are those of block_text.h, "" for one like the text before, none for a name that nothing less is made of.
 * A column C is base64 of a series of variable-length integers: seven bits a byte, low bits first, the high bit says
 * that more follow. z(x) is x with its sign moved into the lowest bit: 0, -1, 1, -2, ... -> 0, 1, 2, 3.
 *
 *   label    z(row of "labels" - that of the op before)
 *   gap      z(start - end of the op before in the run, or - 0 at the start of a run)
 *   dur      z(duration - that of the last op of the same kind)
 *   host     0 without host times, else z(host start - start) + 1
 *   hostdur  z(host duration), only for ops that have host times
 *   from,to  z(from - last from), z((to - from) - the last such difference)
 *   waits    0 unknown, else z(op - the last op waited for) + 1
 *
 * web/src/pipeline/unpack.ts reads it. The two come in one program, so there is no version. */
#ifndef PS_WRITE_CHART_PACK_H
#define PS_WRITE_CHART_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json_write.h"
#include "model/chart.h"

PS_MUST_USE ps_code ps_chart_pack(const ps_chart *chart, ps_buf *out, ps_err *err);

/* A member that is a column: z(number - the one before), the first - 0. */
void ps_json_pack_column(ps_json *j, const char *name, const int64_t *numbers, size_t n);

/* A JSON string that is safe inside an HTML script element: "<" is written as \u003c. */
void ps_add_script_str(ps_buf *out, const char *s);
void ps_json_script_str(ps_json *j, const char *s); /* as a value */

#endif
