/* Replies with their headers, given to libmicrohttpd. */
#ifndef PS_SERVE_SEND_H
#define PS_SERVE_SEND_H

#include <microhttpd.h>

#include "serve/http/assets.h"
#include "serve/http/route.h"

/* Sends the body as it lies in memory. `r` (of ps_alloc) is freed when it was sent. */
enum MHD_Result ps_send_reply(struct MHD_Connection *mhd, ps_reply *r);
enum MHD_Result ps_send_asset(struct MHD_Connection *mhd, const ps_asset *asset);
/* 405; `allowed` is a list of methods. */
enum MHD_Result ps_send_not_allowed(struct MHD_Connection *mhd, const char *allowed);

#endif
