#include "analyze/core/result_table.h"

ps_code ps_result_finish_table(ps_result *result, ps_table *table, bool ok, const char *file,
                               uint32_t to, ps_err *err) {
    if (!ok) {
        ps_table_free(table);
        return ps_fail_nomem(err);
    }
    table->names_fixed = true;
    table->to = to;
    table->file = file;
    return ps_result_add(result, table, err);
}
