/* pipescope.job in C: what pipescope/_jobs.py does, which has all that is unusual. */
#include "extension.h"

/* What bind_jobs() was told, of pipescope/_jobs.py. */
static struct {
    PyObject *messages;    /* dict: (kind, microbatch) -> text */
    PyObject *new_message; /* ((kind, microbatch)): text */
    PyObject *wants_log;   /* (): whether jobs are also logged as Paddle does */
    PyObject *begin_line;  /* (kind, microbatch): the line of a job, for end_line */
    PyObject *end_line;    /* (line) */
    bool window_is_open;   /* lines are wanted even where nothing records */
    bool logs;             /* what wants_log() said */
    uint32_t asked_in;     /* in this recording */
} jobs;

static PyObject *str_kind, *str_microbatch;

/* --- job ------------------------------------------------------------------------------------------------------------- */

/* A range as of annotate, which may also be a line of a log. */
typedef struct job {
    annotation range;
    PyObject *kind, *microbatch;
    PyObject *line; /* of the log, NULL none */
} job;

/* Messages that were used lately, by the very objects: kinds are literals, and small numbers are one object each. */
enum { N_LATELY = 64 };
static struct lately { PyObject *kind, *microbatch, *message; /* references */ } lately[N_LATELY];

static struct lately *place_of(const job *self) {
    uintptr_t kind = (uintptr_t)self->kind;
    uintptr_t microbatch = (uintptr_t)self->microbatch;
    return &lately[(kind / 64 + microbatch / 32) % N_LATELY];
}

static void forget_lately(void) {
    for (size_t i = 0; i < N_LATELY; i++) {
        Py_CLEAR(lately[i].kind);
        Py_CLEAR(lately[i].microbatch);
        Py_CLEAR(lately[i].message);
    }
}

/* A new reference. */
static PyObject *look_up_message(const job *self) {
    PyObject *key = PyTuple_Pack(2, self->kind, self->microbatch);
    PyObject *message = key == NULL ? NULL : PyDict_GetItemWithError(jobs.messages, key);
    if (message != NULL) {
        Py_INCREF(message);
    } else if (key != NULL && !PyErr_Occurred()) {
        message = PyObject_CallFunctionObjArgs(jobs.new_message, key, NULL);
    }
    Py_XDECREF(key);
    return message;
}

/* Its message, where it was given none. False with an exception. */
static bool name_job(job *self) {
    if (jobs.messages == NULL || self->kind == NULL || self->microbatch == NULL) {
        PyErr_SetString(PyExc_AttributeError, "kind or microbatch of job is missing");
        return false;
    }
    struct lately *l = place_of(self);
    if (l->kind == self->kind && l->microbatch == self->microbatch) {
        ps_extension_set(&self->range.message, l->message);
        return true;
    }
    PyObject *message = look_up_message(self);
    if (message == NULL) {
        return false;
    }
    ps_extension_set(&self->range.message, message);
    if (PyUnicode_CheckExact(self->kind) &&
        (self->microbatch == Py_None || PyLong_CheckExact(self->microbatch))) {
        ps_extension_set(&l->kind, self->kind);
        ps_extension_set(&l->microbatch, self->microbatch);
        ps_extension_set(&l->message, message);
    }
    Py_DECREF(message);
    return true;
}

static int job_init(PyObject *object, PyObject *args, PyObject *keywords) {
    static const signature ANY = {
        "job", 4, 1, {&str_kind, &str_microbatch, &ps_str_stream, &ps_str_message}};
    job *self = (job *)object;
    PyObject *given[MAX_ARGUMENTS] = {NULL};
    if (!ps_extension_take_tuple(&ANY, args, keywords, given)) {
        return -1;
    }
    ps_extension_set(&self->range.message, given[3] != NULL ? given[3] : Py_None);
    ps_extension_set(&self->range.stream, given[2] != NULL ? given[2] : ps_str_current);
    ps_extension_set(&self->range.domain, ps_str_default);
    ps_extension_set(&self->kind, given[0]);
    ps_extension_set(&self->microbatch, given[1] != NULL ? given[1] : Py_None);
    self->range.n_open = 0;
    return 0;
}

static int job_traverse(PyObject *object, visitproc visit, void *arg) {
    job *self = (job *)object;
    Py_VISIT(self->kind);
    Py_VISIT(self->microbatch);
    Py_VISIT(self->line);
    return ps_annotate_traverse(object, visit, arg);
}

static int job_clear(PyObject *object) {
    job *self = (job *)object;
    Py_CLEAR(self->kind);
    Py_CLEAR(self->microbatch);
    Py_CLEAR(self->line);
    return ps_annotate_clear(object);
}

static void job_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    (void)job_clear(object);
    ps_annotate_dealloc(object);
}

/* Whether jobs are logged, too: asked once a recording. -1 with an exception. */
static int logs_jobs(uint32_t generation) {
    if (generation != 0 && generation == jobs.asked_in) {
        return jobs.logs;
    }
    PyObject *said =
        jobs.wants_log == NULL ? NULL : PyObject_CallFunctionObjArgs(jobs.wants_log, NULL);
    int logs = said == NULL ? -1 : PyObject_IsTrue(said);
    Py_XDECREF(said);
    if (logs >= 0) {
        jobs.logs = logs == 1;
        jobs.asked_in = generation;
    }
    return logs;
}

/* False with an exception. */
static bool begin_line(job *self) {
    PyObject *line =
        PyObject_CallFunctionObjArgs(jobs.begin_line, self->kind, self->microbatch, NULL);
    if (line == NULL) {
        return false;
    }
    Py_CLEAR(self->line);
    if (line == Py_None) {
        Py_DECREF(line);
    } else {
        self->line = line;
    }
    return true;
}

static PyObject *job_enter(PyObject *object, PyObject *unused) {
    job *self = (job *)object;
    uint32_t generation = ps_extension_recording();
    if (generation == 0 && !jobs.window_is_open) {
        if (!ps_extension_keep_open(&self->range, 0)) {
            return NULL;
        }
        Py_INCREF(object);
        return object;
    }
    if (self->range.message == Py_None && !name_job(self)) {
        return NULL;
    }
    int logs = logs_jobs(generation);
    if (logs < 0 || (logs == 1 && !begin_line(self))) {
        return NULL;
    }
    return ps_annotate_enter(object, unused);
}

static PyObject *job_exit(PyObject *object, PyObject *const *args, Py_ssize_t n) {
    job *self = (job *)object;
    PyObject *result = ps_annotate_exit(object, args, n);
    if (result == NULL || self->line == NULL) {
        return result;
    }
    PyObject *line = self->line;
    self->line = NULL;
    PyObject *none =
        jobs.end_line == NULL ? NULL : PyObject_CallFunctionObjArgs(jobs.end_line, line, NULL);
    Py_DECREF(line);
    if (none == NULL && PyErr_Occurred()) {
        Py_DECREF(result);
        return NULL;
    }
    Py_XDECREF(none);
    return result;
}

static PyMethodDef job_methods[] = {
    {"__enter__", job_enter, METH_NOARGS, NULL},
    {"__exit__", FUNCTION(job_exit), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef job_members[] = {
    {"kind", T_OBJECT_EX, offsetof(job, kind), 0, NULL},
    {"microbatch", T_OBJECT_EX, offsetof(job, microbatch), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static char job_doc[] =
    "job(kind, microbatch=None, stream='current', message=None)\n--\n\n"
    "One job around the body of a with statement, for loops that no adapter knows.\n\n"
    "kind: \"forward\", \"backward\", \"backward_w\", \"optimizer\" ...; microbatch: its number, None when not known. `message`: the\n"
    "range's name, by default {'name': kind, 'current_microbatch': microbatch}.";

__extension__ static PyType_Slot job_slots[] = {
    {Py_tp_doc, job_doc},
    {Py_tp_init, (void *)job_init},
    {Py_tp_traverse, (void *)job_traverse},
    {Py_tp_clear, (void *)job_clear},
    {Py_tp_dealloc, (void *)job_dealloc},
    {Py_tp_methods, job_methods},
    {Py_tp_members, job_members},
    {0, NULL},
};

PyType_Spec ps_extension_job_spec = {
    .name = "pipescope.job",
    .basicsize = sizeof(job),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .slots = job_slots,
};

/* --- for the module -------------------------------------------------------------------------------------------------- */

bool ps_extension_job_texts(void) {
    static const ps_text TEXTS[] = {{&str_kind, "kind"}, {&str_microbatch, "microbatch"}};
    return ps_extension_texts(TEXTS, sizeof TEXTS / sizeof *TEXTS);
}

static PyObject **const HELD_OF_JOBS[] = {&jobs.messages, &jobs.new_message, &jobs.wants_log,
                                          &jobs.begin_line, &jobs.end_line};
enum { N_HELD_OF_JOBS = sizeof HELD_OF_JOBS / sizeof *HELD_OF_JOBS };

void ps_extension_unbind_jobs(void) {
    forget_lately();
    for (size_t i = 0; i < N_HELD_OF_JOBS; i++) {
        Py_CLEAR(*HELD_OF_JOBS[i]);
    }
}

PyObject *ps_extension_bind_jobs(PyObject *module, PyObject *args) {
    PyObject *given[N_HELD_OF_JOBS];
    (void)module;
    if (!PyArg_ParseTuple(args, "O!OOOO:bind_jobs", &PyDict_Type, &given[0], &given[1], &given[2],
                          &given[3], &given[4])) {
        return NULL;
    }
    for (size_t i = 0; i < N_HELD_OF_JOBS; i++) {
        ps_extension_set(HELD_OF_JOBS[i], given[i]);
    }
    jobs.asked_in = 0;
    Py_RETURN_NONE;
}

PyObject *ps_extension_set_window(PyObject *module, PyObject *is_open) {
    (void)module;
    int open = PyObject_IsTrue(is_open);
    if (open < 0) {
        return NULL;
    }
    jobs.window_is_open = open == 1;
    Py_RETURN_NONE;
}
