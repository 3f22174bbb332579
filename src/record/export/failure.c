#include "record/export/failure.h"

#include <errno.h>
#include <string.h>

ps_code ps_fail_system(ps_err *err, const char *path, const char *what, int error) {
    char text[128];
    const char *reason = ps_errno_text(error, text, sizeof text);
    ps_code code = error == EROFS || error == EACCES || error == EPERM ? PS_READONLY
                   : error == ENOSPC || error == EDQUOT                ? PS_NO_ROOM
                   : error == ENOENT                                   ? PS_NOT_FOUND
                                                                       : PS_IO;
    return ps_fail_file(err, code, path, "%s: %s", what, reason);
}
