/* Names that NVTX programs give: to categories, threads and streams. They are kept for later recordings, which begin with
 * all that was named so far. Streams are kept by the session. */
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "record/core/threads_shared.h"
#include "record/nvtx/nvtx.h"
#include "record/ring/log.h"
#include "record/session/session.h"

enum { MAX_NAMES = 16384, MAX_CATEGORIES_BYTES = 8000 };

typedef struct named {
    uint64_t key; /* tid; domain << 32 | category */
    char *name;
    size_t length;
} named;

typedef struct names {
    named *items;
    size_t n, cap;
} names;

static names threads, categories;

/* False when nothing has changed. */
static bool set_name(names *list, uint64_t key, ps_text text) {
    named *item = NULL;
    for (size_t i = 0; i < list->n && item == NULL; i++) {
        item = list->items[i].key == key ? &list->items[i] : NULL;
    }
    if (item != NULL && item->length == text.length &&
        memcmp(item->name, text.bytes, text.length) == 0) {
        return false;
    }
    char *name = ps_strndup(text.bytes, text.length);
    if (name == NULL || (item == NULL && !ps_grow(&list->items, &list->cap, list->n + 1, MAX_NAMES,
                                                  sizeof *list->items))) {
        ps_free(name);
        ps_rec_log_once("nvtx names",
                        "NVTX: more than %d names of threads or categories: the "
                        "others are left out",
                        MAX_NAMES);
        return false;
    }
    if (item == NULL) {
        item = &list->items[list->n++];
    } else {
        ps_free(item->name);
    }
    *item = (named){key, name, text.length};
    return true;
}

/* {"domain":{"1":"name"}}, domains in the order of their ids. */
static void write_categories(void) {
    ps_buf json;
    ps_buf_init(&json, 1 << 20);
    ps_buf_add_char(&json, '{');
    size_t kept = json.len;
    for (unsigned domain = 0; domain < ps_domain_count(); domain++) {
        bool begun = false;
        for (size_t i = 0; i < categories.n; i++) {
            const named *item = &categories.items[i];
            if (item->key >> 32 != domain) {
                continue;
            }
            const ps_record_domain *d = ps_domain_at(domain);
            if (!begun) {
                ps_buf_add_str(&json, kept > 1 ? "," : "");
                ps_buf_add_json_str(&json, d->name, d->length);
            }
            ps_buf_addf(&json, "%s\"%u\":", begun ? "," : ":{", (unsigned)(uint32_t)item->key);
            ps_buf_add_json_str(&json, item->name, item->length);
            begun = true;
        }
        if (begun) {
            ps_buf_add_char(&json, '}');
            if (json.len > MAX_CATEGORIES_BYTES) {
                ps_rec_log_once("nvtx categories",
                                "NVTX: names of categories take more than %d "
                                "bytes: those of some domains are left out",
                                MAX_CATEGORIES_BYTES);
                break;
            }
            kept = json.len;
        }
    }
    if (ps_buf_ok(&json) && kept > 1) {
        json.len = kept;
        ps_buf_add_char(&json, '}');
        ps_shared_pair(PS_REC_INFO, "nvtx_categories", ps_buf_str(&json), json.len);
    }
    ps_buf_fini(&json);
}

void ps_nvtx_name_category(const ps_record_domain *domain, uint32_t category, ps_text name) {
    ps_nvtx_lock();
    if (set_name(&categories, (uint64_t)domain->id << 32 | category, name) && ps_is_recording()) {
        write_categories();
    }
    ps_nvtx_unlock();
}

void ps_nvtx_name_thread(uint32_t tid, ps_text name) {
    ps_nvtx_lock();
    if (set_name(&threads, tid, name) && ps_is_recording()) {
        ps_shared_define(PS_REC_THREAD_NAME, tid, name.bytes, name.length);
    }
    ps_nvtx_unlock();
}

void ps_nvtx_name_stream(void *stream, ps_text name) {
    char text[PS_NVTX_TEXT_ROOM];
    memcpy(text, name.bytes, name.length);
    text[name.length] = '\0';
    /* Handle 0 is the default stream of CUDA, which has a name of its own here. */
    (void)ps_session_name_stream(stream == NULL ? PS_RECORD_HOST_STREAM : stream, text);
}

void ps_nvtx_names_again(void) {
    for (size_t i = 0; i < threads.n; i++) {
        const named *item = &threads.items[i];
        ps_shared_define(PS_REC_THREAD_NAME, item->key, item->name, item->length);
    }
    write_categories();
}
