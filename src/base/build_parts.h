/* Parts that a build may be without, so that it needs fewer libraries (docs/install.md). Who asks for one is told so by name. */
#ifndef PS_BASE_BUILD_PARTS_H
#define PS_BASE_BUILD_PARTS_H

#include <stdbool.h>

#include "base/err.h"

#ifndef PIPESCOPE_HAS_XLSX
#define PIPESCOPE_HAS_XLSX 1
#endif
#ifndef PIPESCOPE_HAS_SERVE
#define PIPESCOPE_HAS_SERVE 1
#endif
#ifndef PIPESCOPE_HAS_ISAL /* no part: zlib stands in */
#define PIPESCOPE_HAS_ISAL 1
#endif

typedef enum ps_build_part {
#define X(name, option, has, what, remedy) PS_PART_##name,
#include "base/build_parts.def"
#undef X
    PS_N_BUILD_PARTS
} ps_build_part;

bool ps_build_has(ps_build_part part);
/* As its option of CMake without "PIPESCOPE_", in lower case: "xlsx". */
const char *ps_build_part_name(ps_build_part part);

/* PS_USAGE: that this build is without the part, what to do instead, and what to build with. */
ps_code ps_fail_left_out(ps_err *err, ps_build_part part);

#endif
