/* The built web parts (web/dist), as bytes in the program. The definitions are generated: cmake/embed.cmake. */
#ifndef PS_WRITE_WEB_BUNDLE_H
#define PS_WRITE_WEB_BUNDLE_H

#include <stddef.h>

/* Zero-terminated; sizes without the terminating zero. */

/* The script and style of the pipeline page that stands alone (chart_html.c). */
extern const char ps_web_pipeline_js[];
extern const char ps_web_pipeline_css[];
extern const size_t ps_web_pipeline_js_size;
extern const size_t ps_web_pipeline_css_size;

/* The viewer (serve). */
extern const char ps_web_index_html[];
extern const char ps_web_viewer_js[];
extern const char ps_web_viewer_css[];
extern const size_t ps_web_index_html_size;
extern const size_t ps_web_viewer_js_size;
extern const size_t ps_web_viewer_css_size;

#endif
