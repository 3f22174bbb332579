#include "write/report_view.h"
ps_code ps_write_report_html(const ps_report_view *view, ps_buf *out, ps_err *err) {
    (void)view;
    (void)out;
    return ps_fail_nomem(err);
}
