/* Errors of files, with what the system says. */
#ifndef PS_RECORD_FAILURE_H
#define PS_RECORD_FAILURE_H

#include "base/err.h"

/* "<path>: <what>: <reason>" for an errno; the code is PS_READONLY, PS_NO_ROOM, PS_NOT_FOUND or PS_IO. */
ps_code ps_fail_system(ps_err *err, const char *path, const char *what, int error);

#endif
