#include "run/cluster_strangers.h"

#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "run/cluster_files.h"

static const struct {
    const char *head, *tail; /* of the name; "" any */
    const char *one, *many, *chinese;
    const char *remedy[PS_N_LANGS];
} KINDS[PS_N_STRANGERS] = {
    {"",
     ".nsys-rep",
     "report of Nsight Systems",
     "reports of Nsight Systems",
     "个 Nsight Systems 报告",
     {"write each as a database (nsys export --type sqlite FILE)",
      "请逐个导出为数据库（nsys export --type sqlite 文件）"}},
    {"",
     ".qdrep",
     "report of Nsight Systems",
     "reports of Nsight Systems",
     "个 Nsight Systems 报告",
     {"write each as a database (nsys export --type sqlite FILE)",
      "请逐个导出为数据库（nsys export --type sqlite 文件）"}},
    {"PROF_",
     "",
     "raw folder of Ascend's profiler",
     "raw folders of Ascend's profiler",
     "个昇腾采集工具的原始目录",
     {"to be exported first (torch_npu.profiler.profiler.analyse, msprof --export=on)",
      "需先导出（torch_npu.profiler.profiler.analyse、msprof --export=on）"}},
    {"ASCEND_PROFILER_OUTPUT",
     "",
     "folder of results without a timeline or table in it",
     "folders of results without a timeline or table in them",
     "个没有时间线或表格的结果目录",
     {"copy their files, or export them again (torch_npu.profiler.profiler.analyse)",
      "请复制其中的文件，或重新导出（torch_npu.profiler.profiler.analyse）"}},
    {"profiler_info",
     ".json",
     "profiler_info of a rank, whose results are not beside it",
     "files profiler_info of ranks, whose results are not beside them",
     "个 rank 的 profiler_info 文件，其结果不在旁边",
     {"copy ASCEND_PROFILER_OUTPUT too, or export it (torch_npu.profiler.profiler.analyse)",
      "请一并复制 ASCEND_PROFILER_OUTPUT，或重新导出（torch_npu.profiler.profiler.analyse）"}},
    {"cluster_analysis_output",
     "",
     "result of an earlier analysis",
     "results of earlier analyses",
     "个早先分析的结果",
     {"name the folder of the captures", "请指定采集数据所在的目录"}},
    {"",
     ".et.json",
     "execution trace of PyTorch, which has no times",
     "execution traces of PyTorch, which have no times",
     "个 PyTorch execution trace，其中没有时间",
     {"record with torch.profiler and export_chrome_trace()",
      "请用 torch.profiler 采集并调用 export_chrome_trace()"}},
    {"",
     ".pftrace",
     "Perfetto trace",
     "Perfetto traces",
     "个 Perfetto trace",
     {"these are written, not read", "这种格式只写不读"}},
    {"",
     ".perfetto-trace",
     "Perfetto trace",
     "Perfetto traces",
     "个 Perfetto trace",
     {"these are written, not read", "这种格式只写不读"}},
    {"", ".tar.gz", "archive", "archives", "个压缩包", {"unpack them", "请先解压"}},
    {"", ".tgz", "archive", "archives", "个压缩包", {"unpack them", "请先解压"}},
    {"", ".tar", "archive", "archives", "个压缩包", {"unpack them", "请先解压"}},
    {"", ".zip", "archive", "archives", "个压缩包", {"unpack them", "请先解压"}},
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

static void put_strangers(ps_lang lang, const ps_cluster *c, ps_buf *out) {
    for (size_t k = 0; k < PS_N_STRANGERS; k++) {
        size_t n = c->n_strangers[k];
        if (n > 0 && c->strangers[k] != NULL) {
            const char *kind = n == 1 ? KINDS[k].one : KINDS[k].many;
            ps_buf_addf(out, PS_SAY(lang, "%s%zu %s (%s%s): %s", "%s%zu %s（%s%s）：%s"),
                        out->len > 0 ? PS_SAY(lang, "; ", "；") : "", n,
                        PS_SAY(lang, kind, KINDS[k].chinese),
                        n == 1 ? "" : PS_SAY(lang, "first ", "第一个为 "), c->strangers[k],
                        KINDS[k].remedy[lang]);
        }
    }
}

void ps_cluster_say_strangers(ps_cluster *c) {
    ps_buf texts[PS_N_LANGS] = {{0}};
    for (int lang = 0; lang < PS_N_LANGS; lang++) {
        put_strangers((ps_lang)lang, c, &texts[lang]);
    }
    if (texts[PS_ENGLISH].len > 0) {
        (void)ps_cluster_say(c, texts, &c->instead); /* without memory nothing is known */
        return;
    }
    for (int lang = 0; lang < PS_N_LANGS; lang++) {
        ps_buf_fini(&texts[lang]);
    }
}
