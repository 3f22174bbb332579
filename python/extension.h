/* What the files of pipescope._recorder share: extension.c is the module, extension_job.c its type job. */
#ifndef PS_EXTENSION_H
#define PS_EXTENSION_H

#include <patchlevel.h>
#include <pyconfig.h>

#ifdef Py_GIL_DISABLED
#error "Python without its lock: pipescope uses ctypes there"
#endif
#if PY_VERSION_HEX >= 0x030A0000
#define Py_LIMITED_API 0x030A0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0 while nothing is recorded, another number in each recording. */
uint32_t ps_extension_recording(void);

/* Replaces what a place holds; a reference of its own. */
void ps_extension_set(PyObject **place, PyObject *value);

/* --- texts that programs have as literals: these very objects --------------------------------------------------------- */

extern PyObject *ps_str_default, *ps_str_current, *ps_str_message, *ps_str_stream;

typedef struct ps_text {
    PyObject **place;
    const char *text;
} ps_text;

bool ps_extension_texts(const ps_text *texts, size_t n);

/* --- arguments ------------------------------------------------------------------------------------------------------- */

enum { MAX_ARGUMENTS = 4 };

/* How a function is called: as a Python function of this signature would be. */
typedef struct signature {
    const char *name;
    int n, n_needed;
    PyObject **keywords[MAX_ARGUMENTS];
} signature;

/* Of a constructor: borrowed references, NULL for what was not given. False with an exception. */
bool ps_extension_take_tuple(const signature *s, PyObject *args, PyObject *keywords,
                             PyObject **out);

/* --- annotate, on which job stands ------------------------------------------------------------------------------------ */

enum { FEW_OPEN = 4 };

typedef struct annotation {
    PyObject ob_base; /* as PyObject_HEAD, spelt out */
    PyObject *message, *stream, *domain;
    size_t n_open, cap; /* one object may be entered several times */
    uint64_t *open;     /* ids; `few`, or more */
    uint64_t few[FEW_OPEN];
} annotation;

int ps_annotate_traverse(PyObject *object, visitproc visit, void *arg);
int ps_annotate_clear(PyObject *object);
void ps_annotate_dealloc(PyObject *object);
PyObject *ps_annotate_enter(PyObject *object, PyObject *unused);
PyObject *ps_annotate_exit(PyObject *object, PyObject *const *args, Py_ssize_t n);
bool ps_extension_keep_open(annotation *self, uint64_t id);

#define FUNCTION(function) ((PyCFunction)(void (*)(void))(function))

/* --- job ------------------------------------------------------------------------------------------------------------- */

extern PyType_Spec ps_extension_job_spec;
bool ps_extension_job_texts(void);
PyObject *ps_extension_bind_jobs(PyObject *module, PyObject *args);
PyObject *ps_extension_set_window(PyObject *module, PyObject *is_open);
void ps_extension_unbind_jobs(void);

#endif
