#include "base/build_parts.h"

static const struct {
    const char *name, *option;
    bool has;
    const char *what, *remedy;
} PARTS[] = {
#define X(name, option, has, what, remedy) {#name, option, has, what, remedy},
#include "base/build_parts.def"
#undef X
};

bool ps_build_has(ps_build_part part) {
    return PARTS[part].has;
}

const char *ps_build_part_name(ps_build_part part) {
    return PARTS[part].name;
}

ps_code ps_fail_left_out(ps_err *err, ps_build_part part) {
    return ps_fail(err, PS_USAGE, "this build leaves out %s: %s, or build with -D%s=ON",
                   PARTS[part].what, PARTS[part].remedy, PARTS[part].option);
}
