/* A program that uses every function of mstx, through the emulation of its header. Prints what they return. The first
 * argument may name a shared library with a table of its own (lib_mstx_second). */
#include "mstx_emulation.h"

static void default_domain(void) {
    emu_mark("a mark", NULL);
    emu_mark("on a stream", (void *)0x51);
    uint64_t a = emu_start("outer", NULL);
    uint64_t b = emu_start("inner", (void *)0x51);
    printf("ids %d\n", a != 0 && b != 0 && a != b);
    emu_end(b);
    emu_end(a);
    emu_end(a); /* once too often */
    emu_end(0); /* nothing */
    const char *const refused[] = {NULL, "", "=1+1", "+1", "-1", "@x"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        emu_mark(refused[i], NULL);
    }
    char text[5000];
    memset(text, 'x', sizeof text);
    text[200] = '\0';
    emu_mark(text, NULL); /* longer than the reference tool takes */
    text[200] = 'x';
    text[4095] = '\0';
    emu_mark(text, NULL);
    text[4095] = 'x';
    text[4999] = '\0';
    emu_mark(text, NULL); /* too long */
}

static void domains(void) {
    mstxDomainHandle_t one = emu_domain_create("one");
    mstxDomainHandle_t two = emu_domain_create("two");
    printf("domains %d %d\n", one != NULL && one == emu_domain_create("one") && one != two,
           emu_domain_create("default") == NULL);
    emu_domain_mark(one, "in one", NULL);
    uint64_t range = emu_domain_start(two, "in two", (void *)0x51);
    emu_domain_end(two, range);
    range = emu_domain_start(two, "ended elsewhere", NULL);
    emu_domain_end(one, range);
    emu_end(range);
    emu_domain_end(two, range); /* what happened before was ignored */
    emu_domain_destroy(two);
    printf("destroyed %d\n", (int)emu_domain_start(two, "no more", NULL));
    emu_domain_mark((mstxDomainHandle_t)(void *)&one, "no domain", NULL);
    two = emu_domain_create("two");
    emu_domain_mark(two, "two again", NULL);
}

static void memory(void) {
    if (emu_mem[MSTX_MEM_HEAP_REGISTER] == NULL) {
        printf("no memory module\n");
        return;
    }
    void *heap = ((void *(*)(mstxDomainHandle_t, const void *))emu_mem[MSTX_MEM_HEAP_REGISTER])(
        NULL, "desc");
    ((void (*)(mstxDomainHandle_t, const void *))emu_mem[MSTX_MEM_REGIONS_REGISTER])(NULL, "desc");
    ((void (*)(mstxDomainHandle_t, const void *))emu_mem[MSTX_MEM_REGIONS_UNREGISTER])(NULL, "d");
    ((void (*)(mstxDomainHandle_t, void *))emu_mem[MSTX_MEM_HEAP_UNREGISTER])(NULL, heap);
    printf("heap %d\n", heap == NULL);
}

int main(int argc, char **argv) {
    printf("attached %d\n", emu_attach());
    if (emu_core[MSTX_CORE_MARK_A] == NULL) {
        return 0;
    }
    if (emu_core[MSTX_CORE_GET_TOOL_ID] != NULL) {
        uint64_t id = 0;
        ((void (*)(uint64_t *))emu_core[MSTX_CORE_GET_TOOL_ID])(&id);
        printf("tool %llx\n", (unsigned long long)id);
    }
    default_domain();
    domains();
    memory();
    if (argc > 1) {
        void *second = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        void *symbol = second == NULL ? NULL : dlsym(second, "second_run");
        int (*run)(void) = NULL;
        memcpy(&run, &symbol, sizeof symbol);
        printf("second %d\n", run == NULL ? -1 : run());
    }
    return 0;
}
