/* Files that clients sent: each lies alone in a folder of this process below $TMPDIR (mode 0700), whose names are ours but for the last one.
 * Together they stay below a bound. They are gone when their capture is closed, when the server ends, and when a signal ends it. */
#ifndef PS_SERVE_UPLOADS_H
#define PS_SERVE_UPLOADS_H

#include <stddef.h>

#include "base/err.h"

typedef struct ps_uploads ps_uploads;
typedef struct ps_upload ps_upload;

ps_uploads *ps_uploads_new(size_t max_bytes); /* NULL: memory is out */
/* Removes the files, also those that are still read: who has one open goes on. PS_IO: one could not be, the first of them, and stays. */
ps_code ps_uploads_clear(ps_uploads *u, ps_err *err);
void ps_uploads_free(ps_uploads *u); /* NULL is fine */
/* How many bytes may still come. */
size_t ps_uploads_room(ps_uploads *u);
/* The file of that capture, if it is one of these, is removed. PS_IO: it could not be, and stays. NULL is fine. */
PS_MUST_USE ps_code ps_uploads_close(ps_uploads *u, size_t cluster, ps_err *err);

/* One that begins, empty. PS_IO, PS_RANGE (there are too many), PS_NOMEM. */
ps_upload *ps_upload_begin(ps_uploads *u, ps_err *err);
/* PS_RANGE: there is no room for it below the bound; PS_IO. */
PS_MUST_USE ps_code ps_upload_add(ps_upload *up, const char *bytes, size_t n, ps_err *err);
/* All is here: it gets the name (what is no letter, digit, - _ or . in it becomes _), which says its kind as everywhere. *path lives as long
 * as the upload. PS_USAGE: it is empty, or has no name. */
PS_MUST_USE ps_code ps_upload_end(ps_upload *up, const char *name, const char **path, ps_err *err);
/* It stays as long as this capture is open. */
void ps_upload_keep(ps_upload *up, size_t cluster);
/* Removes one that nobody keeps; of others nothing happens. NULL is fine. */
void ps_upload_leave(ps_upload *up);

#endif
