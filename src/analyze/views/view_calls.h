/* The call tree as views show it: of a whole rank, a span or chosen slices; by callers, callees or modules. */
#ifndef PS_ANALYZE_VIEW_CALLS_H
#define PS_ANALYZE_VIEW_CALLS_H

#include "analyze/modules/call_tree.h"
#include "analyze/views/view.h"

/* `by`: "callers", "callees" or "modules". ask->node_of then has the nodes of that tree; from the bottom those of the outermost caller.
 * End with ps_call_tree_fini() in any case. PS_NOTHING without modules, PS_NOMEM, PS_BUSY. */
PS_MUST_USE ps_code ps_view_calls_build(const ps_call_ask *ask, const char *by, ps_call_tree *t,
                                        ps_err *err);

/* The view's table; NULL with PS_NOTHING and a sentence for a tree of nothing, or PS_NOMEM. */
ps_table *ps_view_calls_table(const ps_call_tree *t, ps_lang lang, ps_err *err);

#endif
