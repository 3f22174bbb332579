/* The input edits what a process left when it died: the spool and the rings of its raw folder, which `pipescope record --recover` makes a
 * database of. Whatever stands there, it ends with a documented code, and files are lost only when all went well.
 *
 * Byte 0 says how the folder is made, then five bytes an edit: the file, the place (of 65536ths), what, how.
 *
 * link: record parts
 * source: support/record_slots.c */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/publish.h"
#include "record/export/recover.h"
#include "support/record_slots.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PATH = 600, N_FILES = 3, MAX_FILE = 1 << 20, MAX_EDITS = 40, EDIT = 5 };

static char top[300];
static const char *const FILES[N_FILES] = {"events.spool", "1.ring", "2.ring"};
static ps_buf whole[N_FILES]; /* as the process left them; empty: not there */

static void below(char out[PATH], const char *name) {
    (void)snprintf(out, PATH, "%s/%s", top, name);
}

static void put_all(made_recording *r) {
    put_text(r, 1, 1, "range");
    put_text(r, 1, 2, "aten::mm");
    put_thread(r, 1, 4242, "python");
    put_event(r, 1, PS_REC_RANGE_START, 2000, 1, 1, 1, 0);
    put_event(r, 1, PS_REC_RANGE_END, 2100, 1, 0, 0, 0);
    spool_all(r);
    put_event(r, 1, PS_REC_RANGE_START, 2200, 2, 1, 1, 0);
    put_text(r, 2, 1, "mark");
    put_event(r, 2, PS_REC_RANGE_START, 2300, 3, 1, 1, 0);
    put_event(r, 2, PS_REC_RANGE_END, 2400, 3, 0, 0, 0);
    put_pair(r, PS_REC_INFO, 0, "session", "{\"launch\": \"job 1\"}");
}

static void leave(void) {
    (void)ps_remove_tree(top, NULL);
    for (size_t i = 0; i < N_FILES; i++) {
        ps_buf_fini(&whole[i]);
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    const char *tmp = getenv("TMPDIR");
    char path[PATH];
    (void)snprintf(top, sizeof top, "%.200s/ps_fuzz_recover_XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(top) == NULL || atexit(leave) != 0) {
        abort();
    }
    below(path, "made_1_ascend_pt");
    made_recording r;
    recording_begin(&r, 1);
    put_all(&r);
    write_recording(&r, path);
    recording_end(&r);
    for (size_t i = 0; i < N_FILES; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "made_1_ascend_pt/FRAMEWORK/%s", FILES[i]);
        below(path, name);
        if (ps_read_file(path, MAX_FILE, &whole[i], NULL) != PS_OK && i == 0) {
            abort();
        }
    }
    below(path, "made_1_ascend_pt");
    return ps_remove_tree(path, NULL) == PS_OK ? 0 : 1;
}

static void edit(ps_buf *b, const uint8_t *e) {
    size_t at = (size_t)(((uint64_t)e[1] << 8 | e[2]) * b->len / 65536);
    at = (e[3] & 0x40) != 0 ? at / sizeof(ps_slot) * sizeof(ps_slot) + e[3] % 32 : at;
    if (at >= b->len) {
        return;
    }
    if ((e[3] & 0x80) == 0) {
        b->data[at] = (char)e[4];
    } else if (e[4] == 0) {
        b->len = at;
    } else { /* a piece again, at the end */
        size_t n = (size_t)e[4] * sizeof(ps_slot) < b->len - at ? (size_t)e[4] * sizeof(ps_slot)
                                                                : b->len - at;
        ps_buf piece = {0};
        ps_buf_add(&piece, b->data + at, n);
        ps_buf_add(b, ps_buf_str(&piece), b->len < MAX_FILE ? piece.len : 0);
        ps_buf_fini(&piece);
    }
}

static void put_file(size_t i, const uint8_t *data, size_t size) {
    char path[PATH];
    char name[64];
    ps_buf b = {0};
    ps_buf_add(&b, ps_buf_str(&whole[i]), whole[i].len);
    for (size_t at = 1; at + EDIT <= size && at < 1 + EDIT * MAX_EDITS; at += EDIT) {
        if (data[at] % N_FILES == i) {
            edit(&b, data + at);
        }
    }
    (void)snprintf(name, sizeof name, "a_1_ascend_pt/FRAMEWORK/%s", FILES[i]);
    below(path, name);
    if (ps_write_file(path, ps_buf_str(&b), b.len, NULL) != PS_OK) {
        abort();
    }
    ps_buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[PATH];
    uint8_t how = size > 0 ? data[0] : 0;
    below(path, "a_1_ascend_pt/FRAMEWORK");
    if (ps_make_dirs(path, NULL) != PS_OK) {
        abort();
    }
    for (size_t i = 0; i < N_FILES; i++) {
        if (whole[i].len > 0 && (how >> i & 1) == 0) {
            put_file(i, data, size);
        }
    }
    ps_arena arena = {0};
    ps_raw_folder *found = NULL;
    size_t n = 0;
    const ps_export_options options = {
        .text = (how & 8) != 0, .keep_raw = (how & 16) != 0, .nccl_marks = (how & 32) != 0};
    if (ps_recover_find(top, &arena, &found, &n, NULL) != PS_OK || n > 1) {
        abort();
    }
    for (size_t i = 0; i < n; i++) {
        ps_export_result result = {0};
        ps_err err = PS_ERR_INIT;
        ps_code code = ps_recover_folder(&found[i], &options, &result, &err);
        below(path, "a_1_ascend_pt/FRAMEWORK");
        if (code == PS_INTERNAL || code == PS_USAGE ||
            (code != PS_OK && code != PS_NOTHING && !ps_is_dir(path))) {
            abort();
        }
    }
    ps_arena_fini(&arena);
    below(path, "a_1_ascend_pt");
    if (ps_remove_tree(path, NULL) != PS_OK) {
        abort();
    }
    return 0;
}
