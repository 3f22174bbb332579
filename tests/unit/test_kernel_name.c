/* Mangled names of kernels beside the demangled ones that a compiler's tools make of them: whoever judges by the function, or by the words of
 * a name, judges both alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analyze/stats/named_sums.h"
#include "base/alloc.h"
#include "model/comm_kernels.h"
#include "model/kernel_name.h"

#define N(array) (sizeof(array) / sizeof *(array))

static const struct twin {
    const char *mangled, *plain, *demangled;
} TWINS[] = {
    {"_ZN7cutlass6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS_4gemm9GemmShapeILi128ELi128ELi32EEELi4EEEEE"
     "vNT_6ParamsE",
     "cutlass::Kernel<conv::kernel::ImplicitGemmConvolution<gemm::GemmShape<>>>(Params)",
     "void cutlass::Kernel<cutlass::conv::kernel::ImplicitGemmConvolution<cutlass::gemm::GemmShape<128, 128, 32>, 4> >"
     "(cutlass::conv::kernel::ImplicitGemmConvolution<cutlass::gemm::GemmShape<128, 128, 32>, 4>::Params)"},
    {"_ZN7cutlass6KernelINS_4gemm9UniversalINS1_9GemmShapeILi64ELi64ELi32EEELNS1_4ModeE1EEEEEvNT_6ParamsE",
     "cutlass::Kernel<gemm::Universal<GemmShape<>, Mode>>(Params)",
     "void cutlass::Kernel<cutlass::gemm::Universal<cutlass::gemm::GemmShape<64, 64, 32>, "
     "(cutlass::gemm::Mode)1> >(cutlass::gemm::Universal<cutlass::gemm::GemmShape<64, 64, 32>, "
     "(cutlass::gemm::Mode)1>::Params)"},
    /* Template arguments in the middle of the path: what stands behind them is the function. */
    {"_ZN5flash3fwdILi128EfE6kernelEPf", "flash::fwd<>::kernel",
     "flash::fwd<128, float>::kernel(float*)"},
    {"_ZN5flash3fwdILi64EdE5splitILb1EEEvPd", "flash::fwd<>::split<>",
     "void flash::fwd<64, double>::split<true>(double*)"},
    {"_ZN7cutlass11device_gemmINS_4gemm9GemmShapeILi1ELi2ELi3EEEE3runIfEEvT_",
     "cutlass::device_gemm<gemm::GemmShape<>>::run<>",
     "void cutlass::device_gemm<cutlass::gemm::GemmShape<1, 2, 3> >::run<float>(float)"},
    {"_ZN2at6native12_GLOBAL__N_129vectorized_elementwise_kernelINS1_10AddFunctorIfEEPiEEviT_T0_",
     "at::native::vectorized_elementwise_kernel<AddFunctor<>>",
     "void at::native::(anonymous namespace)::vectorized_elementwise_kernel<at::native::(anonymous "
     "namespace)::AddFunctor<float>, int*>(int, at::native::(anonymous namespace)::AddFunctor<float>, int*)"},
    {"_ZN2at6native12_GLOBAL__N_129vectorized_elementwise_kernelIZNS0_6launchEPiEUliE_S3_EEviT_T0_",
     "at::native::vectorized_elementwise_kernel<launch>",
     "void at::native::(anonymous namespace)::vectorized_elementwise_kernel<at::native::launch(int*)::"
     "{lambda(int)#1}, int*>(int, at::native::launch(int*)::{lambda(int)#1}, int*)"},
    {"_ZN2at6native18packed_conv_kernelIJifDnEEEvDpT_", "at::native::packed_conv_kernel<>",
     "void at::native::packed_conv_kernel<int, float, decltype(nullptr)>(int, float, decltype(nullptr))"},
    {"_ZN7deep_ep9internode8dispatchILb0ELi8EEEvPiPKfPlS5_", "deep_ep::internode::dispatch<>",
     "void deep_ep::internode::dispatch<false, 8>(int*, float const*, long*, long*)"},
    {"_ZL26two_shot_all_reduce_kernelPPf", "two_shot_all_reduce_kernel",
     "two_shot_all_reduce_kernel(float**)"},
    {"_Z10plain_gemvRKSt6vectorIiSaIiEEDn", "plain_gemv(std::vector<>)",
     "plain_gemv(std::vector<int, std::allocator<int> > const&, decltype(nullptr))"},
    {"_Z10sgemm_likeIiEvP1KIT_XcvS1_Lin3EEEPFS1_iS1_ERA4_S1_", "sgemm_like<>(K<>)",
     "void sgemm_like<int>(K<int, (int)(-3)>*, int (*)(int, int), int (&) [4])"},
    {"_Z11by_functionIXadL_ZL26two_shot_all_reduce_kernelPPfEEEvi",
     "by_function<two_shot_all_reduce_kernel>",
     "void by_function<&(two_shot_all_reduce_kernel(float**))>(int)"},
    {"_Z8vec_convDv4_f", "vec_conv", "vec_conv(float __vector(4))"},
    {"_ZNK1n1S6memberEv", "n::S::member", "n::S::member() const"},
    {"_ZZ10outer_gemmvEN1L5innerEi", "outer_gemm(L::inner)", "outer_gemm()::L::inner(int)"},
    {"_ZTS26oneccl_kernel_memcpy_typed", "oneccl_kernel_memcpy_typed",
     "oneccl_kernel_memcpy_typed"},
};

static void twins_are_one(void **state) {
    (void)state;
    for (size_t i = 0; i < N(TWINS); i++) {
        const struct twin *t = &TWINS[i];
        char out[PS_KERNEL_NAME_BYTES];
        const char *plain = ps_kernel_name_plain(t->mangled, out);
        assert_string_equal(plain, t->plain);
        size_t n = 0;
        size_t n_twin = 0;
        const char *function = ps_comm_function(plain, &n);
        const char *of_twin = ps_comm_function(t->demangled, &n_twin);
        assert_int_equal(n, n_twin);
        assert_memory_equal(function, of_twin, n);
        assert_string_equal(ps_kernel_part("", t->mangled), ps_kernel_part("", t->demangled));
        assert_int_equal(ps_comm_of_kernel(t->mangled, NULL),
                         ps_comm_of_kernel(t->demangled, NULL));
    }
}

static void other_names_are_themselves(void **state) {
    (void)state;
    static const char *const NAMES[] = {"",
                                        "ampere_sgemm_32x128_nt",
                                        "void f<int>(int)",
                                        "_Zebra",
                                        "_Z",
                                        "_ZN99999999999999999999a",
                                        "_ZTS",
                                        "_Z5ab"};
    for (size_t i = 0; i < N(NAMES); i++) {
        char out[PS_KERNEL_NAME_BYTES];
        assert_ptr_equal(ps_kernel_name_plain(NAMES[i], out), NAMES[i]);
    }
}

/* Every beginning of a name, and every letter of it changed, in memory of its exact size: the result fits its room and ends. */
static void damaged_names(void **state) {
    (void)state;
    static const char LETTERS[] = "EINLXFJZSTABCDU_09z<";
    char out[PS_KERNEL_NAME_BYTES];
    for (size_t i = 0; i < N(TWINS); i++) {
        size_t n = strlen(TWINS[i].mangled);
        char *copy = ps_alloc(n + 1);
        assert_non_null(copy);
        for (size_t at = 0; at < n; at++) {
            for (size_t k = 0; k < sizeof LETTERS; k++) { /* also the 0 behind them */
                memcpy(copy, TWINS[i].mangled, n + 1);
                copy[at] = LETTERS[k];
                const char *plain = ps_kernel_name_plain(copy, out);
                assert_true(plain == copy || strlen(plain) < PS_KERNEL_NAME_BYTES);
            }
        }
        ps_free(copy);
    }
}

/* Nests that are too deep and names that are too long are read as far as there is room. */
static void endless_names(void **state) {
    (void)state;
    enum { LONG = 200000 };
    char out[PS_KERNEL_NAME_BYTES];
    char *name = ps_alloc(LONG + 16);
    assert_non_null(name);
    memcpy(name, "_ZN4deep1aI", sizeof "_ZN4deep1aI");
    size_t n = strlen(name);
    for (; n + 3 < LONG; n += 3) {
        memcpy(name + n, "N1I", 3);
    }
    name[n] = '\0';
    assert_int_equal(strncmp(ps_kernel_name_plain(name, out), "deep::a<", 8), 0);
    memcpy(name, "_ZN", sizeof "_ZN");
    for (n = 3; n + 3 < LONG; n += 3) {
        memcpy(name + n, "2ab", 3);
    }
    name[n] = '\0';
    assert_true(strlen(ps_kernel_name_plain(name, out)) < PS_KERNEL_NAME_BYTES);
    memset(name + 2, 'I', LONG - 2);
    name[LONG] = '\0';
    assert_ptr_equal(ps_kernel_name_plain(name, out), name);
    ps_free(name);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twins_are_one),
        cmocka_unit_test(other_names_are_themselves),
        cmocka_unit_test(damaged_names),
        cmocka_unit_test(endless_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
