/* META_DATA and the tables of one or a few rows. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "base/literal.h"
#include "base/num.h"
#include "record/export/clock_offsets.h"
#include "record/export/export_tables.h"

static const char *const DROP_KEYS[PS_N_DROPS] = {
#define X(name, key, text, lost) key,
#include "record/ring/drops.def"
#undef X
};

void ps_export_add_drops(const ps_capture *c, ps_buf *out) {
    ps_json j = ps_json_spaced_to(out);
    ps_json_object(&j);
    for (unsigned i = 0; i < PS_N_DROPS; i++) {
        uint64_t n = ps_capture_drops(c, i);
        if (n != 0) {
            ps_json_name(&j, DROP_KEYS[i], strlen(DROP_KEYS[i]));
            ps_json_uint(&j, n);
        }
    }
    ps_json_close(&j);
}

/* --- whose ---------------------------------------------------------------------------------------------------------- */

static const char *host_name(const ps_export *e, ps_arena *arena) {
    const char *session = ps_capture_fact(e->c, "session");
    const ps_literal *doc = ps_literal_parse(arena, session, strlen(session), NULL);
    const char *host = ps_literal_str(ps_literal_get(doc, "host"));
    return host != NULL ? host : "";
}

/* The same for all processes of a machine: of its boot id, which containers share, else of the host's name. */
static uint64_t host_uid(const ps_export *e, const char *name) {
    const char *boot_id = ps_capture_header(e->c)->boot_id;
    return ps_stable_hash(boot_id[0] != '\0' ? boot_id : name) >> 1;
}

static uint64_t fact_machine_of(const ps_export *e) {
    ps_arena arena;
    ps_arena_init(&arena);
    uint64_t uid = host_uid(e, host_name(e, &arena));
    ps_arena_fini(&arena);
    return uid;
}

/* --- META_DATA ---------------------------------------------------------------------------------------------------- */

static ps_code put_fact_meta(ps_export *e, const char *name, ps_buf *value, ps_err *err) {
    ps_code code = ps_buf_ok(value) ? ps_database_pair(&e->db, name, ps_buf_str(value), err)
                                    : ps_fail_nomem(err);
    ps_buf_clear(value);
    return code;
}

static ps_code put_user_meta(void *context, const char *key, const char *json, ps_err *err) {
    ps_export *e = context;
    return ps_database_pair(&e->db, key, json, err);
}

static void put_handle(ps_json *j, const ps_stream_entry *s) {
    char text[24];
    if (s->kind == PS_STREAM_CUPTI) {
        ps_json_key_uint(j, "cupti_stream", s->handle);
    } else if (s->kind == PS_STREAM_COMMUNICATOR) {
        (void)snprintf(text, sizeof text, "%" PRIx64, s->handle);
        ps_json_key_str(j, "communicator", text);
    } else {
        (void)snprintf(text, sizeof text, "0x%" PRIx64, s->handle);
        ps_json_key_str(j, "handle", text);
    }
}

/* {"0": {"handle": "0x1", "context": 0, "name": "..."}}: CUPTI's own numbers stand as "cupti_stream". */
static void add_stream_map(const ps_export *e, ps_buf *out) {
    ps_json j = ps_json_spaced_to(out);
    ps_json_object(&j);
    for (size_t i = 0; i < e->n_streams; i++) {
        char number[24];
        int n = snprintf(number, sizeof number, "%zu", i);
        ps_json_name(&j, number, (size_t)n);
        ps_json_object(&j);
        put_handle(&j, &e->streams[i]);
        ps_json_key_uint(&j, "context", e->streams[i].context);
        const char *name = ps_export_stream_name(e, (uint32_t)i);
        if (name[0] != '\0') {
            ps_json_key_str(&j, "name", name);
        }
        ps_json_close(&j);
    }
    ps_json_close(&j);
}

/* {"4242": "main"}: by tid. */
static void add_threads(const ps_export *e, ps_buf *out) {
    const ps_named *threads = ps_capture_threads(e->c);
    ps_json j = ps_json_spaced_to(out);
    ps_json_object(&j);
    for (size_t i = 0; i < threads->n; i++) {
        char tid[24];
        size_t n = 0;
        const char *name = ps_capture_text(e->c, threads->value[i], &n);
        int length = snprintf(tid, sizeof tid, "%" PRIu64, threads->key[i]);
        ps_json_name(&j, tid, (size_t)length);
        ps_json_str_n(&j, name, n);
    }
    ps_json_close(&j);
}

static void put_fact_sum(ps_json *j, uint64_t n, uint64_t ns) {
    ps_json_object(j);
    ps_json_key_uint(j, "count", n);
    ps_json_key_uint(j, "ns", ns);
    ps_json_close(j);
}

/* What CUPTI's own work took, and the calls that waited for the device (level 2): sums, since no table has a place for them. False
 * when there are none. */
static bool add_cupti_sums(const ps_export *e, ps_buf *out) {
    const ps_device_rows *d = ps_capture_device(e->c);
    uint64_t n[2] = {0};
    uint64_t ns[2] = {0};
    for (size_t i = 0; i < d->n; i++) {
        if (d->kind[i] == PS_REC_OVERHEAD || d->kind[i] == PS_REC_SYNC) {
            int which = d->kind[i] == PS_REC_SYNC;
            n[which]++;
            ns[which] += d->end_ns[i] > d->start_ns[i]
                             ? (uint64_t)d->end_ns[i] - (uint64_t)d->start_ns[i]
                             : 0;
        }
    }
    ps_json j = ps_json_spaced_to(out);
    ps_json_object(&j);
    ps_json_key(&j, "overhead");
    put_fact_sum(&j, n[0], ns[0]);
    ps_json_key(&j, "synchronisation");
    put_fact_sum(&j, n[1], ns[1]);
    ps_json_close(&j);
    return n[0] + n[1] > 0;
}

static ps_code put_own_meta(ps_export *e, ps_buf *value, ps_err *err) {
    ps_buf_add_str(value, PIPESCOPE_VERSION);
    ps_code code = put_fact_meta(e, "collector.version", value, err);
    if (code == PS_OK) {
        code = ps_database_pair(&e->db, "collector.backend", e->backend, err);
    }
    if (code == PS_OK) {
        code = ps_database_pair(&e->db, "collector.device_time_source", e->backend, err);
    }
    if (code == PS_OK) {
        ps_export_add_drops(e->c, value);
        code = put_fact_meta(e, "collector.drops", value, err);
    }
    if (code == PS_OK && e->options->nccl_marks && e->comm.n > 0) {
        code = ps_database_pair(&e->db, "collector.comm_time_source", "host_enqueue", err);
    }
    const char *world_size = ps_capture_fact(e->c, "world_size");
    if (code == PS_OK && world_size[0] != '\0') {
        code = ps_database_pair(&e->db, "collector.world_size", world_size, err);
    }
    const char *clock = ps_capture_fact(e->c, "clock");
    if (code == PS_OK && clock[0] != '\0') {
        code = ps_clock_offsets_describe(e->c, fact_machine_of(e), clock, value, err);
    }
    if (code == PS_OK && value->len > 0) {
        code = put_fact_meta(e, "collector.clock", value, err);
    }
    const char *self_test = ps_capture_fact(e->c, "overhead_self_test");
    if (code == PS_OK && self_test[0] != '\0') {
        code = ps_database_pair(&e->db, "collector.overhead_self_test", self_test, err);
    }
    const char *categories = ps_capture_fact(e->c, "nvtx_categories");
    if (code == PS_OK && categories[0] != '\0') {
        code = ps_database_pair(&e->db, "collector.nvtx_categories", categories, err);
    }
    if (code == PS_OK) {
        add_stream_map(e, value);
        code = put_fact_meta(e, "collector.stream_map", value, err);
    }
    if (code == PS_OK && ps_capture_threads(e->c)->n > 0) {
        add_threads(e, value);
        code = put_fact_meta(e, "collector.thread_names", value, err);
    }
    if (code == PS_OK) {
        ps_json j = ps_json_spaced_to(value);
        ps_json_object(&j);
        ps_json_key_uint(&j, "open", e->result->n_open);
        ps_json_key_uint(&j, "without_device_time", e->n_without_device);
        ps_json_close(&j);
        code = put_fact_meta(e, "collector.incomplete_ranges", value, err);
    }
    if (code == PS_OK && add_cupti_sums(e, value)) {
        code = put_fact_meta(e, "collector.cupti", value, err);
    }
    ps_buf_clear(value);
    char place[160];
    uint64_t damaged = ps_capture_damaged_bytes(e->c, place, sizeof place);
    if (code == PS_OK && damaged > 0) {
        ps_json j = ps_json_spaced_to(value);
        ps_json_object(&j);
        ps_json_key_uint(&j, "bytes", damaged);
        ps_json_key_str(&j, "first", place);
        ps_json_close(&j);
        code = put_fact_meta(e, "collector.damaged", value, err);
    }
    return code;
}

static ps_code fill_metadata(ps_export *e, ps_err *err) {
    static const char *const VERSION[][2] = {{"SCHEMA_VERSION_MAJOR", "1"},
                                             {"SCHEMA_VERSION_MINOR", "2"},
                                             {"SCHEMA_VERSION_MICRO", "0"},
                                             {"SCHEMA_VERSION", "1.2.0"}};
    ps_code code = ps_database_begin(&e->db, "META_DATA", err);
    for (size_t i = 0; i < sizeof VERSION / sizeof VERSION[0] && code == PS_OK; i++) {
        code = ps_database_pair(&e->db, VERSION[i][0], VERSION[i][1], err);
    }
    if (code == PS_OK) {
        code = ps_profile_each_metadata(e->c, put_user_meta, e, err);
    }
    ps_buf value;
    ps_buf_init(&value, 0);
    if (code == PS_OK) {
        code = put_own_meta(e, &value, err);
    }
    ps_buf_fini(&value);
    return code;
}

/* --- who and where ------------------------------------------------------------------------------------------------ */

static ps_code fill_host(ps_export *e, ps_arena *arena, ps_err *err) {
    const char *host = host_name(e, arena);
    char uid[32];
    (void)snprintf(uid, sizeof uid, "%" PRIu64, host_uid(e, host));
    ps_code code = ps_database_begin(&e->db, "HOST_INFO", err);
    return code == PS_OK ? ps_database_pair(&e->db, uid, host, err) : code;
}

/* All devices that were named; without one there is the host, number -1. */
static ps_code fill_devices(ps_export *e, ps_arena *arena, ps_err *err) {
    const ps_named *facts = ps_capture_facts(e->c);
    ps_code code = ps_database_begin(&e->db, "NPU_INFO", err);
    bool any = false;
    int64_t first = e->device_id;
    for (size_t i = 0; i < facts->n && code == PS_OK; i++) {
        size_t n = 0;
        if (strcmp(ps_capture_text(e->c, (uint32_t)facts->key[i], NULL), "device") != 0) {
            continue;
        }
        const char *json = ps_capture_text(e->c, facts->value[i], &n);
        const ps_literal *doc = ps_literal_parse(arena, json, n, NULL);
        int64_t id = -1;
        const char *name = ps_literal_str(ps_literal_get(doc, "name"));
        if (!ps_literal_int(ps_literal_get(doc, "id"), &id)) {
            continue;
        }
        ps_database_int(&e->db, 0, id);
        ps_database_text(&e->db, 1, name != NULL ? name : "", name != NULL ? strlen(name) : 0);
        code = ps_database_put(&e->db, err);
        first = any ? first : id;
        any = true;
    }
    if (code == PS_OK && !any) {
        ps_database_int(&e->db, 0, -1);
        ps_database_text(&e->db, 1, "CPU", 3);
        code = ps_database_put(&e->db, err);
    }
    if (code == PS_OK) {
        code = ps_database_begin(&e->db, "RANK_DEVICE_MAP", err);
    }
    return code == PS_OK ? PS_DATABASE_PUT(&e->db, err, e->rank, first) : code;
}

static ps_code fill_span(ps_export *e, ps_err *err) {
    int64_t start_ns, end_ns;
    bool ended;
    ps_capture_span(e->c, &start_ns, &end_ns, &ended);
    ps_code code = ps_database_begin(&e->db, "SESSION_TIME_INFO", err);
    if (code != PS_OK) {
        return code;
    }
    ps_database_int(&e->db, 0, start_ns);
    if (ended) {
        ps_database_int(&e->db, 1, end_ns);
    } else {
        ps_database_null(&e->db, 1);
    }
    return ps_database_put(&e->db, err);
}

/* --- of ours ------------------------------------------------------------------------------------------------------ */

static ps_code put_drop(ps_export *e, int64_t tid, unsigned drop, uint64_t n, ps_err *err) {
    ps_database_int(&e->db, 0, tid);
    ps_database_text(&e->db, 1, DROP_KEYS[drop], strlen(DROP_KEYS[drop]));
    ps_database_int(&e->db, 2, (int64_t)n);
    return ps_database_put(&e->db, err);
}

static ps_code fill_drops(ps_export *e, ps_err *err) {
    ps_code code = ps_database_begin(&e->db, "PIPESCOPE_DROPS", err);
    for (unsigned drop = 0; drop < PS_N_DROPS && code == PS_OK; drop++) {
        uint64_t left = ps_capture_drops(e->c, drop);
        for (uint32_t ring = 0; left > 0 && ring < ps_capture_ring_count(e->c) && code == PS_OK;
             ring++) {
            uint64_t n = ps_capture_ring_drops(e->c, ring, drop);
            uint32_t tid = ps_capture_ring_thread(e->c, ring);
            if (n > 0) {
                code = put_drop(e, tid != 0 ? ps_export_tid(e, tid) : 0, drop, n, err);
                left -= n < left ? n : left;
            }
        }
        if (code == PS_OK && left > 0) {
            code = put_drop(e, 0, drop, left, err);
        }
    }
    return code;
}

/* What was measured against another machine, as pairs of readings too. */
static ps_code fill_offsets(ps_export *e, ps_err *err) {
    ps_clock_reading *readings = NULL;
    size_t n = 0;
    ps_code code = ps_clock_offsets_read(e->c, &readings, &n, err);
    for (size_t i = 0; i < n && code == PS_OK; i++) {
        const ps_clock_reading *r = &readings[i];
        ps_database_text(&e->db, 0, "sync", 4);
        ps_database_int(&e->db, 1, r->reference);
        ps_database_int(&e->db, 2, r->at_ns);
        ps_database_int(&e->db, 3, ps_i64_minus(r->at_ns, r->offset_ns));
        ps_database_int(&e->db, 4, r->uncertainty_ns);
        code = ps_database_put(&e->db, err);
    }
    ps_free(readings);
    return code;
}

static ps_code fill_anchors(ps_export *e, ps_err *err) {
    size_t n = 0;
    const ps_captured_anchor *anchors = ps_capture_anchors(e->c, &n);
    ps_code code = ps_database_begin(&e->db, "PIPESCOPE_CLOCK_ANCHOR", err);
    for (size_t i = 0; i < n && code == PS_OK; i++) {
        const ps_captured_anchor *a = &anchors[i];
        const char *kind = a->device ? "device" : "host";
        ps_database_text(&e->db, 0, kind, strlen(kind));
        ps_database_int(&e->db, 1, a->device ? (int64_t)a->device_id : -1);
        ps_database_int(&e->db, 2, a->host_ns);
        ps_database_int(&e->db, 3, a->other_ns);
        ps_database_int(&e->db, 4, a->half_width_ns);
        code = ps_database_put(&e->db, err);
    }
    return code == PS_OK ? fill_offsets(e, err) : code;
}

ps_code ps_fill_facts(ps_export *e, ps_err *err) {
    ps_arena arena;
    ps_arena_init(&arena);
    ps_code code = fill_metadata(e, err);
    if (code == PS_OK) {
        code = fill_span(e, err);
    }
    if (code == PS_OK) {
        code = fill_host(e, &arena, err);
    }
    if (code == PS_OK) {
        code = fill_devices(e, &arena, err);
    }
    if (code == PS_OK) {
        code = fill_drops(e, err);
    }
    if (code == PS_OK) {
        code = fill_anchors(e, err);
    }
    ps_arena_fini(&arena);
    return code;
}
