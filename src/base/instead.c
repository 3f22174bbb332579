#include "base/instead.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

ps_instead_text ps_instead_of(ps_lang lang, int64_t now_ns, int64_t before_ns) {
    ps_instead_text out;
    const ps_ns_text now = ps_ns_text_of(now_ns);
    const ps_ns_text before = ps_ns_text_of(before_ns);
    int64_t less_ns = ps_i64_minus(before_ns, now_ns);
    if (strcmp(now.text, before.text) != 0) {
        (void)snprintf(out.text, sizeof out.text, PS_SAY(lang, "%s instead of %s", "%s，而不是 %s"),
                       now.text, before.text);
    } else if (less_ns == 0) {
        (void)snprintf(out.text, sizeof out.text, PS_SAY(lang, "%s, the same", "%s，没有变化"),
                       now.text);
    } else {
        const ps_ns_text by = ps_ns_text_of(less_ns > 0 ? less_ns : ps_i64_minus(0, less_ns));
        (void)snprintf(out.text, sizeof out.text,
                       less_ns > 0 ? PS_SAY(lang, "%s, %s less", "%s，减少 %s")
                                   : PS_SAY(lang, "%s, %s more", "%s，增加 %s"),
                       now.text, by.text);
    }
    return out;
}
