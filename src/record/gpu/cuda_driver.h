/* Finds the CUDA driver of a program that has loaded it. It is never loaded or initialised for a program that has not: that
 * would cost memory and seconds, and would break what the program may want to do later (fork, choose a device). */
#ifndef PS_RECORD_CUDA_DRIVER_H
#define PS_RECORD_CUDA_DRIVER_H

#include <stdbool.h>

#include "record/gpu/cuda_abi.h"

/* The driver's calls, NULL while the program has not loaded it. `library` (may be NULL or ""): file of a driver with an
 * unusual name. Once found it stays loaded. Cheap to ask again: looks only when something was loaded since. May wait for another
 * thread that is loading a library. */
const ps_cuda_calls *ps_cuda_driver(const char *library);

/* Whether the driver is among the loaded libraries, and was not when this was asked last; its functions are not asked for. Waits for
 * nobody. */
bool ps_cuda_driver_listed(const char *library);

/* As found before; never looks. */
const ps_cuda_calls *ps_cuda_driver_found(void);

/* A handle of the loaded library whose file's name begins so; NULL when there is none. It stays loaded. */
void *ps_loaded_library(const char *prefix);

/* dlopen, with RTLD_NOW | RTLD_LOCAL | more_flags, so that no fork happens meanwhile (fork_gate.h). */
void *ps_open_library(const char *path, int more_flags);

/* In a forked child, where the driver of the parent is of no use, and for tests. */
void ps_cuda_driver_forget(void);

#endif
