/* The input is a spool of the recorder as it lies in events.spool. All of it is read; every fourth one also becomes a
 * database, with trace_view.json. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/export/export.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[256];
static char command[sizeof dir + 16];

static void remove_dir(void) {
    (void)!system(command);
}

static const char *place(void) {
    static int made;
    if (!made) {
        const char *tmp = getenv("TMPDIR");
        made = 1;
        tmp = tmp != NULL && strlen(tmp) < 200 ? tmp : "/tmp";
        (void)snprintf(dir, sizeof dir, "%s/ps_fuzz_capture_XXXXXX", tmp);
        if (mkdtemp(dir) == NULL) {
            abort();
        }
        (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
        (void)atexit(remove_dir);
    }
    return dir;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ps_capture *c = NULL;
    ps_err err = PS_ERR_INIT;
    if (ps_capture_read_memory(data, size, &c, &err) != PS_OK) {
        return 0;
    }
    for (uint32_t i = 0; i < ps_capture_text_count(c); i++) {
        size_t n = 0;
        if (ps_capture_text(c, i, &n) == NULL) {
            abort();
        }
    }
    if (size % 4 == 0) {
        const ps_export_options options = {
            .text = true, .nvtx_push_pop_type = 2, .nccl_marks = size % 8 == 0};
        ps_export_result result;
        ps_code code = ps_export_capture(c, place(), &options, &result, &err);
        if (code != PS_OK && code != PS_NOTHING) {
            abort(); /* no recording, however damaged, keeps a database from being written */
        }
    }
    ps_capture_free(c);
    return 0;
}
