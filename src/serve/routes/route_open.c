/* POST /api/open and /api/close: captures come and go while the server runs. GET /api/folder: what could be opened. All of them know
 * only paths below the folders that are served (rank/roots.h). */
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/literal.h"
#include "serve/http/route.h"
#include "serve/rank/roots.h"
#include "serve/rank/uploads.h"

enum { MOST_ENTRIES = 1000 };

/* The object of the body; NULL with the reply filled. */
static const ps_literal *open_body(const ps_request *q, ps_reply *r) {
    ps_err err = PS_ERR_INIT;
    const ps_literal *body =
        ps_literal_parse(&r->arena, q->body != NULL ? q->body : "", q->body_len, &err);
    if (body == NULL && err.code == PS_NOMEM) {
        ps_reply_err(r, &err);
    } else if (body == NULL || body->kind != PS_LITERAL_OBJECT) {
        ps_reply_fail(r, 400, "the body must be an object, as JSON");
        body = NULL;
    }
    return body;
}

static void put_cluster_number(ps_reply *r, size_t cluster) {
    ps_json j = ps_json_to(&r->body);
    ps_json_object(&j);
    ps_json_key_uint(&j, "cluster", cluster);
    ps_json_close(&j);
}

static void answer_open(const ps_request *q, ps_reply *r) {
    const ps_literal *body = open_body(q, r);
    if (body == NULL) {
        return;
    }
    const char *path = ps_literal_str(ps_literal_get(body, "path"));
    ps_err err = PS_ERR_INIT;
    size_t cluster = 0;
    if (path == NULL || path[0] == '\0') {
        ps_reply_fail(r, 400, "say what to open: its path, as member path");
    } else if (ps_store_open(q->store, path, &cluster, &err) != PS_OK) {
        ps_reply_err(r, &err);
    } else {
        put_cluster_number(r, cluster);
    }
}

const ps_route ps_route_open = {.path = "/api/open",
                                .method = "POST",
                                .is_slow = true,
                                .max_body = 65536,
                                .answer = answer_open};

static void answer_close(const ps_request *q, ps_reply *r) {
    const ps_literal *body = open_body(q, r);
    if (body == NULL) {
        return;
    }
    const ps_literal *number = ps_literal_get(body, "cluster");
    ps_err err = PS_ERR_INIT;
    if (number == NULL || number->kind != PS_LITERAL_INT || number->integer < 0) {
        ps_reply_fail(r, 400, "say which one to close: its number, as member cluster");
    } else if (ps_store_close(q->store, (size_t)number->integer, &err) != PS_OK ||
               ps_uploads_close(q->uploads, (size_t)number->integer, &err) != PS_OK) {
        ps_reply_err(r, &err);
    } else {
        put_cluster_number(r, (size_t)number->integer);
    }
}

const ps_route ps_route_close = {.path = "/api/close",
                                 .method = "POST",
                                 .is_slow = true,
                                 .max_body = 65536,
                                 .answer = answer_close};

/* --- what there is ------------------------------------------------------------------------------------------------- */

static void put_entry(ps_json *j, const char *name, const char *path, bool is_folder) {
    ps_json_object(j);
    ps_json_key_str(j, "name", name);
    ps_json_key_str(j, "path", path);
    ps_json_key_bool(j, "folder", is_folder);
    ps_json_close(j);
}

/* Entries of a folder; those whose name begins with a dot, and what is neither a folder nor a file, are none. */
static ps_code put_entries(ps_json *j, ps_reply *r, const char *folder, size_t *left_out,
                           ps_err *err) {
    const char **names = NULL;
    size_t n = 0;
    size_t shown = 0;
    ps_code code = ps_list_dir(folder, &r->arena, &names, &n, err);
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        if (names[i][0] == '.') {
            continue;
        }
        const char *path = ps_path_join(&r->arena, folder, names[i]);
        ps_path_kind kind = PS_PATH_NONE;
        ps_code look = path != NULL ? ps_path_look(path, &kind, NULL) : PS_NOMEM;
        bool is_entry = look == PS_OK && (kind == PS_PATH_DIR || kind == PS_PATH_FILE);
        if (look == PS_NOMEM) {
            code = ps_fail_nomem(err);
        } else if (is_entry && shown < MOST_ENTRIES) {
            put_entry(j, names[i], path, kind == PS_PATH_DIR);
            shown++;
        } else { /* what cannot be looked at is there all the same */
            *left_out += is_entry || (look != PS_OK && look != PS_NOT_FOUND);
        }
    }
    return code;
}

static ps_code put_folder(ps_reply *r, const char *folder, ps_err *err) {
    ps_json j = ps_json_to(&r->body);
    size_t left_out = 0;
    ps_json_object(&j);
    ps_json_key_str(&j, "path", folder);
    ps_json_key_array(&j, "entries");
    ps_code code = put_entries(&j, r, folder, &left_out, err);
    ps_json_close(&j);
    ps_json_key_uint(&j, "left_out", left_out);
    ps_json_close(&j);
    return code;
}

/* Without a path: where one may look. */
static void put_folder_roots(const ps_request *q, ps_reply *r) {
    const ps_roots *roots = ps_store_roots(q->store);
    ps_json j = ps_json_to(&r->body);
    ps_json_object(&j);
    ps_json_key_str(&j, "path", "");
    ps_json_key_array(&j, "entries");
    for (size_t i = 0; i < roots->n; i++) {
        put_entry(&j, roots->paths[i], roots->paths[i], true);
    }
    ps_json_close(&j);
    ps_json_key_uint(&j, "left_out", 0);
    ps_json_close(&j);
}

static void answer_folder(const ps_request *q, ps_reply *r) {
    const char *path = ps_param_text(q, "path");
    ps_err err = PS_ERR_INIT;
    if (path == NULL || path[0] == '\0') {
        put_folder_roots(q, r);
        return;
    }
    char *folder = ps_roots_resolve(ps_store_roots(q->store), path, &err);
    if (folder == NULL || put_folder(r, folder, &err) != PS_OK) {
        ps_reply_err(r, &err);
    }
    ps_free(folder);
}

const ps_route ps_route_folder = {
    .path = "/api/folder", .method = "GET", .is_slow = true, .answer = answer_folder};
