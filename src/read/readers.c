/* The list of readers and the choice between them. */
#include "read/readers.h"

#include <string.h>
#include <strings.h>

#include "base/fs.h"
#include "base/input.h"
#include "read/comm_from_marks.h"

#define X(symbol) extern const ps_reader ps_reader_##symbol;
#include "read/readers.def"
#undef X

static const ps_reader *const READERS[] = {
#define X(symbol) &ps_reader_##symbol,
#include "read/readers.def"
#undef X
    NULL};

const ps_reader *const *ps_readers(void) {
    return READERS;
}

const ps_reader *ps_reader_find(const char *name) {
    for (size_t i = 0; READERS[i] != NULL; i++) {
        if (strcasecmp(READERS[i]->name, name) == 0) {
            return READERS[i];
        }
    }
    return NULL;
}

/* What an unknown file is, and what to do about it. */
static const char *what_instead(const char *path, const unsigned char *head, size_t n) {
    static const struct {
        const char *magic;
        size_t n;
        const char *text;
    } PACKED[] = {
        {"BZh", 3, "packed with bzip2: unpack it first (bunzip2), or pack it with gzip"},
        {"\xFD"
         "7zXZ",
         5, "packed with xz: unpack it first (unxz), or pack it with gzip"},
        {"\x28\xB5\x2F\xFD", 4, "packed with zstd: unpack it first (unzstd), or pack it with gzip"},
        {"PK\x03\x04", 4, "a zip archive: unpack it first (unzip)"},
        {"7z\xBC\xAF\x27\x1C", 6, "a 7z archive: unpack it first"},
    };
    for (size_t i = 0; i < sizeof PACKED / sizeof PACKED[0]; i++) {
        if (n >= PACKED[i].n && memcmp(head, PACKED[i].magic, PACKED[i].n) == 0) {
            return PACKED[i].text;
        }
    }
    if (ps_ends_with(path, ".pftrace") || ps_ends_with(path, ".perfetto-trace")) {
        return "Perfetto traces are written, not read";
    }
    if (ps_ends_with(path, ".nsys-rep") || ps_ends_with(path, ".qdrep")) {
        return "a report of Nsight Systems: write it as a database first (nsys export --type sqlite)";
    }
    return "not a profile that pipescope knows (see: pipescope formats)";
}

const ps_reader *ps_reader_for(const char *path, ps_err *err) {
    unsigned char head[PS_HEAD_BYTES];
    size_t n = 0;
    if (ps_input_head(path, head, sizeof head, &n, err) != PS_OK) {
        return NULL;
    }
    if (n == 0) {
        (void)ps_fail_file(err, PS_SYNTAX, path,
                           "the file is empty (0 bytes): copy it again, or export it anew");
        return NULL;
    }
    const ps_reader *best = NULL;
    const ps_reader *second = NULL;
    int best_score = 0;
    for (size_t i = 0; READERS[i] != NULL; i++) {
        int score = READERS[i]->sniff(path, head, n);
        if (score > best_score) {
            best = READERS[i];
            best_score = score;
            second = NULL;
        } else if (score > 0 && score == best_score) {
            second = READERS[i];
        }
    }
    if (best == NULL) {
        (void)ps_fail_file(err, PS_SYNTAX, path, "%s", what_instead(path, head, n));
    } else if (second != NULL) {
        (void)ps_fail_file(err, PS_USAGE, path, "could be %s or %s", best->name, second->name);
        best = NULL;
    }
    return best;
}

/* The work of the device alone is asked for only when nobody wants more, and only of readers that know how. */
static uint32_t needs_of(const ps_reader *reader, uint32_t needs) {
    const uint32_t more = PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_MARKS | PS_NEED_COMM_OPS |
                          PS_NEED_COMM_HOST | PS_NEED_COMM_MARKS | PS_NEED_ARGS;
    bool alone = (needs & more) == 0;
    if ((needs & PS_NEED_DEVICE_SPANS) == 0 || (alone && reader->gives_spans)) {
        return needs;
    }
    return (needs & ~(uint32_t)PS_NEED_DEVICE_SPANS) | PS_NEED_SLICES | PS_NEED_FLOWS;
}

ps_trace *ps_read(const ps_src *src, uint32_t needs, ps_err *err) {
    const ps_reader *reader = src->reader != NULL ? src->reader : ps_reader_for(src->path, err);
    if (reader == NULL) {
        return NULL;
    }
    ps_builder *b = ps_builder_new();
    if (b == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    ps_builder_watch(b, src->watcher);
    uint32_t own_needs = needs_of(reader, needs);
    if (reader->read(src, own_needs, b, err) != PS_OK ||
        ps_comm_from_marks(b, own_needs, err) != PS_OK) {
        ps_builder_free(b);
        return NULL;
    }
    return ps_builder_seal(b, err);
}
