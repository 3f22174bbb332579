/* One value of JSON, as programs give metadata and raw files hold it. */
#ifndef PS_RECORD_JSON_VALUE_H
#define PS_RECORD_JSON_VALUE_H

#include <stdbool.h>

/* `json` as strict JSON, for the caller to free; NULL when it is none (*is_json false) or memory is out (*is_json true). */
char *ps_tidy_value(const char *json, bool *is_json);

#endif
