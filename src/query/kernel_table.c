#include "query/kernel_table.h"

#include <math.h>
#include <string.h>

#include "analyze/rank/kernel_class.h"
#include "analyze/rank/kernel_facts.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "query/schema.h"

typedef struct kernel_row {
    int64_t rank, device, step, start_ns, dur_ns, end_ns, profile;
    uint32_t slice, track, call, op;
    const char *name, *type, *class, *core, *op_name, *module, *shapes;
    double flops, mfu_percent;
} kernel_row;

#define X(id, its_name, type, hidden, text) {.name = its_name, PS_FIELD(kernel_row, id)},
static const ps_column COLUMNS[] = {PS_SQL_KERNEL_COLUMNS(X)};
#undef X

typedef struct kernels {
    ps_sql_part *part;
    const ps_mfu *mfu;
    const ps_module_tree *modules; /* NULL: none are marked */
    ps_kernel_source source;
    uint32_t *slices;          /* [n] */
    uint8_t *classes;          /* [n] ps_kernel_class_number */
    const char **class_names;  /* [PS_N_CLASSES] */
    const char **module_paths; /* [nodes of the modules] */
    size_t n;
    ps_arena texts;
} kernels;

_Static_assert(PS_N_CLASSES <= UINT8_MAX, "a class is a byte");

static void free_kernels(void *context) {
    kernels *k = context;
    if (k != NULL) {
        ps_kernel_source_fini(&k->source);
        ps_free(k->slices);
        ps_free(k->classes);
        ps_free(k->class_names);
        ps_free(k->module_paths);
        ps_arena_fini(&k->texts);
        ps_free(k);
    }
}

/* --- a row ------------------------------------------------------------------------------------------------------- */

static const char *text_or_null(const kernels *k, ps_str s) {
    return ps_str_is_none(s) ? NULL : ps_trace_text(k->part->trace, s);
}

static const char *module_of(const kernels *k, uint32_t slice) {
    uint32_t launcher = k->modules != NULL ? ps_module_launcher(k->modules->links, slice) : PS_NONE;
    uint32_t call = launcher != PS_NONE ? k->modules->call_of[launcher] : PS_NONE;
    return call != PS_NONE ? k->module_paths[k->modules->calls[call].node] : NULL;
}

static void fill_kernel(const void *context, size_t at, void *out) {
    const kernels *k = context;
    const ps_trace *t = k->part->trace;
    const ps_slices *s = ps_trace_slices(t);
    size_t n_tracks = 0;
    uint32_t i = k->slices[at];
    uint32_t op = k->part->links->op[i];
    ps_kernel_facts facts;
    ps_kernel_facts_read(&k->source, i, &facts);
    ps_kernel_flops flops = ps_mfu_of(k->mfu, i);
    double ratio = ps_mfu_ratio(flops, s->dur_ns[i]);
    int64_t device = ps_trace_tracks(t, &n_tracks)[s->track[i]].device;
    int64_t step = ps_links_step(k->part->links, i);
    (void)ps_trace_steps(t, &n_tracks);
    *(kernel_row *)out = (kernel_row){
        .rank = k->part->rank->rank,
        .slice = i,
        .name = ps_trace_text(t, s->name[i]),
        .type = text_or_null(k, facts.type),
        .class = k->class_names[k->classes[at]],
        .core = text_or_null(k, facts.core),
        .device = device >= 0 ? device : PS_UNKNOWN_INT,
        .track = s->track[i],
        .step = n_tracks == 0 || step == PS_STEP_OUTSIDE ? PS_UNKNOWN_INT : step,
        .start_ns = s->start_ns[i] + ps_trace_origin_ns(t),
        .dur_ns = s->dur_ns[i],
        .end_ns = ps_slice_end(s, i) + ps_trace_origin_ns(t),
        .call = k->part->links->call[i],
        .op = op,
        .op_name = op != PS_NONE ? ps_trace_text(t, s->name[op]) : NULL,
        .module = module_of(k, i),
        .shapes = text_or_null(k, facts.shapes),
        .flops = flops.flops > 0 ? flops.flops : NAN,
        .mfu_percent = ratio > 0 ? 100 * ratio : NAN,
        .profile = (int64_t)k->part->index,
    };
}

/* --- the table --------------------------------------------------------------------------------------------------- */

static bool list_kernels(kernels *k) {
    const ps_slices *s = ps_trace_slices(k->part->trace);
    ps_classifier classifier;
    bool ok = ps_classifier_init(&classifier, k->part->links);
    for (uint32_t i = 0; i < s->n; i++) {
        k->n += s->kind[i] == PS_SLICE_KERNEL;
    }
    k->slices = ps_calloc(k->n + 1, sizeof *k->slices);
    k->classes = ps_calloc(k->n + 1, sizeof *k->classes);
    ok = ok && k->slices != NULL && k->classes != NULL;
    size_t n = 0;
    for (uint32_t i = 0; i < s->n && ok; i++) {
        if (s->kind[i] == PS_SLICE_KERNEL) {
            ps_kernel_class class = {0};
            ok = ps_classify(&classifier, i, &class);
            k->classes[n] = (uint8_t)ps_kernel_class_number(class);
            k->slices[n++] = i;
        }
    }
    ps_classifier_fini(&classifier);
    return ok;
}

/* "Matmul/Cube" */
static bool name_classes(kernels *k) {
    k->class_names = ps_calloc(PS_N_CLASSES, sizeof *k->class_names);
    bool ok = k->class_names != NULL;
    for (size_t number = 0; number < PS_N_CLASSES && ok; number++) {
        const char *path[PS_CLASS_LEVELS];
        ps_buf text = {0};
        ps_kernel_class_path(ps_kernel_class_of_number(number), path);
        for (size_t level = 0; level < PS_CLASS_LEVELS && path[level] != NULL; level++) {
            ps_buf_addf(&text, "%s%s", level > 0 ? "/" : "", path[level]);
        }
        k->class_names[number] =
            ps_buf_ok(&text) ? ps_arena_strndup(&k->texts, ps_buf_str(&text), text.len) : NULL;
        ok = k->class_names[number] != NULL;
        ps_buf_fini(&text);
    }
    return ok;
}

static bool name_modules(kernels *k) {
    enum { PATH_BYTES = 1024 };
    size_t n = k->modules != NULL ? k->modules->n_nodes : 0;
    k->module_paths = ps_calloc(n + 1, sizeof *k->module_paths);
    bool ok = k->module_paths != NULL;
    for (uint32_t node = 0; node < n && ok; node++) {
        char path[PATH_BYTES];
        ps_module_path(k->modules, node, path, sizeof path);
        k->module_paths[node] = ps_arena_strndup(&k->texts, path, strlen(path));
        ok = k->module_paths[node] != NULL;
    }
    return ok;
}

ps_table *ps_kernel_table_make(ps_sql_part *part, ps_err *err) {
    kernels *k = ps_calloc(1, sizeof *k);
    bool ok = k != NULL;
    if (ok) {
        k->part = part;
        k->mfu = ps_derived_mfu(part->derived, err);
        ps_err no_modules = PS_ERR_INIT;
        ps_code code = ps_derived_modules(part->derived, false, &k->modules, &no_modules);
        ok = ps_kernel_source_init(&k->source, part->links) && k->mfu != NULL && code != PS_NOMEM &&
             list_kernels(k) && name_classes(k) && name_modules(k);
    }
    if (!ok || k->n == 0) {
        free_kernels(k);
        (void)(ok ? ps_fail(err, PS_NOTHING, "no kernels: " PS_OVERLAP_RECORD_DEVICE)
                  : ps_fail_nomem(err));
        return NULL;
    }
    ps_table *t = ps_table_new_made("kernel", "", PS_COLUMNS(COLUMNS), k->n,
                                    (ps_row_maker){.fill = fill_kernel,
                                                   .row_size = sizeof(kernel_row),
                                                   .context = k,
                                                   .free_context = free_kernels});
    if (t == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    t->names_fixed = true;
    return t;
}
