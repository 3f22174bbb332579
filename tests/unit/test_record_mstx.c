/* mstx: how the tables of clients are filled, whatever their header knows; what functions give when nothing is recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "record/core/domains.h"
#include "record/mstx/mstx_abi.h"

extern int InitInjectionMstx(mstxGetModuleFuncTableFunc get_table);
extern mstxDomainHandle_t mstxDomainCreateA(const char *name);
extern void mstxDomainDestroy(mstxDomainHandle_t domain);
extern mstxRangeId mstxRangeStartA(const char *message, aclrtStream stream);
extern void mstxRangeEnd(mstxRangeId id);
extern void mstxMarkA(const char *message, aclrtStream stream);
extern mstxRangeId mstxDomainRangeStartA(mstxDomainHandle_t domain, const char *message,
                                         aclrtStream stream);
extern void mstxGetToolId(uint64_t *id);

/* A client: how long its tables are (0: it has no such module). */
static unsigned sizes[4];
static mstxFuncPointer functions[4][16];
static mstxFuncPointer *tables[4][16];
static int hole = -1; /* an id whose place is NULL */

static int get_table(int module, mstxFuncTable *table, unsigned *size) {
    if (module < 1 || module > 3 || sizes[module] == 0) {
        return MSTX_FAIL;
    }
    for (int i = 0; i < 16; i++) {
        tables[module][i] = i == hole ? NULL : &functions[module][i];
    }
    *table = tables[module];
    *size = sizes[module];
    return MSTX_SUCCESS;
}

static int no_table(int module, mstxFuncTable *table, unsigned *size) {
    (void)module;
    *table = NULL;
    *size = 100;
    return MSTX_SUCCESS;
}

static void client(unsigned core, unsigned domain, unsigned mem) {
    memset(functions, 0, sizeof functions);
    sizes[1] = core;
    sizes[2] = domain;
    sizes[3] = mem;
    hole = -1;
}

static unsigned filled(int module) {
    unsigned bits = 0;
    for (unsigned i = 0; i < 16; i++) {
        bits |= functions[module][i] != NULL ? 1u << i : 0;
    }
    return bits;
}

static void headers(void **state) {
    (void)state;
    client(5, 6, 5);
    assert_int_equal(InitInjectionMstx(get_table), MSTX_SUCCESS);
    assert_int_equal(filled(1), 0x1e);
    assert_int_equal(filled(2), 0x3e);
    assert_int_equal(filled(3), 0x1e);
    client(4, 6, 0); /* an older one */
    assert_int_equal(InitInjectionMstx(get_table), MSTX_SUCCESS);
    assert_int_equal(filled(1), 0x0e);
    assert_int_equal(filled(3), 0);
    client(16, 16, 16); /* a newer one: what is not known here is left alone */
    assert_int_equal(InitInjectionMstx(get_table), MSTX_SUCCESS);
    assert_int_equal(filled(1), 0x1e);
    assert_int_equal(filled(2), 0x3e);
    client(0, 0, 0);
    assert_int_equal(InitInjectionMstx(get_table), MSTX_SUCCESS);
    client(5, 6, 5);
    hole = 2;
    assert_int_equal(InitInjectionMstx(get_table), MSTX_SUCCESS);
    assert_int_equal(filled(1), 0x1a);
    assert_int_equal(InitInjectionMstx(no_table), MSTX_SUCCESS);
    assert_int_equal(InitInjectionMstx(NULL), MSTX_FAIL);
}

/* A second shared object gets the same functions, and the first keeps them. */
static void several(void **state) {
    (void)state;
    client(5, 6, 5);
    assert_int_equal(InitInjectionMstx(get_table), MSTX_SUCCESS);
    mstxFuncPointer first[16];
    memcpy(first, functions[2], sizeof first);
    assert_int_equal(InitInjectionMstx(get_table), MSTX_SUCCESS);
    assert_memory_equal(first, functions[2], sizeof first);
}

/* The pointers must not lead to the exported functions: another object may have some of the same name. */
static void own_functions(void **state) {
    (void)state;
    client(5, 6, 5);
    assert_int_equal(InitInjectionMstx(get_table), MSTX_SUCCESS);
    assert_true(functions[1][MSTX_CORE_MARK_A] != (mstxFuncPointer)mstxMarkA);
    assert_true(functions[1][MSTX_CORE_RANGE_START_A] != (mstxFuncPointer)mstxRangeStartA);
}

static void domains(void **state) {
    (void)state;
    mstxDomainHandle_t a = mstxDomainCreateA("mstx a");
    assert_non_null(a);
    assert_ptr_equal(a, mstxDomainCreateA("mstx a"));
    assert_null(mstxDomainCreateA("default"));
    assert_null(mstxDomainCreateA(NULL));
    assert_ptr_equal(ps_domain_check(a), a);
    mstxDomainDestroy(a);
    assert_null(ps_domain_check(a));
    mstxDomainDestroy(NULL);
    mstxDomainDestroy((mstxDomainHandle_t)(void *)&sizes);
    assert_ptr_equal(mstxDomainCreateA("mstx a"), a);
    assert_non_null(ps_domain_check(a));
}

static void not_recording(void **state) {
    (void)state;
    assert_int_equal(mstxRangeStartA("a", NULL), 0);
    assert_int_equal(mstxDomainRangeStartA((mstxDomainHandle_t)(void *)&sizes, "a", NULL), 0);
    mstxRangeEnd(0);
    mstxRangeEnd(77);
    mstxMarkA(NULL, NULL);
    uint64_t id = 0;
    mstxGetToolId(&id);
    assert_int_equal(id, 0x1100);
    mstxGetToolId(NULL);
}

/* The last test: domains are never given back. One too many must not end up in the default domain. */
static void too_many(void **state) {
    (void)state;
    mstxDomainHandle_t last = NULL;
    for (int i = 0; i < PS_MAX_DOMAINS + 10; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "many %d", i);
        last = mstxDomainCreateA(name);
        assert_non_null(last);
    }
    assert_null(ps_domain_check(last));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers), cmocka_unit_test(several),       cmocka_unit_test(own_functions),
        cmocka_unit_test(domains), cmocka_unit_test(not_recording), cmocka_unit_test(too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
