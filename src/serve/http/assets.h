/* What is fixed: the page, its script and its style, compiled into the program. */
#ifndef PS_SERVE_ASSETS_H
#define PS_SERVE_ASSETS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ps_asset {
    const char *path; /* "/viewer.js" */
    const char *content_type;
    const char *bytes;
    size_t size;
} ps_asset;

/* By its whole path; false when there is none. */
bool ps_asset_find(const char *path, ps_asset *out);

#endif
