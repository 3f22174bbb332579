/* A library that uses mstx beside its program, with a table of its own, which several threads fill at once. */
#include "mstx_emulation.h"

static void *attach(void *unused) {
    (void)unused;
    return emu_attach() == 1 ? NULL : &emu_core;
}

int second_run(void);
int second_run(void) {
    pthread_t threads[4];
    int bad = 0;
    for (int i = 0; i < 4; i++) {
        bad += pthread_create(&threads[i], NULL, attach, NULL) != 0;
    }
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        (void)pthread_join(threads[i], &result);
        bad += result != NULL;
    }
    uint64_t id = emu_domain_start(emu_domain_create("one"), "second library", NULL);
    emu_domain_end(emu_domain_create("one"), id);
    return bad;
}
