#include "serve/http/assets.h"

#include <string.h>

#include "write/out/web_bundle.h"

bool ps_asset_find(const char *path, ps_asset *out) {
    const ps_asset all[] = {
        {"/", "text/html; charset=utf-8", ps_web_index_html, ps_web_index_html_size},
        {"/viewer.js", "text/javascript; charset=utf-8", ps_web_viewer_js, ps_web_viewer_js_size},
        {"/viewer.css", "text/css; charset=utf-8", ps_web_viewer_css, ps_web_viewer_css_size},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(all[i].path, path) == 0) {
            *out = all[i];
            return true;
        }
    }
    return false;
}
