#include "analyze/core/result_table.h"

void ps_result_finish_table(ps_result *result, ps_table *table, const char *file, uint32_t to) {
    if (table != NULL) {
        table->names_fixed = true;
        table->to = to;
        table->file = file;
    }
    ps_result_give(result, table);
}
