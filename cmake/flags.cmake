# Flags of all C++ code of ours.
set(flags
  -fno-plt -fno-semantic-interposition
  # thread_local without a call. The loader has about 1.5 KB of such space for libraries loaded late,
  # for the whole process: keep big state behind a pointer (tools/check_binary.sh measures).
  -ftls-model=initial-exec
  # Neither changes a value; without them sqrt, comparisons and selects are not vectorized.
  -fno-math-errno -fno-trapping-math
  -Wall -Wextra)
if(ARGOSY_WERROR)
  list(APPEND flags -Werror)
endif()
add_library(argosy_flags INTERFACE)
target_compile_options(argosy_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${flags}>")

# Instruction sets. Each of our targets links exactly one of these: flags of a linked interface come
# after the target's own, so a second -march could not override the first.
#
# x86-64-v3 is AVX2, FMA, F16C; wider sets are chosen at run time among objects compiled for them
# (library.cmake), never by -march=native. Left alone, GCC fuses a*b+c wherever it meets it, so the
# same source gives other last bits at other places: complex products, random numbers that must equal
# a published stream. So nothing contracts: SIMD kernels write __builtin_fma where they mean it, and an
# element's value depends neither on the instruction set nor on its place in the tensor.
add_library(argosy_baseline INTERFACE)
target_compile_options(argosy_baseline INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-march=x86-64-v3;-ffp-contract=off>")
add_library(argosy_isa_avx2 INTERFACE)
target_compile_options(argosy_isa_avx2 INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-march=x86-64-v3;-ffp-contract=off>")
add_library(argosy_isa_avx512 INTERFACE)
target_compile_options(argosy_isa_avx512 INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-march=x86-64-v4;-mprefer-vector-width=512;-ffp-contract=off>")
# Where a branch of an op decides what follows it, GCC copies that for each way; such loops vectorize
# badly.
foreach(isa avx2 avx512)
  target_compile_options(argosy_isa_${isa} INTERFACE
    "$<$<CXX_COMPILER_ID:GNU>:$<$<COMPILE_LANGUAGE:CXX>:-fno-thread-jumps>>")
  target_compile_definitions(argosy_isa_${isa} INTERFACE ARGOSY_ISA=${isa})
endforeach()

if(ARGOSY_FUZZ)  # see library.cmake
  target_link_options(argosy_flags INTERFACE -fsanitize=address,undefined)
endif()
if(ARGOSY_SANITIZE)
  set(sanitize -fsanitize=${ARGOSY_SANITIZE} -fno-omit-frame-pointer)
  if(ARGOSY_SANITIZE MATCHES undefined)
    # The null checks make GCC refuse `if (function)` in constant expressions (tables of kernels), and
    # a null access dies anyway.
    list(APPEND sanitize -fno-sanitize-recover=undefined
      -fno-sanitize=null,nonnull-attribute,returns-nonnull-attribute)
  endif()
  target_compile_options(argosy_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${sanitize}>")
  target_link_options(argosy_flags INTERFACE ${sanitize})
endif()
