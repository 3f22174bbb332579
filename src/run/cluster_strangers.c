#include "run/cluster_strangers.h"

#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "run/cluster_files.h"

static const struct {
    const char *head, *tail; /* of the name; "" any */
    const char *one, *many, *remedy;
} KINDS[PS_N_STRANGERS] = {
    {"", ".nsys-rep", "report of Nsight Systems", "reports of Nsight Systems",
     "write each as a database (nsys export --type sqlite FILE)"},
    {"", ".qdrep", "report of Nsight Systems", "reports of Nsight Systems",
     "write each as a database (nsys export --type sqlite FILE)"},
    {"PROF_", "", "raw folder of Ascend's profiler", "raw folders of Ascend's profiler",
     "to be exported first (torch_npu.profiler.profiler.analyse, msprof --export=on)"},
    {"ASCEND_PROFILER_OUTPUT", "", "folder of results without a timeline or table in it",
     "folders of results without a timeline or table in them",
     "copy their files, or export them again (torch_npu.profiler.profiler.analyse)"},
    {"profiler_info", ".json", "profiler_info of a rank, whose results are not beside it",
     "files profiler_info of ranks, whose results are not beside them",
     "copy ASCEND_PROFILER_OUTPUT too, or export it (torch_npu.profiler.profiler.analyse)"},
    {"cluster_analysis_output", "", "result of an earlier analysis", "results of earlier analyses",
     "name the folder of the captures"},
    {"", ".et.json", "execution trace of PyTorch, which has no times",
     "execution traces of PyTorch, which have no times",
     "record with torch.profiler and export_chrome_trace()"},
    {"", ".pftrace", "Perfetto trace", "Perfetto traces", "these are written, not read"},
    {"", ".perfetto-trace", "Perfetto trace", "Perfetto traces", "these are written, not read"},
    {"", ".tar.gz", "archive", "archives", "unpack them"},
    {"", ".tgz", "archive", "archives", "unpack them"},
    {"", ".tar", "archive", "archives", "unpack them"},
    {"", ".zip", "archive", "archives", "unpack them"},
};

void ps_cluster_note_stranger(ps_cluster *c, const char *dir, const char *name) {
    for (size_t k = 0; k < PS_N_STRANGERS; k++) {
        size_t head = strlen(KINDS[k].head);
        if (strncmp(name, KINDS[k].head, head) != 0 || !ps_ends_with(name, KINDS[k].tail)) {
            continue;
        }
        if (c->n_strangers[k]++ == 0) {
            c->strangers[k] = ps_path_join(&c->arena, dir, name);
        }
        return;
    }
}

const char *ps_cluster_strangers(ps_cluster *c) {
    ps_buf text = {0};
    for (size_t k = 0; k < PS_N_STRANGERS; k++) {
        size_t n = c->n_strangers[k];
        if (n > 0 && c->strangers[k] != NULL) {
            ps_buf_addf(&text, "%s%zu %s (%s%s): %s", text.len > 0 ? "; " : "", n,
                        n == 1 ? KINDS[k].one : KINDS[k].many, n == 1 ? "" : "first ",
                        c->strangers[k], KINDS[k].remedy);
        }
    }
    const char *out = text.len > 0 && ps_buf_ok(&text)
                          ? ps_arena_strndup(&c->arena, ps_buf_str(&text), text.len)
                          : NULL;
    ps_buf_fini(&text);
    return out;
}
