#include "query/made_columns.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const ps_made_column COLUMNS[] = {
#define X(table, name, declared) {table, name, declared},
#include "query/made_columns.def"
#undef X
    {NULL, NULL, NULL}};

const ps_made_column *ps_made_columns_of(const char *table, size_t *n) {
    const ps_made_column *first = COLUMNS;
    while (first->table != NULL && strcmp(first->table, table) != 0) {
        first++;
    }
    *n = 0;
    while (first[*n].table != NULL && strcmp(first[*n].table, table) == 0) {
        (*n)++;
    }
    return first;
}

static void plain_name(const ps_table *t, size_t column, char out[PS_SQL_NAME_BYTES]) {
    char name[PS_SQL_NAME_BYTES];
    ps_table_file_name(t, column, name, sizeof name);
    size_t n = 0;
    for (const char *p = name; *p != '\0'; p++) {
        unsigned char c = (unsigned char)*p;
        bool is_letter = isalnum(c) || c >= 0x80;
        if (is_letter || (n > 0 && out[n - 1] != '_')) {
            out[n++] = is_letter ? *p : '_';
        }
    }
    n -= n > 0 && out[n - 1] == '_';
    out[n] = '\0';
}

void ps_sql_made_name(const ps_table *t, size_t column, char out[PS_SQL_NAME_BYTES]) {
    plain_name(t, column, out);
    size_t n_same = 0;
    for (size_t before = 0; before < column; before++) {
        char other[PS_SQL_NAME_BYTES];
        plain_name(t, before, other);
        n_same += strcasecmp(out, other) == 0;
    }
    if (n_same > 0 || out[0] == '\0') {
        char plain[PS_SQL_NAME_BYTES];
        memcpy(plain, out, sizeof plain);
        (void)snprintf(out, PS_SQL_NAME_BYTES, "%.100s_%d", plain, (int)n_same + 1);
    }
}
