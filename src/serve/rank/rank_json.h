/* A rank as /api/ranks and /api/events tell it. */
#ifndef PS_SERVE_RANK_JSON_H
#define PS_SERVE_RANK_JSON_H

#include "base/err.h"
#include "base/json_write.h"
#include "serve/rank/store.h"

/* Adds the object of rank i as it is now. Sentences are in `lang`. PS_NOMEM only. */
PS_MUST_USE ps_code ps_put_rank(ps_lang lang, ps_json *j, ps_store *store, size_t i, ps_err *err);

#endif
