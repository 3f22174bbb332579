/* Names of C++ functions as people write them: "_Z3addPfi" is "add(float*, int)". CUPTI gives kernels the former. */
#ifndef PS_RECORD_DEMANGLE_H
#define PS_RECORD_DEMANGLE_H

#include <stddef.h>

/* Into `out`, cut to `size` with the zero; returns its length. Names that are none of C++, or that cannot be read, stay as
 * they are. Reading the whole of a name needs libstdc++ or libc++abi, which is looked for at run time; without it plain
 * functions keep their name alone. Any thread. */
size_t ps_demangle(const char *name, char *out, size_t size);

#endif
