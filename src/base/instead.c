#include "base/instead.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

ps_instead_text ps_instead_of(ps_lang lang, int64_t now_ns, int64_t before_ns) {
    ps_instead_text out;
    const ps_ns_text now = ps_ns_text_of(now_ns);
    const ps_ns_text before = ps_ns_text_of(before_ns);
    const int64_t less_ns = ps_i64_minus(before_ns, now_ns);
    const bool is_shown_alike = strcmp(now.text, before.text) == 0;
    if (less_ns == 0) {
        (void)snprintf(out.text, sizeof out.text, PS_SAY(lang, "%s, the same", "%s，没有变化"),
                       now.text);
    } else if (less_ns < 0) {
        (void)snprintf(out.text, sizeof out.text,
                       is_shown_alike ? PS_SAY(lang, "%s, not shorter%.0s", "%s，没有缩短%.0s")
                                      : PS_SAY(lang, "%s, not shorter than %s", "%s，不短于 %s"),
                       now.text, before.text);
    } else if (is_shown_alike) {
        (void)snprintf(out.text, sizeof out.text, PS_SAY(lang, "%s, %s less", "%s，减少 %s"),
                       now.text, ps_ns_text_of(less_ns).text);
    } else {
        (void)snprintf(out.text, sizeof out.text, PS_SAY(lang, "%s instead of %s", "%s，而不是 %s"),
                       now.text, before.text);
    }
    return out;
}
