/* What a POST about one rank says: {"rank":"KEY", ...}. */
#ifndef PS_SERVE_BODY_ASK_H
#define PS_SERVE_BODY_ASK_H

#include "base/literal.h"
#include "serve/http/route.h"

/* The object in the body and the rank it names, ready; release it. False with the reply filled. */
bool ps_ask_body_rank(const ps_request *q, ps_reply *r, const ps_literal **object, ps_loaded **out);

/* A request with the members of an object as its parameters: numbers and texts as they stand, true as 1, false as 0, null as not given. In
 * the reply's arena; NULL with the reply filled. */
const ps_request *ps_body_as_params(const ps_request *q, ps_reply *r, const ps_literal *object);

/* The whole numbers of an array member, each below `stop`, at most `max`; in the reply's arena. False with the reply filled. */
bool ps_ask_body_numbers(ps_reply *r, const ps_literal *object, const char *name, uint64_t stop,
                         size_t max, uint32_t **out, size_t *n);

#endif
