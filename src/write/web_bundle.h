/* The built web parts (web/dist), as bytes in the program. The definitions are generated: cmake/embed.cmake. */
#ifndef PS_WRITE_WEB_BUNDLE_H
#define PS_WRITE_WEB_BUNDLE_H

#include <stddef.h>

/* The pipeline page's script and style, zero-terminated. */
extern const char ps_web_pipeline_js[];
extern const char ps_web_pipeline_css[];
extern const size_t ps_web_pipeline_js_size; /* without the terminating zero */
extern const size_t ps_web_pipeline_css_size;

#endif
