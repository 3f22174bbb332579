/* A kernel's name is the function that it is, and some profilers leave it mangled (Itanium C++ ABI). Whoever judges a kernel by its name
 * judges the plain one, so that both forms are one kernel; what people see stays as it was written.
 *
 *   _ZN7cutlass6KernelINS_4conv13ImplicitGemmIfEEEEvNT_6ParamsE   cutlass::Kernel<conv::ImplicitGemm>(Params)
 *
 * That is the qualified function, in <> the names that its template arguments hold, and behind it those of its parameters. What a
 * substitution (S_, T_) stands for was named before and is not written again; types that are no names and numbers are left out. */
#ifndef PS_MODEL_KERNEL_NAME_H
#define PS_MODEL_KERNEL_NAME_H

#define PS_KERNEL_NAME_BYTES 1024

/* `name` itself where it is not mangled, or in a way that is not understood; else written to `out`, cut to its size. Linear in the
 * name's length, whatever it holds. */
const char *ps_kernel_name_plain(const char *name, char out[PS_KERNEL_NAME_BYTES]);

#endif
