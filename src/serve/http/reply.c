/* What a route gives back. */
#include <stdarg.h>
#include <stdio.h>

#include "base/json_write.h"
#include "serve/http/route.h"

void ps_reply_init(ps_reply *r) {
    *r = (ps_reply){.status = 200, .content_type = "application/json"};
}

void ps_reply_fini(ps_reply *r) {
    ps_buf_fini(&r->body);
    ps_arena_fini(&r->arena);
}

static void put_error(ps_reply *r, unsigned status, const char *format, va_list ap) {
    char text[1024];
    (void)vsnprintf(text, sizeof text, format, ap);
    bool is_answer = status == 409 && r->nothing_is_ok;
    r->status = is_answer ? 200 : status;
    r->content_type = "application/json";
    r->file_name = NULL;
    r->is_immutable = false;
    ps_buf_clear(&r->body);
    ps_json j = ps_json_to(&r->body);
    ps_json_object(&j);
    if (is_answer) {
        ps_json_key_str(&j, "nothing", text);
    } else {
        ps_json_key_str(&j, "error", text);
    }
    ps_json_close(&j);
    ps_buf_add_char(&r->body, '\n');
}

void ps_reply_fail(ps_reply *r, unsigned status, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    put_error(r, status, fmt, ap);
    va_end(ap);
}

void ps_reply_say(ps_reply *r, unsigned status, const char *english, const char *chinese, ...) {
    va_list ap;
    va_start(ap, chinese);
    put_error(r, status, PS_SAY(r->lang, english, chinese), ap);
    va_end(ap);
}

void ps_reply_err(ps_reply *r, const ps_err *err) {
    unsigned status = 500;
    switch (err->code) {
    case PS_NOT_FOUND:
        status = 404;
        break;
    case PS_NOTHING:
        status = 409;
        break;
    case PS_USAGE:
    case PS_RANGE:
        status = 400;
        break;
    case PS_BUSY:
        status = 503;
        break;
    case PS_NOMEM:
        status = 507;
        break;
    default:
        break;
    }
    char text[1024];
    ps_err_say(r->lang, err, text, sizeof text);
    ps_reply_fail(r, status, "%s", text);
}
