/* POST /api/upload?name=FILE: a file that the client has, as the body, opened like one that lies here (rank/uploads.h). */
#include "serve/http/route.h"
#include "serve/rank/uploads.h"

static void answer_upload(const ps_request *q, ps_reply *r) {
    const char *path = NULL;
    size_t cluster = 0;
    ps_err err = PS_ERR_INIT;
    if (q->upload == NULL) {
        ps_reply_fail(r, 400, "the body is the file");
        return;
    }
    const char *name = ps_param_text(q, "name");
    if (ps_upload_end(q->upload, name, &path, &err) != PS_OK) {
        ps_reply_err(r, &err);
        return;
    }
    ps_code code = ps_store_open_own(q->store, path, &cluster, &err);
    if (code == PS_NOMEM || code == PS_RANGE) {
        ps_reply_err(r, &err);
        return;
    }
    if (code != PS_OK) { /* of the file; where it lies is nobody's business */
        ps_reply_fail(r, 409, "%.100s: %.400s", name, ps_err_text(r->lang, &err));
        return;
    }
    ps_upload_keep(q->upload, cluster);
    ps_json j = ps_json_to(&r->body);
    ps_json_object(&j);
    ps_json_key_uint(&j, "cluster", cluster);
    ps_json_close(&j);
}

const ps_route ps_route_upload = {.path = "/api/upload",
                                  .method = "POST",
                                  .is_slow = true,
                                  .takes_file = true,
                                  .answer = answer_upload};
