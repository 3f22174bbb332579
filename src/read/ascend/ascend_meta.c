#include "read/ascend/ascend_meta.h"

#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/literal.h"
#include "base/num.h"

#define MAX_METADATA_BYTES ((size_t)64 << 20)
#define MAX_INFO_BYTES ((size_t)16 << 20)

/* The document in a file, NULL when there is none or it is malformed, which is counted. A file that is there and cannot be read is a
 * failure: what it says would be missing without a word. */
static ps_code read_document(ps_arena *arena, ps_buf *text, const char *path, size_t max_bytes,
                             ps_diag *diag, const ps_literal **doc, ps_err *err) {
    *doc = NULL;
    bool is_there = false;
    ps_err odd = PS_ERR_INIT;
    ps_code code = ps_read_file_if_there(path, max_bytes, text, &is_there, &odd);
    if (code == PS_OK && !is_there) {
        return PS_OK;
    }
    if (code == PS_OK) {
        *doc = ps_literal_parse_packed(arena, ps_buf_str(text), text->len, &odd);
    }
    if (code == PS_IO || odd.code == PS_NOMEM) {
        if (err != NULL) {
            *err = odd;
        }
        return odd.code;
    }
    if (*doc == NULL || (*doc)->kind != PS_LITERAL_OBJECT) {
        if (diag != NULL) {
            ps_diag_add(diag, PS_ODD_METADATA, "%s: %s", ps_path_base(path),
                        odd.msg[0] != '\0' ? odd.msg : "not an object");
        }
        *doc = NULL;
    }
    return PS_OK;
}

ps_code ps_ascend_metadata(const char *rank_dir, ps_builder *b, ps_err *err) {
    if (rank_dir == NULL) {
        return PS_OK;
    }
    ps_arena arena = {0};
    ps_buf text;
    ps_buf_init(&text, MAX_METADATA_BYTES);
    const ps_literal *doc = NULL;
    const char *path = ps_path_join(&arena, rank_dir, "profiler_metadata.json");
    ps_code code = path != NULL ? read_document(&arena, &text, path, MAX_METADATA_BYTES,
                                                ps_builder_diag(b), &doc, err)
                                : ps_fail_nomem(err);
    for (const ps_literal *v = doc != NULL ? doc->child : NULL; code == PS_OK && v != NULL;
         v = v->next) {
        if (v->begin != NULL && v->key != NULL) {
            const char *value = ps_arena_strndup(&arena, v->begin, v->source_len);
            if (value == NULL) {
                code = ps_fail_nomem(err);
            } else {
                ps_builder_meta(b, v->key, value);
            }
        }
    }
    ps_buf_fini(&text);
    ps_arena_fini(&arena);
    return code;
}

/* --- facts of the device ------------------------------------------------------------------------------ */

#define MAX_PROF_FOLDERS ((size_t)64)
#define MAX_DEVICE_FOLDERS ((size_t)128)

/* "device_" and one or two digits; "info.json." likewise. */
static bool is_numbered(const char *name, const char *head) {
    size_t n = strlen(head);
    size_t digits = strncmp(name, head, n) == 0 ? strspn(name + n, "0123456789") : 0;
    return digits >= 1 && digits <= 2 && name[n + digits] == '\0';
}

/* Cores and MHz, decimal. */
static void take_device(const ps_literal *doc, const char *path, ps_builder *b) {
    const ps_literal *list = ps_literal_get(doc, "DeviceInfo");
    const ps_literal *device = list != NULL && list->kind == PS_LITERAL_ARRAY ? list->child : NULL;
    int64_t cores = 0;
    int64_t mhz = 0;
    if (!ps_literal_int(ps_literal_get(device, "ai_core_num"), &cores) ||
        !ps_literal_int(ps_literal_get(device, "aic_frequency"), &mhz) || cores <= 0 || mhz <= 0) {
        ps_diag_add(ps_builder_diag(b), PS_ODD_METADATA,
                    "%s: no ai_core_num and aic_frequency above 0", ps_path_base(path));
        return;
    }
    char text[24];
    (void)snprintf(text, sizeof text, "%lld", (long long)cores);
    ps_builder_meta(b, "ai_core_num", text);
    (void)snprintf(text, sizeof text, "%lld", (long long)mhz);
    ps_builder_meta(b, "aic_frequency_mhz", text);
}

typedef struct device_search {
    ps_arena arena;
    ps_buf text;
    ps_builder *b;
    bool found;
} device_search;

/* Entries of a folder; none when it is not there. */
static ps_code list_or_none(device_search *d, const char *dir, const char ***names, size_t *n,
                            ps_err *err) {
    ps_code code = ps_list_dir(dir, &d->arena, names, n, err);
    return code == PS_NOT_FOUND ? PS_OK : code;
}

static ps_code search_device(device_search *d, const char *dir, ps_err *err) {
    const char **names = NULL;
    size_t n = 0;
    ps_code code = list_or_none(d, dir, &names, &n, err);
    for (size_t i = 0; code == PS_OK && i < n && !d->found; i++) {
        if (!is_numbered(names[i], "info.json.")) {
            continue;
        }
        const ps_literal *doc = NULL;
        const char *path = ps_path_join(&d->arena, dir, names[i]);
        ps_buf_clear(&d->text);
        code = path != NULL ? read_document(&d->arena, &d->text, path, MAX_INFO_BYTES,
                                            ps_builder_diag(d->b), &doc, err)
                            : ps_fail_nomem(err);
        if (doc != NULL) {
            d->found = true;
            take_device(doc, path, d->b);
        }
    }
    return code;
}

/* The folders device_N in `dir`, and of a rank's folder also those in its folders PROF_*. */
static ps_code search_folder(device_search *d, const char *dir, bool is_rank_dir, ps_err *err) {
    const char **names = NULL;
    size_t n = 0;
    size_t n_devices = 0;
    size_t n_profs = 0;
    ps_code code = list_or_none(d, dir, &names, &n, err);
    for (size_t i = 0; code == PS_OK && i < n && !d->found; i++) {
        bool is_device = is_numbered(names[i], "device_") && n_devices++ < MAX_DEVICE_FOLDERS;
        bool is_prof =
            is_rank_dir && strncmp(names[i], "PROF_", 5) == 0 && n_profs++ < MAX_PROF_FOLDERS;
        const char *path = is_device || is_prof ? ps_path_join(&d->arena, dir, names[i]) : "";
        if (path == NULL) {
            code = ps_fail_nomem(err);
        } else if (is_device) {
            code = search_device(d, path, err);
        } else if (is_prof) {
            code = search_folder(d, path, false, err);
        }
    }
    return code;
}

ps_code ps_ascend_device_facts(const char *rank_dir, ps_builder *b, ps_err *err) {
    if (rank_dir == NULL) {
        return PS_OK;
    }
    device_search d = {.b = b};
    ps_buf_init(&d.text, MAX_INFO_BYTES);
    ps_code code = search_folder(&d, rank_dir, true, err);
    ps_buf_fini(&d.text);
    ps_arena_fini(&d.arena);
    return code;
}

/* --- profiler_info ------------------------------------------------------------------------------------ */

static bool is_ascend_meta_true(const ps_literal *object, const char *key) {
    const ps_literal *v = ps_literal_get(object, key);
    return v != NULL && v->kind == PS_LITERAL_BOOL && v->boolean;
}

static void copy_ascend_meta_text(char *out, size_t size, const ps_literal *v) {
    const char *text = ps_literal_str(v);
    (void)snprintf(out, size, "%s", text != NULL ? text : "");
}

/* What should be of another kind is as good as missing, and said. */
static void check_kind(const ps_literal *v, ps_literal_kind kind, const char *key, const char *name,
                       ps_diag *diag) {
    if (v != NULL && v->kind != kind && v->kind != PS_LITERAL_NULL && diag != NULL) {
        ps_diag_add(diag, PS_ODD_METADATA, "%s: %s is %s", name, key,
                    kind == PS_LITERAL_STRING ? "no text" : "no object");
    }
}

static void check_profile(const ps_literal *doc, const char *name, ps_diag *diag) {
    const ps_literal *config = ps_literal_get(doc, "config");
    const ps_literal *more = ps_literal_get(config, "experimental_config");
    check_kind(config, PS_LITERAL_OBJECT, "config", name, diag);
    check_kind(ps_literal_get(config, "common_config"), PS_LITERAL_OBJECT, "common_config", name,
               diag);
    check_kind(more, PS_LITERAL_OBJECT, "experimental_config", name, diag);
    check_kind(ps_literal_get(more, "_profiler_level"), PS_LITERAL_STRING, "_profiler_level", name,
               diag);
}

static void take_profile(const ps_literal *doc, ps_ascend_profile *out) {
    const ps_literal *config = ps_literal_get(doc, "config");
    const ps_literal *common = ps_literal_get(config, "common_config");
    const ps_literal *more = ps_literal_get(config, "experimental_config");
    const ps_literal *activities = ps_literal_get(common, "activities");
    const ps_literal *mstx = ps_literal_get(more, "_msprof_tx");
    mstx = mstx != NULL ? mstx : ps_literal_get(more, "_mstx");
    int64_t rank = -1;
    if (ps_literal_int(ps_literal_get(doc, "rank_id"), &rank) && rank >= 0) {
        out->rank = rank;
    }
    copy_ascend_meta_text(out->level, sizeof out->level, ps_literal_get(more, "_profiler_level"));
    copy_ascend_meta_text(out->aic_metrics, sizeof out->aic_metrics,
                          ps_literal_get(more, "_aic_metrics"));
    out->has_mstx_option = mstx != NULL && mstx->kind == PS_LITERAL_BOOL;
    out->mstx = out->has_mstx_option && mstx->boolean;
    out->l2_cache = is_ascend_meta_true(more, "_l2_cache");
    out->profile_memory = is_ascend_meta_true(common, "profile_memory");
    out->with_stack = is_ascend_meta_true(common, "with_stack");
    out->record_shapes = is_ascend_meta_true(common, "record_shapes");
    out->has_activities = activities != NULL && activities->kind == PS_LITERAL_ARRAY;
    for (const ps_literal *a = out->has_activities ? activities->child : NULL; a != NULL;
         a = a->next) {
        const char *name = ps_literal_str(a);
        out->npu = out->npu || (name != NULL && strstr(name, "NPU") != NULL);
    }
}

/* "profiler_info.json" (rank -1) or "profiler_info_<rank>.json". */
static bool is_info_name(const char *name, int64_t *rank) {
    static const char PREFIX[] = "profiler_info";
    size_t n = strlen(name);
    size_t head = sizeof PREFIX - 1;
    if (strncmp(name, PREFIX, head) != 0 || !ps_ends_with(name, ".json") || n < head + 5) {
        return false;
    }
    *rank = -1;
    n -= head + 5;
    return n == 0 || (n > 1 && name[head] == '_' && name[head + 1] != '-' &&
                      ps_parse_i64(name + head + 1, n - 1, rank));
}

ps_code ps_ascend_profile_read(const char *rank_dir, ps_ascend_profile *out, ps_diag *diag,
                               ps_err *err) {
    *out = (ps_ascend_profile){.rank = -1};
    if (rank_dir == NULL) {
        return PS_OK;
    }
    ps_arena arena = {0};
    ps_buf text;
    ps_buf_init(&text, MAX_INFO_BYTES);
    const char **names = NULL;
    size_t n = 0;
    ps_code code = ps_list_dir(rank_dir, &arena, &names, &n, err);
    code = code == PS_NOT_FOUND ? PS_OK : code;
    for (size_t i = 0; code == PS_OK && i < n && !out->is_there; i++) {
        if (is_info_name(names[i], &out->rank)) {
            out->is_there = true;
            const ps_literal *doc = NULL;
            const char *path = ps_path_join(&arena, rank_dir, names[i]);
            code = path != NULL
                       ? read_document(&arena, &text, path, MAX_INFO_BYTES, diag, &doc, err)
                       : ps_fail_nomem(err);
            if (doc != NULL) {
                check_profile(doc, names[i], diag);
                take_profile(doc, out);
            }
        }
    }
    ps_buf_fini(&text);
    ps_arena_fini(&arena);
    return code;
}
