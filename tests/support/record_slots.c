#include "record_slots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void must(int ok, const char *what) {
    if (!ok) {
        perror(what);
        abort();
    }
}

void put_slot(made_recording *r, unsigned ring, ps_slot slot, const void *behind, size_t n) {
    made_ring *m = &r->rings[ring];
    size_t n_more = (n + sizeof slot - 1) / sizeof slot;
    if (m->n + 1 + n_more > m->cap) {
        m->cap = 2 * (m->n + 1 + n_more);
        m->slots = realloc(m->slots, m->cap * sizeof slot);
        must(m->slots != NULL, "realloc");
    }
    slot.n_more = (uint8_t)n_more;
    m->slots[m->n] = slot;
    memset(&m->slots[m->n + 1], 0, n_more * sizeof slot);
    if (n > 0) {
        memcpy(&m->slots[m->n + 1], behind, n);
    }
    m->n += 1 + n_more;
}

void put_text(made_recording *r, unsigned ring, uint32_t id, const char *text) {
    size_t n = strlen(text);
    put_slot(r, ring, (ps_slot){.kind = PS_REC_TEXT, .id = id, .aux = n}, text, n);
}

void put_named(made_recording *r, uint8_t kind, uint64_t id, const char *name) {
    size_t n = strlen(name);
    put_slot(r, 0, (ps_slot){.kind = kind, .id = id, .aux = n}, name, n);
}

void put_pair(made_recording *r, uint8_t kind, uint64_t ticks, const char *key, const char *value) {
    char both[PS_RECORD_MAX_PAIR];
    size_t n = strlen(key);
    size_t all = n + 1 + strlen(value);
    must(all <= sizeof both, "pair");
    memcpy(both, key, n + 1);
    memcpy(both + n + 1, value, all - n - 1);
    put_slot(r, 0, (ps_slot){.kind = kind, .ticks = ticks, .id = n, .aux = all}, both, all);
}

void put_thread(made_recording *r, unsigned ring, uint32_t tid, const char *name) {
    size_t n = strlen(name);
    put_slot(r, ring, (ps_slot){.kind = PS_REC_THREAD, .id = tid, .aux = n}, name, n);
}

void put_event(made_recording *r, unsigned ring, uint8_t kind, uint64_t ticks, uint64_t id,
               uint64_t stream, uint32_t text, uint16_t domain) {
    ps_slot slot = {
        .kind = kind, .ticks = ticks, .id = id, .aux = stream, .text = text, .domain = domain};
    put_slot(r, ring, slot, NULL, 0);
}

void put_device(made_recording *r, uint8_t kind, uint64_t id, uint64_t start, uint64_t end,
                uint32_t text, ps_device_more more) {
    ps_slot slot = {.kind = kind, .ticks = start, .id = id, .aux = end, .text = text};
    put_slot(r, 0, slot, &more, sizeof more);
}

void recording_begin(made_recording *r, int rank) {
    memset(r, 0, sizeof *r);
    r->header = (ps_spool_header){.magic = PS_SPOOL_MAGIC,
                                  .format = PS_RECORD_FORMAT,
                                  .clock = PS_CLOCK_MONOTONIC,
                                  .session = 77,
                                  .pid = 4242,
                                  .rank = rank,
                                  .boot_id = "another-boot"};
    r->spool = malloc(sizeof r->header);
    must(r->spool != NULL, "malloc");
    memcpy(r->spool, &r->header, sizeof r->header);
    r->spool_bytes = sizeof r->header;
    ps_slot anchor = {.kind = PS_REC_ANCHOR,
                      .ticks = 1000,
                      .id = (uint64_t)SLOTS_BASE + 1000,
                      .aux = 1000,
                      .text = 25};
    put_slot(r, 0, anchor, NULL, 0);
}

void recording_end(made_recording *r) {
    for (unsigned i = 0; i < SLOTS_RINGS; i++) {
        free(r->rings[i].slots);
    }
    free(r->spool);
    memset(r, 0, sizeof *r);
}

void spool_ring(made_recording *r, unsigned ring) {
    made_ring *m = &r->rings[ring];
    size_t n = m->n - m->in_spool;
    if (n == 0) {
        return;
    }
    ps_block_header b = {.magic = PS_BLOCK_MAGIC, .ring = ring, .first = m->in_spool, .n_slots = n};
    for (unsigned i = 0; i < PS_N_DROPS; i++) {
        b.drops += m->drops[i];
    }
    size_t bytes = sizeof b + n * sizeof(ps_slot);
    r->spool = realloc(r->spool, r->spool_bytes + bytes);
    must(r->spool != NULL, "realloc");
    memcpy(r->spool + r->spool_bytes, &b, sizeof b);
    memcpy(r->spool + r->spool_bytes + sizeof b, m->slots + m->in_spool, n * sizeof(ps_slot));
    r->spool_bytes += bytes;
    m->in_spool = m->n;
}

void spool_all(made_recording *r) {
    for (unsigned i = 0; i < SLOTS_RINGS; i++) {
        spool_ring(r, i);
    }
}

static void write_ring(const made_recording *r, unsigned number, const char *dir) {
    const made_ring *m = &r->rings[number];
    size_t n_slots = 64;
    while (n_slots < m->n - m->in_spool + 1) {
        n_slots *= 2;
    }
    size_t bytes = PS_RING_HEADER_BYTES + n_slots * sizeof(ps_slot);
    char *file = calloc(1, bytes);
    must(file != NULL, "calloc");
    ps_ring_header h;
    memset(&h, 0, sizeof h);
    h.magic = PS_RING_MAGIC;
    h.format = PS_RECORD_FORMAT;
    h.number = number;
    h.n_slots = n_slots;
    h.session = r->header.session;
    atomic_init(&h.head, m->n);
    atomic_init(&h.tail, m->in_spool);
    for (unsigned i = 0; i < PS_N_DROPS; i++) {
        atomic_init(&h.drops[i], m->drops[i]);
    }
    memcpy(file, &h, sizeof h);
    size_t first = m->n > n_slots ? m->n - n_slots : 0;
    for (size_t i = first; i < m->n; i++) {
        memcpy(file + PS_RING_HEADER_BYTES + (i & (n_slots - 1)) * sizeof(ps_slot), &m->slots[i],
               sizeof(ps_slot));
    }
    char path[8192];
    (void)snprintf(path, sizeof path, "%s/%u.ring", dir, number);
    FILE *f = fopen(path, "wb");
    must(f != NULL && fwrite(file, 1, bytes, f) == bytes && fclose(f) == 0, path);
    free(file);
}

void write_recording(const made_recording *r, const char *dir) {
    char path[4200];
    (void)mkdir(dir, 0750);
    (void)snprintf(path, sizeof path, "%s/FRAMEWORK", dir);
    (void)mkdir(path, 0750);
    for (unsigned i = 0; i < SLOTS_RINGS; i++) {
        if (r->rings[i].n > 0) {
            write_ring(r, i, path);
        }
    }
    (void)snprintf(path, sizeof path, "%s/FRAMEWORK/events.spool", dir);
    FILE *f = fopen(path, "wb");
    must(f != NULL && fwrite(r->spool, 1, r->spool_bytes, f) == r->spool_bytes && fclose(f) == 0,
         path);
}
