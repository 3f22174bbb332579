/* Names of kernels as their source has them. CUPTI tells them as the compiler made them: "_Z4spinm". */
#ifndef PS_RECORD_DEMANGLE_H
#define PS_RECORD_DEMANGLE_H

/* "spin(unsigned long)", by the demangler of the C++ library that the program has loaded; without one the bare name of a plain
 * function, "spin"; other names, and those that are not mangled, as they are. Valid until the next call; one thread. NULL for NULL. */
const char *ps_demangle(const char *name);

/* Gives its memory back. */
void ps_demangle_release(void);

#endif
