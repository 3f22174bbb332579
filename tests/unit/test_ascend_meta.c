/* Facts of the device beside a profile: cores and frequency in PROF_x/device_N/info.json.N. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "read/ascend/ascend_meta.h"
#include "support/scratch.h"

static char dir[256];
static char made[32][512]; /* files and folders, to be removed */
static size_t n_made;

static int make_dir(void **state) {
    (void)state;
    scratch_make(dir, sizeof dir);
    return 0;
}

static int remove_dir(void **state) {
    (void)state;
    while (n_made > 0) {
        (void)remove(made[--n_made]); /* a folder goes with the last of its files */
    }
    return remove(dir);
}

static const char *remember(const char *path) {
    assert_true(n_made < sizeof made / sizeof *made);
    (void)snprintf(made[n_made], sizeof made[0], "%s", path);
    return made[n_made++];
}

static void put(const char *folder, const char *name, const char *text) {
    char path[512];
    char above[64];
    ps_err err = PS_ERR_INIT;
    (void)snprintf(above, sizeof above, "%.*s", (int)strcspn(folder, "/"), folder);
    (void)snprintf(path, sizeof path, "%s/%s", dir, above);
    (void)remember(path);
    (void)snprintf(path, sizeof path, "%s/%s", dir, folder);
    assert_int_equal(ps_make_dirs(remember(path), &err), PS_OK);
    (void)snprintf(path, sizeof path, "%s/%s/%s", dir, folder, name);
    assert_int_equal(ps_write_file(remember(path), text, strlen(text), &err), PS_OK);
}

static void expect_facts(const char *cores, const char *mhz, uint64_t n_odd) {
    ps_builder *b = ps_builder_new();
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_ascend_device_facts(dir, b, &err), PS_OK);
    const char *got[] = {ps_builder_meta_text(b, "ai_core_num"),
                         ps_builder_meta_text(b, "aic_frequency_mhz")};
    assert_string_equal(got[0] != NULL ? got[0] : "none", cores);
    assert_string_equal(got[1] != NULL ? got[1] : "none", mhz);
    assert_int_equal(ps_builder_diag(b)->counts[PS_ODD_METADATA], n_odd);
    ps_builder_free(b);
}

/* In this order, each in front of what was there before: nothing; names that only look alike; a file that is no
 * JSON, which the next one makes good; a device without cores, which is its own; a device right beside the profile. */
static void places(void **state) {
    (void)state;
    expect_facts("none", "none", 0);
    put("PROF_2/device_100", "info.json.0", "{}");
    put("PROF_2/device_x", "info.json.0", "{}");
    put("other/device_0", "info.json.0", "{}");
    put("PROF_2/device_3", "info.json.done", "{}");
    expect_facts("none", "none", 0);
    put("PROF_2/device_3", "info.json.3",
        "{\"DeviceInfo\": [{\"ai_core_num\": 24, \"aic_frequency\": \"1800\"}, {\"ai_core_num\": 1}]}");
    expect_facts("24", "1800", 0);
    put("PROF_1/device_3", "info.json.3", "{");
    expect_facts("24", "1800", 1);
    put("PROF_1/device_4", "info.json.4", "{\"DeviceInfo\": [{\"ai_core_num\": -1}]}");
    expect_facts("none", "none", 2);
}

static void out_of_memory(void **state) {
    (void)state;
    put("PROF_0/device_0", "info.json.0",
        "{\"DeviceInfo\": [{\"ai_core_num\": 20, \"aic_frequency\": 1650}]}");
    bool ended = false;
    for (int64_t n = 0; !ended && n < 1000; n++) {
        ps_builder *b = ps_builder_new();
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_ascend_device_facts(dir, b, &err);
        (void)ps_alloc_fail_at(-1);
        const char *cores = ps_builder_meta_text(b, "ai_core_num");
        ended = code == PS_OK && !ps_builder_failed(b) && cores != NULL;
        assert_true(ended || code == PS_NOMEM || ps_builder_failed(b));
        ps_builder_free(b);
    }
    assert_true(ended);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
