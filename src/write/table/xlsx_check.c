/* A workbook is a zip archive: a directory at its end names the parts, each a deflated XML file. A part that was cut lacks
 * its closing tag; one with a gap lacks cells, or strings of those it says it has. */
#include "write/table/xlsx_check.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/inflate.h"

enum {
    END_RECORD = 22, /* without a comment */
    ENTRY = 46,
    LOCAL_HEADER = 30,
    CARRY = 15, /* bytes of one block that the next is looked at with */
    IN_BYTES = 1 << 16,
    OUT_BYTES = 1 << 18,
    MAX_DIRECTORY = 1 << 16 /* for 700 sheets */
};

typedef struct part {
    const char *counted; /* text that is counted */
    uint64_t n;          /* how often it was seen */
    char head[512];      /* the beginning, as a string */
    size_t n_head, n_carry;
    char window[CARRY + OUT_BYTES + 1];
} part;

typedef struct checker {
    int fd;
    bool no_memory;
    part part;
    unsigned char in[IN_BYTES];
    unsigned char directory[MAX_DIRECTORY];
} checker;

static uint32_t number_xlsx_check(const unsigned char *p, int n_bytes) {
    uint32_t value = 0;
    for (int i = n_bytes - 1; i >= 0; i--) {
        value = value << 8 | p[i];
    }
    return value;
}

static bool read_at(int fd, void *out, size_t n, uint64_t at) {
    return pread(fd, out, n, (off_t)at) == (ssize_t)n;
}

/* Takes `n` new bytes behind the carried ones in the window. */
static void scan_xlsx_check(part *p, size_t n) {
    size_t length = strlen(p->counted);
    size_t end = p->n_carry + n;
    size_t from = p->n_carry >= length ? p->n_carry - (length - 1) : 0;
    for (const char *at = p->window + from;
         (at = memmem(at, (size_t)(p->window + end - at), p->counted, length)) != NULL;
         at += length) {
        p->n++;
    }
    size_t room = sizeof p->head - 1 - p->n_head;
    size_t take = n < room ? n : room;
    memcpy(p->head + p->n_head, p->window + p->n_carry, take);
    p->n_head += take;
    p->head[p->n_head] = '\0';
    size_t keep = end < CARRY ? end : CARRY;
    memmove(p->window, p->window + end - keep, keep);
    p->n_carry = keep;
}

/* All of a part goes through scan_xlsx_check(). */
static bool inflate_all(checker *c, ps_inflate *inflate, uint64_t at, uint64_t n_bytes) {
    const uint8_t *in = c->in;
    size_t n_in = 0;
    size_t room = OUT_BYTES;
    ps_inflate_end end = PS_INFLATE_GOES_ON;
    while (end == PS_INFLATE_GOES_ON) {
        if (n_in == 0 && room > 0) { /* else there may be more of the same input */
            n_in = n_bytes < IN_BYTES ? (size_t)n_bytes : IN_BYTES;
            if (n_in == 0 || !read_at(c->fd, c->in, n_in, at)) {
                return false;
            }
            at += n_in;
            n_bytes -= n_in;
            in = c->in;
        }
        uint8_t *out = (uint8_t *)c->part.window + c->part.n_carry;
        room = OUT_BYTES;
        end = ps_inflate_run(inflate, &in, &n_in, &out, &room);
        scan_xlsx_check(&c->part, OUT_BYTES - room);
    }
    c->no_memory = end == PS_INFLATE_NO_MEMORY;
    return end == PS_INFLATE_DONE && n_bytes == 0 && n_in == 0;
}

static bool inflate_part(checker *c, uint64_t at, uint64_t n_bytes) {
    ps_inflate *inflate = ps_inflate_new_raw();
    c->no_memory = inflate == NULL;
    bool ok = inflate != NULL && inflate_all(c, inflate, at, n_bytes);
    ps_inflate_free(inflate);
    return ok;
}

static bool xlsx_check_ends_with(const part *p, const char *tail) {
    size_t n = strlen(tail);
    return p->n_carry >= n && memcmp(p->window + p->n_carry - n, tail, n) == 0;
}

/* The part of a directory entry; what sheets hold is added up in *held. */
static bool check_part(checker *c, const unsigned char *entry, const char *name,
                       ps_xlsx_held *held) {
    bool is_sheet = strncmp(name, "xl/worksheets/sheet", 19) == 0;
    bool is_strings = strcmp(name, "xl/sharedStrings.xml") == 0;
    unsigned char local[LOCAL_HEADER];
    uint64_t at = number_xlsx_check(entry + 42, 4);
    if (number_xlsx_check(entry + 10, 2) != 8 || !read_at(c->fd, local, sizeof local, at)) {
        return false;
    }
    c->part.counted = is_strings ? "<si>" : "<c r=";
    c->part.n = 0;
    c->part.n_head = 0;
    c->part.n_carry = 0;
    at += LOCAL_HEADER + number_xlsx_check(local + 26, 2) + number_xlsx_check(local + 28, 2);
    if (!inflate_part(c, at, number_xlsx_check(entry + 20, 4))) {
        return false;
    }
    if (is_strings) {
        const char *count = strstr(c->part.head, "uniqueCount=\"");
        return count != NULL && strtoull(count + 13, NULL, 10) == c->part.n &&
               xlsx_check_ends_with(&c->part, "</sst>");
    }
    if (is_sheet) {
        held->n_cells += c->part.n;
        held->n_frozen += strstr(c->part.head, "<selection pane=") != NULL;
        return xlsx_check_ends_with(&c->part, "</worksheet>");
    }
    return xlsx_check_ends_with(&c->part, ">") || xlsx_check_ends_with(&c->part, ">\n");
}

static bool check_parts(checker *c, size_t n, ps_xlsx_held *held) {
    size_t at = 0;
    while (at + ENTRY <= n) {
        const unsigned char *entry = c->directory + at;
        size_t n_name = number_xlsx_check(entry + 28, 2);
        size_t n_all =
            ENTRY + n_name + number_xlsx_check(entry + 30, 2) + number_xlsx_check(entry + 32, 2);
        char name[64] = "";
        if (number_xlsx_check(entry, 4) != 0x02014b50 || at + n_all > n) {
            return false;
        }
        memcpy(name, entry + ENTRY, n_name < sizeof name - 1 ? n_name : sizeof name - 1);
        if (!check_part(c, entry, name, held)) {
            return false;
        }
        at += n_all;
    }
    return at == n && n > 0;
}

static bool read_directory(checker *c, size_t *n) {
    struct stat st;
    unsigned char end[END_RECORD];
    if (fstat(c->fd, &st) != 0 || st.st_size < END_RECORD ||
        !read_at(c->fd, end, sizeof end, (uint64_t)st.st_size - END_RECORD) ||
        number_xlsx_check(end, 4) != 0x06054b50) {
        return false;
    }
    *n = number_xlsx_check(end + 12, 4);
    return *n <= MAX_DIRECTORY && read_at(c->fd, c->directory, *n, number_xlsx_check(end + 16, 4));
}

ps_code ps_xlsx_check(const char *path, const char *name, ps_xlsx_held wanted, ps_err *err) {
    checker *c = ps_calloc(1, sizeof *c);
    if (c == NULL) {
        return ps_fail_nomem(err);
    }
    c->fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    ps_xlsx_held held = {0};
    bool ok = c->fd >= 0 && read_directory(c, &n) && check_parts(c, n, &held) &&
              held.n_cells == wanted.n_cells;
    bool is_frozen = held.n_frozen == wanted.n_frozen;
    if (c->fd >= 0) {
        (void)close(c->fd);
    }
    bool no_memory = c->no_memory;
    ps_free(c);
    return ok && is_frozen ? PS_OK
           : ok || no_memory
               ? ps_fail_nomem(err)
               : ps_fail_file(err, PS_IO, name,
                              "the workbook was written in part only (%llu of %llu cells): is the "
                              "disk full?",
                              (unsigned long long)held.n_cells, (unsigned long long)wanted.n_cells);
}
