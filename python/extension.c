/* pipescope._recorder: the calls of pipescope.mstx that programs make often, without ctypes, and pipescope.job. Optional: setup.py
 * builds it where Python.h is there, and pipescope/mstx.py and pipescope/_jobs.py, which have the same through ctypes, put these in
 * their place.
 *
 *     recording?        one word of the library; else return
 *     usual arguments   message a str, domain one that was seen before, stream None, a handle, or the host's: straight into the
 *                       library, which Python has loaded already and whose functions bind() was told
 *     anything else     the function of mstx.py of the same name, which judges, warns and records. Nothing is decided twice
 *
 * One interpreter of a process has it (what it holds is static); in others the import fails and ctypes does the work. All
 * of it runs under the interpreter's lock, so it is not built for Pythons without one. From Python 3.10 on the stable ABI serves;
 * before, it lacks the quick way to hand over arguments. */
#include "extension.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t off;

/* What bind() was told. The functions are mstx's own, as of the library's src/record/mstx/mstx_abi.h; handles of domains and streams are
 * plain addresses. */
static struct {
    const volatile uint32_t *word; /* not 0 while recording, another number in each recording */
    void (*mark)(void *domain, const char *message, void *stream);
    uint64_t (*start)(void *domain, const char *message, void *stream);
    void (*end)(void *domain, uint64_t id);
    PyObject *domains;     /* dict: name -> handle as an int; grown by mstx.py */
    PyObject *modules;     /* sys.modules */
    PyObject *streams;     /* the names of pipescope._streams */
    PyObject *slow_mark;   /* (message, stream, domain) */
    PyObject *slow_start;  /* (message, stream, domain): id */
    PyObject *slow_end;    /* (id, domain) */
    PyObject *slow_domain; /* (domain): complains of what is none */
    PyObject *handle_of;   /* (stream): its handle as an int, or None */
    PyObject *wrap;        /* mstx.wrap */
    int64_t interpreter;   /* its number + 1; 0: nobody has it */
    const void *module;    /* which of its modules, when it imported several */
} g = {.word = &off};

/* Texts that programs have as literals are these very objects. */
PyObject *ps_str_default, *ps_str_current, *ps_str_message, *ps_str_stream;
static PyObject *str_torch, *str_without_cuda, *str_annotate, *str_name;
static PyObject *str_domain, *str_range_id;

uint32_t ps_extension_recording(void) {
    return *g.word;
}

/* --- arguments ------------------------------------------------------------------------------------------------------- */

static const signature EVENT = {"", 3, 1, {&ps_str_message, &ps_str_stream, &str_domain}};
static const signature END = {"range_end", 2, 1, {&str_range_id, &str_domain}};
static const signature POP = {"range_pop", 1, 0, {&str_domain}};

static int keyword_index(const signature *s, PyObject *keyword) {
    for (int i = 0; i < s->n; i++) {
        if (*s->keywords[i] == keyword) {
            return i;
        }
    }
    for (int i = 0; i < s->n; i++) {
        if (PyUnicode_Compare(*s->keywords[i], keyword) == 0) {
            return i;
        }
    }
    return -1;
}

static bool take_keyword(const signature *s, const char *name, PyObject *keyword, PyObject *value,
                         PyObject **out) {
    int i = keyword_index(s, keyword);
    if (i >= 0 && out[i] == NULL) {
        out[i] = value;
        return true;
    }
    if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_TypeError,
                     i < 0 ? "%s() got an unexpected keyword argument '%S'"
                           : "%s() got multiple values for argument '%S'",
                     name, keyword);
    }
    return false;
}

static bool enough(const signature *s, const char *name, PyObject *const *out) {
    for (int i = 0; i < s->n_needed; i++) {
        if (out[i] == NULL) {
            PyErr_Format(PyExc_TypeError, "%s() missing 1 required positional argument: '%S'", name,
                         *s->keywords[i]);
            return false;
        }
    }
    return true;
}

static bool too_many(const signature *s, const char *name, Py_ssize_t n) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most %d arguments but %zd were given", name, s->n,
                 n);
    return false;
}

/* Borrowed references; NULL for what was not given. False with an exception. */
static bool take_arguments(const signature *s, const char *name, PyObject *const *args,
                           Py_ssize_t n, PyObject *keywords, PyObject **out) {
    if (n > s->n) {
        return too_many(s, name, n);
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        out[i] = args[i];
    }
    Py_ssize_t n_keywords = keywords == NULL ? 0 : PyTuple_Size(keywords);
    for (Py_ssize_t i = 0; i < n_keywords; i++) {
        if (!take_keyword(s, name, PyTuple_GetItem(keywords, i), args[n + i], out)) {
            return false;
        }
    }
    return enough(s, name, out);
}

/* --- what the library wants ------------------------------------------------------------------------------------------ */

typedef enum answer { USUAL, UNUSUAL, RAISED } answer;

/* After a call of Python that failed: mstx.py swallows errors and says them, but lets the program be interrupted. */
static answer failed(void) {
    if (PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear();
        return UNUSUAL;
    }
    return RAISED;
}

/* NULL for what is no message, or no UTF-8: not for here. */
static const char *usual_message(PyObject *message) {
    if (!PyUnicode_CheckExact(message)) {
        return NULL;
    }
    Py_ssize_t n = 0;
    const char *bytes = PyUnicode_AsUTF8AndSize(message, &n); /* kept by the object */
    if (bytes == NULL) {
        PyErr_Clear();
    }
    return n > 0 ? bytes : NULL;
}

static answer usual_domain(PyObject *domain, void **out) {
    *out = NULL;
    if (domain == NULL || domain == ps_str_default) {
        return USUAL;
    }
    PyObject *handle = PyDict_GetItemWithError(g.domains, domain); /* borrowed */
    if (handle == NULL) {
        return PyErr_Occurred() ? failed() : UNUSUAL;
    }
    *out = PyLong_AsVoidPtr(handle);
    return USUAL;
}

/* Whether PyTorch's current stream needs no asking for: there is no PyTorch, or none with CUDA (pipescope/_streams.py). */
static bool current_is_hosts(void) {
    PyObject *torch = PyDict_GetItemWithError(g.modules, str_torch);
    if (torch == NULL) {
        return !PyErr_Occurred();
    }
    return torch == PyDict_GetItemWithError(g.streams, str_without_cuda);
}

static answer usual_stream(PyObject *stream, void **out) {
    *out = NULL;
    if (stream == NULL || stream == Py_None) {
        return USUAL;
    }
    if (stream == ps_str_current) {
        if (current_is_hosts()) {
            *out = (void *)1;
            return USUAL;
        }
        PyErr_Clear();
    } else if (PyLong_CheckExact(stream)) {
        unsigned long long handle = PyLong_AsUnsignedLongLong(stream);
        if (handle == (unsigned long long)-1 && PyErr_Occurred()) {
            return failed();
        }
        *out = (void *)(uintptr_t)(handle == 0 ? 1 : handle); /* PyTorch's default stream */
        return USUAL;
    }
    PyObject *handle = PyObject_CallFunctionObjArgs(g.handle_of, stream, NULL);
    if (handle == NULL) {
        return failed();
    }
    *out = handle == Py_None ? NULL : PyLong_AsVoidPtr(handle);
    Py_DECREF(handle);
    return PyErr_Occurred() ? failed() : USUAL;
}

typedef struct event {
    const char *message;
    void *domain, *stream;
} event;

static answer usual_event(PyObject *const *args, event *out) {
    out->message = usual_message(args[0]);
    if (out->message == NULL) {
        return UNUSUAL;
    }
    answer domain = usual_domain(args[2], &out->domain);
    return domain != USUAL ? domain : usual_stream(args[1], &out->stream);
}

static PyObject *call_slowly(PyObject *function, PyObject *const *args) {
    return PyObject_CallFunctionObjArgs(function, args[0], args[1] != NULL ? args[1] : Py_None,
                                        args[2] != NULL ? args[2] : ps_str_default, NULL);
}

/* --- events ---------------------------------------------------------------------------------------------------------- */

/* What a function has to give back, 0 when nothing was recorded. False with an exception. */
static bool start_range(PyObject *const *args, uint64_t *id) {
    event e;
    answer a = usual_event(args, &e);
    if (a == USUAL) {
        *id = g.start(e.domain, e.message, e.stream);
        return true;
    }
    PyObject *said = a == RAISED ? NULL : call_slowly(g.slow_start, args);
    if (said == NULL) {
        return false;
    }
    *id = PyLong_AsUnsignedLongLong(said);
    Py_DECREF(said);
    return !PyErr_Occurred();
}

static bool end_slowly(PyObject *id, PyObject *domain) {
    PyObject *none = PyObject_CallFunctionObjArgs(g.slow_end, id,
                                                  domain != NULL ? domain : ps_str_default, NULL);
    Py_XDECREF(none);
    return none != NULL;
}

/* Of a range that was recorded. */
static bool end_range(uint64_t id, PyObject *domain) {
    void *handle;
    answer a = usual_domain(domain, &handle);
    if (a == USUAL) {
        g.end(handle, id);
        return true;
    }
    PyObject *number = a == RAISED ? NULL : PyLong_FromUnsignedLongLong(id);
    bool done = number != NULL && end_slowly(number, domain);
    Py_XDECREF(number);
    return done;
}

static PyObject *mark(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *keywords) {
    PyObject *given[MAX_ARGUMENTS] = {NULL};
    (void)module;
    if (!take_arguments(&EVENT, "mark", args, n, keywords, given)) {
        return NULL;
    }
    if (ps_extension_recording() == 0) {
        Py_RETURN_NONE;
    }
    event e;
    answer a = usual_event(given, &e);
    if (a == USUAL) {
        g.mark(e.domain, e.message, e.stream);
        Py_RETURN_NONE;
    }
    return a == RAISED ? NULL : call_slowly(g.slow_mark, given);
}

static PyObject *range_start(PyObject *module, PyObject *const *args, Py_ssize_t n,
                             PyObject *keywords) {
    PyObject *given[MAX_ARGUMENTS] = {NULL};
    uint64_t id = 0;
    (void)module;
    if (!take_arguments(&EVENT, "range_start", args, n, keywords, given)) {
        return NULL;
    }
    if (ps_extension_recording() != 0 && !start_range(given, &id)) {
        return NULL;
    }
    return PyLong_FromUnsignedLongLong(id);
}

static PyObject *range_end(PyObject *module, PyObject *const *args, Py_ssize_t n,
                           PyObject *keywords) {
    PyObject *given[MAX_ARGUMENTS] = {NULL};
    (void)module;
    if (!take_arguments(&END, "range_end", args, n, keywords, given)) {
        return NULL;
    }
    if (ps_extension_recording() == 0) {
        Py_RETURN_NONE;
    }
    unsigned long long id = (unsigned long long)-1;
    if (PyLong_CheckExact(given[0])) {
        id = PyLong_AsUnsignedLongLong(given[0]);
        if (id == (unsigned long long)-1) {
            PyErr_Clear(); /* negative, or too large: no id that was ever given */
        }
    }
    bool done = id == 0                        ? true
                : id == (unsigned long long)-1 ? end_slowly(given[0], given[1])
                                               : end_range(id, given[1]);
    if (!done) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* --- push and pop ---------------------------------------------------------------------------------------------------- */

/* The open ranges of a thread, over all domains. Those of an earlier recording are forgotten when a new one is met. */
typedef struct pushed {
    uint64_t id;
    void *domain;
    long level; /* below it in the same domain */
} pushed;

typedef struct stack {
    uint32_t recording; /* of which they are */
    size_t n, cap;
    pushed *ranges;
} stack;

static _Thread_local stack *this_stack;
static pthread_key_t stack_key; /* its destructor frees the stack of a thread that ends */
static bool has_stack_key;

static void free_stack(void *of_thread) {
    stack *s = of_thread;
    this_stack = NULL;
    free(s->ranges);
    free(s);
}

/* With room for one more; NULL when memory is out. */
static stack *own_stack(uint32_t generation) {
    stack *s = this_stack;
    if (s == NULL) {
        s = calloc(1, sizeof *s);
        if (s == NULL) {
            return NULL;
        }
        if (has_stack_key) {
            (void)pthread_setspecific(stack_key, s);
        }
        this_stack = s;
    }
    if (s->recording != generation) {
        s->recording = generation;
        s->n = 0;
    }
    if (s->n == s->cap) {
        size_t cap = s->cap == 0 ? 32 : 2 * s->cap;
        pushed *more = realloc(s->ranges, cap * sizeof *more);
        if (more == NULL) {
            return NULL;
        }
        s->ranges = more;
        s->cap = cap;
    }
    return s;
}

/* Its place + 1; 0 when the domain has none. */
static size_t innermost(const stack *s, const void *domain) {
    size_t i = s->n;
    while (i > 0 && s->ranges[i - 1].domain != domain) {
        i--;
    }
    return i;
}

static PyObject *range_push(PyObject *module, PyObject *const *args, Py_ssize_t n,
                            PyObject *keywords) {
    PyObject *given[MAX_ARGUMENTS] = {NULL};
    uint64_t id = 0;
    (void)module;
    if (!take_arguments(&EVENT, "range_push", args, n, keywords, given)) {
        return NULL;
    }
    uint32_t generation = ps_extension_recording();
    if (generation == 0) {
        return PyLong_FromLong(-1);
    }
    if (!start_range(given, &id)) {
        return NULL;
    }
    void *domain;
    if (id == 0 || usual_domain(given[2], &domain) != USUAL) {
        return PyErr_Occurred() ? NULL : PyLong_FromLong(-1);
    }
    stack *s = own_stack(generation);
    if (s == NULL) {
        g.end(domain, id);
        return PyLong_FromLong(-1);
    }
    size_t below = innermost(s, domain);
    long level = below == 0 ? 0 : s->ranges[below - 1].level + 1;
    s->ranges[s->n++] = (pushed){.id = id, .domain = domain, .level = level};
    return PyLong_FromLong(level);
}

/* For a domain in which the thread has nothing open. */
static PyObject *nothing_to_pop(PyObject *domain) {
    PyObject *none = PyObject_CallFunctionObjArgs(g.slow_domain, domain, NULL);
    if (none == NULL) {
        return NULL;
    }
    Py_DECREF(none);
    return PyLong_FromLong(-1);
}

static PyObject *range_pop(PyObject *module, PyObject *const *args, Py_ssize_t n,
                           PyObject *keywords) {
    PyObject *given[MAX_ARGUMENTS] = {NULL};
    (void)module;
    if (!take_arguments(&POP, "range_pop", args, n, keywords, given)) {
        return NULL;
    }
    uint32_t generation = ps_extension_recording();
    stack *s = this_stack;
    if (generation == 0 || s == NULL || s->recording != generation) {
        return PyLong_FromLong(-1);
    }
    void *domain;
    answer a = usual_domain(given[0], &domain);
    if (a == RAISED) {
        return NULL;
    }
    size_t at = a == USUAL ? innermost(s, domain) : 0;
    if (at == 0) {
        return a == USUAL ? PyLong_FromLong(-1) : nothing_to_pop(given[0]);
    }
    pushed top = s->ranges[at - 1];
    memmove(&s->ranges[at - 1], &s->ranges[at], (s->n - at) * sizeof top);
    s->n--;
    g.end(domain, top.id);
    return PyLong_FromLong(top.level);
}

/* --- annotate -------------------------------------------------------------------------------------------------------- */

static PyObject *annotate_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)args;
    (void)keywords;
    __extension__ allocfunc make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    annotation *self = (annotation *)make(type, 0);
    if (self != NULL) {
        self->open = self->few;
        self->cap = FEW_OPEN;
    }
    return (PyObject *)self;
}

void ps_extension_set(PyObject **place, PyObject *value) {
    PyObject *old = *place;
    Py_INCREF(value);
    *place = value;
    Py_XDECREF(old);
}

/* Of a constructor: as take_arguments(). */
bool ps_extension_take_tuple(const signature *s, PyObject *args, PyObject *keywords,
                             PyObject **out) {
    Py_ssize_t n = PyTuple_Size(args);
    if (n > s->n) {
        return too_many(s, s->name, n);
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        out[i] = PyTuple_GetItem(args, i);
    }
    Py_ssize_t at = 0;
    PyObject *keyword;
    PyObject *value;
    while (keywords != NULL && PyDict_Next(keywords, &at, &keyword, &value)) {
        if (!take_keyword(s, s->name, keyword, value, out)) {
            return false;
        }
    }
    return enough(s, s->name, out);
}

static int annotate_init(PyObject *object, PyObject *args, PyObject *keywords) {
    static const signature ANY = {"annotate", 3, 0, {&ps_str_message, &ps_str_stream, &str_domain}};
    annotation *self = (annotation *)object;
    PyObject *given[MAX_ARGUMENTS] = {NULL};
    if (!ps_extension_take_tuple(&ANY, args, keywords, given)) {
        return -1;
    }
    if (given[0] == NULL) {
        PyObject *empty = PyUnicode_FromStringAndSize(NULL, 0);
        if (empty == NULL) {
            return -1;
        }
        ps_extension_set(&self->message, empty);
        Py_DECREF(empty);
    } else {
        ps_extension_set(&self->message, given[0]);
    }
    ps_extension_set(&self->stream, given[1] != NULL ? given[1] : Py_None);
    ps_extension_set(&self->domain, given[2] != NULL ? given[2] : ps_str_default);
    self->n_open = 0;
    return 0;
}

int ps_annotate_traverse(PyObject *object, visitproc visit, void *arg) {
    annotation *self = (annotation *)object;
#if PY_VERSION_HEX >= 0x03090000
    Py_VISIT(Py_TYPE(object));
#endif
    Py_VISIT(self->message);
    Py_VISIT(self->stream);
    Py_VISIT(self->domain);
    return 0;
}

int ps_annotate_clear(PyObject *object) {
    annotation *self = (annotation *)object;
    Py_CLEAR(self->message);
    Py_CLEAR(self->stream);
    Py_CLEAR(self->domain);
    return 0;
}

void ps_annotate_dealloc(PyObject *object) {
    annotation *self = (annotation *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    (void)ps_annotate_clear(object);
    if (self->open != self->few) {
        PyMem_Free(self->open);
    }
    __extension__ freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static bool is_whole(const annotation *self) {
    if (self->message == NULL || self->stream == NULL || self->domain == NULL) {
        PyErr_SetString(PyExc_AttributeError, "message, stream or domain of annotate is missing");
        return false;
    }
    return true;
}

bool ps_extension_keep_open(annotation *self, uint64_t id) {
    if (self->n_open == self->cap) {
        size_t cap = 2 * self->cap;
        bool few = self->open == self->few;
        uint64_t *more = PyMem_Realloc(few ? NULL : self->open, cap * sizeof *more);
        if (more == NULL) {
            (void)PyErr_NoMemory();
            return false;
        }
        if (few) {
            memcpy(more, self->few, sizeof self->few);
        }
        self->open = more;
        self->cap = cap;
    }
    self->open[self->n_open++] = id;
    return true;
}

PyObject *ps_annotate_enter(PyObject *object, PyObject *unused) {
    annotation *self = (annotation *)object;
    (void)unused;
    uint64_t id = 0;
    if (!is_whole(self)) {
        return NULL;
    }
    if (ps_extension_recording() != 0) {
        int has_message = PyObject_IsTrue(self->message);
        PyObject *args[] = {has_message == 1 ? self->message : str_annotate, self->stream,
                            self->domain};
        enum { N = sizeof args / sizeof *args };
        for (int i = 0; i < N; i++) {
            Py_INCREF(args[i]); /* what a stream's attribute runs may set ours */
        }
        bool done = has_message >= 0 && start_range(args, &id);
        for (int i = 0; i < N; i++) {
            Py_DECREF(args[i]);
        }
        if (!done) {
            return NULL;
        }
    }
    if (!ps_extension_keep_open(self, id)) {
        return NULL;
    }
    Py_INCREF(object);
    return object;
}

PyObject *ps_annotate_exit(PyObject *object, PyObject *const *args, Py_ssize_t n) {
    annotation *self = (annotation *)object;
    (void)args;
    (void)n;
    uint64_t id = self->n_open > 0 ? self->open[--self->n_open] : 0;
    if (id != 0 && ps_extension_recording() != 0) {
        if (!is_whole(self)) {
            return NULL;
        }
        PyObject *domain = self->domain;
        Py_INCREF(domain);
        bool done = end_range(id, domain);
        Py_DECREF(domain);
        if (!done) {
            return NULL;
        }
    }
    Py_RETURN_FALSE;
}

/* As a decorator: mstx.wrap does it, with the function's name when there is no message. */
static PyObject *annotate_call(PyObject *object, PyObject *args, PyObject *keywords) {
    annotation *self = (annotation *)object;
    if (!is_whole(self)) {
        return NULL;
    }
    if (PyTuple_Size(args) != 1 || (keywords != NULL && PyDict_Size(keywords) > 0)) {
        PyErr_SetString(PyExc_TypeError, "annotate decorates one function");
        return NULL;
    }
    PyObject *function = PyTuple_GetItem(args, 0);
    int has_message = PyObject_IsTrue(self->message);
    if (has_message < 0) {
        return NULL;
    }
    PyObject *message = self->message;
    if (has_message == 0) {
        message = PyObject_GetAttr(function, str_name);
        if (message == NULL) {
            if (!PyErr_ExceptionMatches(PyExc_AttributeError)) {
                return NULL;
            }
            PyErr_Clear();
            message = str_annotate;
            Py_INCREF(message);
        }
    } else {
        Py_INCREF(message);
    }
    PyObject *wrapped =
        PyObject_CallFunctionObjArgs(g.wrap, function, message, self->stream, self->domain, NULL);
    Py_DECREF(message);
    return wrapped;
}

/* For copies and pickles, as of a Python class with slots: they are objects of their own, with nothing open. */
static PyObject *annotate_getstate(PyObject *object, PyObject *unused) {
    const annotation *self = (annotation *)object;
    (void)unused;
    if (!is_whole(self)) {
        return NULL;
    }
    PyObject *more = PyObject_GetAttrString(object, "__dict__"); /* of a subclass */
    if (more == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) {
            return NULL;
        }
        PyErr_Clear();
        more = Py_None;
        Py_INCREF(more);
    }
    return Py_BuildValue("N{OOOOOO}", more, ps_str_message, self->message, ps_str_stream,
                         self->stream, str_domain, self->domain);
}

static PyMethodDef annotate_methods[] = {
    {"__getstate__", annotate_getstate, METH_NOARGS, NULL},
    {"__enter__", ps_annotate_enter, METH_NOARGS, NULL},
    {"__exit__", FUNCTION(ps_annotate_exit), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef annotate_members[] = {
    {"message", T_OBJECT_EX, offsetof(annotation, message), 0, NULL},
    {"stream", T_OBJECT_EX, offsetof(annotation, stream), 0, NULL},
    {"domain", T_OBJECT_EX, offsetof(annotation, domain), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static char annotate_doc[] =
    "annotate(message='', stream=None, domain='default')\n--\n\n"
    "A range around the body of a with statement, or, as a decorator, around each call of a function, whose name it takes\n"
    "when the message is empty.";

__extension__ static PyType_Slot annotate_slots[] = {
    {Py_tp_doc, annotate_doc},
    {Py_tp_new, (void *)annotate_new},
    {Py_tp_init, (void *)annotate_init},
    {Py_tp_traverse, (void *)ps_annotate_traverse},
    {Py_tp_clear, (void *)ps_annotate_clear},
    {Py_tp_dealloc, (void *)ps_annotate_dealloc},
    {Py_tp_call, (void *)annotate_call},
    {Py_tp_methods, annotate_methods},
    {Py_tp_members, annotate_members},
    {0, NULL},
};

static PyType_Spec annotate_spec = {
    .name = "pipescope.mstx.annotate",
    .basicsize = sizeof(annotation),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .slots = annotate_slots,
};

/* --- the module ------------------------------------------------------------------------------------------------------ */

static PyObject **const HELD[] = {&g.domains,     &g.modules,    &g.streams,
                                  &g.slow_mark,   &g.slow_start, &g.slow_end,
                                  &g.slow_domain, &g.handle_of,  &g.wrap};
enum { N_HELD = sizeof HELD / sizeof *HELD };

static PyObject *unbind(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    g.word = &off;
    for (size_t i = 0; i < N_HELD; i++) {
        Py_CLEAR(*HELD[i]);
    }
    ps_extension_unbind_jobs();
    Py_RETURN_NONE;
}

static PyObject *bind(PyObject *module, PyObject *args) {
    unsigned long long word, at_mark, at_start, at_end;
    PyObject *given[N_HELD];
    if (!PyArg_ParseTuple(args, "KKKKO!O!O!OOOOOO:bind", &word, &at_mark, &at_start, &at_end,
                          &PyDict_Type, &given[0], &PyDict_Type, &given[1], &PyDict_Type, &given[2],
                          &given[3], &given[4], &given[5], &given[6], &given[7], &given[8])) {
        return NULL;
    }
    if (word == 0 || at_mark == 0 || at_start == 0 || at_end == 0) {
        PyErr_SetString(PyExc_ValueError, "bind: an address is 0");
        return NULL;
    }
    Py_XDECREF(unbind(module, NULL));
    for (size_t i = 0; i < N_HELD; i++) {
        Py_INCREF(given[i]);
        *HELD[i] = given[i];
    }
    /* Addresses that the dynamic linker gave, of functions of these types. */
    void *const addresses[] = {(void *)(uintptr_t)at_mark, (void *)(uintptr_t)at_start,
                               (void *)(uintptr_t)at_end};
    memcpy(&g.mark, &addresses[0], sizeof g.mark);
    memcpy(&g.start, &addresses[1], sizeof g.start);
    memcpy(&g.end, &addresses[2], sizeof g.end);
    g.word = (const volatile uint32_t *)(uintptr_t)word;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"mark", FUNCTION(mark), METH_FASTCALL | METH_KEYWORDS,
     "mark($module, message, stream=None, domain='default')\n--\n\nA moment."},
    {"range_start", FUNCTION(range_start), METH_FASTCALL | METH_KEYWORDS,
     "range_start($module, message, stream=None, domain='default')\n--\n\n"
     "Begins a range, which any thread may end. Its id; 0 when it is not recorded."},
    {"range_end", FUNCTION(range_end), METH_FASTCALL | METH_KEYWORDS,
     "range_end($module, range_id, domain='default')\n--\n\n"
     "Ends a range in the domain it was begun in. 0 is no range."},
    {"range_push", FUNCTION(range_push), METH_FASTCALL | METH_KEYWORDS,
     "range_push($module, message, stream=None, domain='default')\n--\n\n"
     "Begins a range inside of those this thread has open in the domain. The depth before: 0 for the first; -1 when it is\n"
     "not recorded."},
    {"range_pop", FUNCTION(range_pop), METH_FASTCALL | METH_KEYWORDS,
     "range_pop($module, domain='default')\n--\n\n"
     "Ends the innermost range that this thread pushed in the domain. The depth after; -1 when there is none."},
    {"bind", bind, METH_VARARGS,
     "For mstx.py: the library's addresses, and what to call for all that is unusual."},
    {"bind_jobs", ps_extension_bind_jobs, METH_VARARGS,
     "For _jobs.py: what to call for texts and lines of jobs."},
    {"set_window", ps_extension_set_window, METH_O,
     "Whether a window of iterations is open: jobs are logged then, too."},
    {"unbind", unbind, METH_NOARGS, "Nothing is recorded any more."},
    {NULL, NULL, 0, NULL},
};

static int64_t interpreter_id(void) {
#if PY_VERSION_HEX >= 0x03090000
    return PyInterpreterState_GetID(PyInterpreterState_Get());
#else
    return PyInterpreterState_GetID(PyThreadState_Get()->interp);
#endif
}

static bool make_texts(void) {
    static const ps_text TEXTS[] = {
        {&ps_str_default, "default"}, {&ps_str_current, "current"},
        {&ps_str_message, "message"}, {&ps_str_stream, "stream"},
        {&str_torch, "torch"},        {&str_without_cuda, "_without_cuda"},
        {&str_annotate, "annotate"},  {&str_name, "__name__"},
        {&str_domain, "domain"},      {&str_range_id, "range_id"}};
    return ps_extension_texts(TEXTS, sizeof TEXTS / sizeof *TEXTS);
}

bool ps_extension_texts(const ps_text *texts, size_t n) {
    for (size_t i = 0; i < n; i++) {
        PyObject *text = PyUnicode_InternFromString(texts[i].text);
        if (text == NULL) {
            return false;
        }
        *texts[i].place = text; /* kept for good: programs have these texts too */
    }
    return true;
}

/* `base`: name of a type that the module has, or NULL. */
static bool add_type(PyObject *module, const char *name, PyType_Spec *spec, const char *base) {
    PyObject *over = base == NULL ? NULL : PyObject_GetAttrString(module, base);
    PyObject *bases = over == NULL ? NULL : PyTuple_Pack(1, over);
    PyObject *type = base != NULL && bases == NULL ? NULL : PyType_FromSpecWithBases(spec, bases);
    Py_XDECREF(over);
    Py_XDECREF(bases);
    if (type == NULL || PyModule_AddObject(module, name, type) != 0) {
        Py_XDECREF(type);
        return false;
    }
    return true;
}

static int fill_module(PyObject *module) {
    int64_t id = interpreter_id() + 1;
    if (g.interpreter != 0 && g.interpreter != id) {
        PyErr_SetString(PyExc_ImportError,
                        "another interpreter of this process has pipescope._recorder");
        return -1;
    }
    if (!make_texts() || !ps_extension_job_texts()) {
        return -1;
    }
    if (!add_type(module, "annotate", &annotate_spec, NULL) ||
        !add_type(module, "job", &ps_extension_job_spec, "annotate")) {
        return -1;
    }
    if (!has_stack_key) {
        has_stack_key = pthread_key_create(&stack_key, free_stack) == 0;
    }
    g.interpreter = id;
    g.module = module;
    return 0;
}

/* The interpreter ends; or another one was refused. */
static void free_module(void *module) {
    if (module == g.module) {
        Py_XDECREF(unbind(NULL, NULL));
        g.interpreter = 0;
        g.module = NULL;
    }
}

__extension__ static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)fill_module},
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "pipescope._recorder",
    .m_doc = "The calls of pipescope.mstx in C.",
    .m_methods = functions,
    .m_slots = slots,
    .m_free = free_module,
};

/* Python's own declaration makes it visible from 3.9 on only. */
__attribute__((visibility("default"))) PyMODINIT_FUNC PyInit__recorder(void);
PyMODINIT_FUNC PyInit__recorder(void) {
#ifdef Py_LIMITED_API
    /* Older ones find this file too, and lack what it takes. */
    const char *version = Py_GetVersion();
    if (strncmp(version, "3.", 2) == 0 && strtol(version + 2, NULL, 10) < 10) {
        PyErr_SetString(PyExc_ImportError, "pipescope._recorder is for Python 3.10 and newer");
        return NULL;
    }
#endif
    return PyModuleDef_Init(&definition);
}
