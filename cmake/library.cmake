# libargosy.so: every source under src/argosy. Files are found, never listed. Without Python only the
# objects that libargosy_infer.so has.
file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/argosy/*.cc)
file(GLOB_RECURSE simd_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/argosy/kernels/cpu/simd/*.cc)
list(FILTER sources EXCLUDE REGEX "/kernels/cpu/simd/")
# Of the parameter server, libargosy.so has what Programs need to speak of tables: see ps.cmake.
list(FILTER sources EXCLUDE REGEX "/ps/(table|service|mode)/")
# Connections between hosts are a library of their own: see net.cmake.
list(FILTER sources EXCLUDE REGEX "/comm/net/")
# What reads and writes models of other formats are libraries of their own: see formats.cmake.
list(FILTER sources EXCLUDE REGEX "/infer/(onnx|paddle)/")
# What needs a CUDA toolkit, too: see cuda.cmake.
list(FILTER sources EXCLUDE REGEX "/argosy/(kernels/)?cuda/")
# Rooms that running a model does not need: see infer.cmake.
set(infer_rooms_out "/argosy/((autograd|trainer|data|jit|comm|parallel|ps|extension|streamed|ops/optim)/|program/gradient|passes/split_updates)")
# Neither do models need vectors of double (the C library's functions do them one at a time).
set(infer_simd_out "/simd/[a-z]+_double")
if(NOT ARGOSY_PYTHON)
  list(FILTER sources EXCLUDE REGEX ${infer_rooms_out})
  list(FILTER simd_sources EXCLUDE REGEX ${infer_simd_out})
endif()

# Readers and writers of saved Programs, from their schema.
set(schema ${PROJECT_SOURCE_DIR}/src/argosy/program/program.fbs)
set(generated ${PROJECT_BINARY_DIR}/generated)
set(schema_header ${generated}/argosy/program/program_generated.h)
add_custom_command(OUTPUT ${schema_header}
  COMMAND ${ARGOSY_FLATC} --cpp --scoped-enums -o ${generated}/argosy/program ${schema}
  DEPENDS ${schema} COMMENT "Generating program_generated.h" VERBATIM)
set_source_files_properties(
  ${PROJECT_SOURCE_DIR}/src/argosy/program/serialize.cc
  ${PROJECT_SOURCE_DIR}/src/argosy/program/deserialize.cc
  PROPERTIES OBJECT_DEPENDS ${schema_header}
  COMPILE_DEFINITIONS ARGOSY_VERSION="${PROJECT_VERSION}")

# Public headers: installed, and each compiled alone by the target all_verify_interface_header_sets
# (`make lint`). Those of kernels/ that show a third-party library are private.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/argosy/*.h
  ${PROJECT_SOURCE_DIR}/src/paddle/*.h)
set(public_headers)
foreach(header ${headers})
  file(STRINGS ${header} third_party LIMIT_COUNT 1
    REGEX "^ *# *include *[<\"](dnnl|oneapi/|cblas|lapack|omp.h)")
  if(NOT third_party AND NOT header MATCHES "/kernels/cpu/simd/|/argosy/(kernels/)?cuda/|-inl[.]h$")
    list(APPEND public_headers ${header})
  endif()
endforeach()

# The version of what libraries of ops are compiled against: a hash of those headers, so that nobody
# has to remember to raise it.
set(abi_header ${generated}/argosy_abi.h)
set(abi_of ${public_headers})
list(FILTER abi_of INCLUDE REGEX "/src/(paddle|argosy/(base|tensor|op|ops))/")
add_custom_command(OUTPUT ${abi_header}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${abi_header} -DROOT=${PROJECT_SOURCE_DIR}/src "-DHEADERS=${abi_of}"
    -P ${PROJECT_SOURCE_DIR}/cmake/abi.cmake
  DEPENDS ${abi_of} ${PROJECT_SOURCE_DIR}/cmake/abi.cmake
  COMMENT "Generating argosy_abi.h" VERBATIM)
set_source_files_properties(
  ${PROJECT_SOURCE_DIR}/src/argosy/op/library.cc
  ${PROJECT_SOURCE_DIR}/src/argosy/extension/builder.cc
  ${PROJECT_SOURCE_DIR}/src/argosy/extension/functions.cc
  ${PROJECT_SOURCE_DIR}/src/argosy/extension/tensor.cc
  PROPERTIES OBJECT_DEPENDS ${abi_header})

# What works once for a Program and has no loops over elements, compiled for size: half as large, two
# thirds of the time to compile, and captures of a network take as long as with -O3. A library of its
# own, since it cannot use precompiled headers that were not compiled for size.
set(once ${sources})
list(FILTER once INCLUDE REGEX
  "/argosy/(passes|program|jit|parallel)/|/argosy/ps/(config|split|parameter_server)|/argosy/infer/(saved/|call|deciders|einsum|engine|[a-z]+_importer|importer|on_device|onnx[.]|op_view|paddle[.]|side_library)|/argosy/runtime/(chains|lower|memory_plan|place_memory|plan|print|schedule)|/argosy/base/(device|file|flags|profile)[.]|/argosy/op/(define|nan_finder|registry)")
# Also files of ops that describe, infer and differentiate, and leave elements to kernels/: 40 % smaller,
# and a call takes as many instructions. (Not those that loop over elements themselves.)
foreach(names "activation/(gated|gelu|piecewise|smooth)" "attention/(tiled|varlen)" "common/shuffle"
    "control/(arrays|control|custom_gradient|on_place|report)" "conv/(conv|packed|window)"
    "detection/(roi|suppress|yolo)" "indexing/masks" "linalg/(expm|norm|solve|spectral)"
    "loss/pointwise" "manip/(join|rearrange)" "math/(math2|special|trigonometric)" "norm/(batch_norm|group_norm|layer_norm|vector_norm)"
    "quant/(integer_linear|weight_only)" "rnn/(cells|rnn|unrolled)" "vision/interpolate")
  set(glue ${sources})
  list(FILTER glue INCLUDE REGEX "/argosy/ops/${names}[.]cc$")
  list(APPEND once ${glue})
endforeach()
list(REMOVE_ITEM sources ${once})

# What reads files is sanitized, and tells the fuzzer where it gets to. The rest is as released: so
# that fuzzing is fast, and the build is one of few files.
if(ARGOSY_FUZZ)
  foreach(room tensor op program data)
    file(GLOB of_room CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/argosy/${room}/*.cc)
    set(options -fsanitize=address,undefined -fno-sanitize-recover=undefined
      -fno-sanitize=null,nonnull-attribute,returns-nonnull-attribute -fno-omit-frame-pointer -O1 -g1)
    if(room MATCHES "program|data")
      list(APPEND options -fsanitize-coverage=trace-pc)
    endif()
    set_source_files_properties(${of_room} PROPERTIES COMPILE_OPTIONS "${options}")
  endforeach()
endif()

# Loops over elements that are as fast without what -O3 does beyond vectors: copies of loops for few
# elements, for each op, dtype and instruction set. A third smaller. (Measured one by one: arithmetic,
# casts, activations, norms, copies, scans, sorts, reductions and Fourier transforms are slower so.)
set(loops_smaller $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-O2 -ftree-vectorize
  -fvect-cost-model=dynamic --param=max-inline-insns-auto=30 --param=max-inline-insns-single=200
  --param=early-inlining-insns=14 --param=inline-min-speedup=15>)
list(JOIN loops_smaller ";" loops_smaller)
foreach(name kernels/cpu/gemm kernels/cpu/linalg kernels/cpu/reduce
    kernels/cpu/sample kernels/cpu/simd/integer kernels/cpu/simd/math kernels/cpu/simd/math2
    kernels/cpu/simd/math_double kernels/cpu/simd/activation_double kernels/cpu/simd/pool
    kernels/cpu/simd/softmax kernels/cpu/simd/softmax_double ops/cumulative/cumulative
    ops/loss/labels ops/vision/pad ops/vision/slopes ops/vision/unfold)
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/argosy/${name}.cc
    APPEND PROPERTY COMPILE_OPTIONS "${loops_smaller}")
endforeach()

# Where a loop's last elements come one at a time, there are up to 15 of them: GCC writes each out, which
# is half of such a file and no faster. (Not in files with loops of a constant length, which are to be
# written out.)
foreach(name kernels/cpu/simd/activation kernels/cpu/simd/arithmetic
    kernels/cpu/simd/cast kernels/cpu/simd/compare kernels/cpu/simd/host kernels/cpu/simd/integer
    kernels/cpu/simd/math kernels/cpu/simd/math2 kernels/cpu/simd/norm kernels/cpu/simd/reduce
    kernels/cpu/simd/rnn ops/cumulative/cumulative ops/loss/labels ops/vision/pad
    ops/vision/slopes)
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/argosy/${name}.cc
    APPEND PROPERTY COMPILE_OPTIONS
    "$<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:--param=max-completely-peel-times=1>")
endforeach()

function(argosy_objects target isa)
  add_library(${target} OBJECT ${ARGN})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_include_directories(${target} SYSTEM PRIVATE ${ARGOSY_FLATBUFFERS_INCLUDE}
    ${ARGOSY_JSON_INCLUDE} ${generated})
  # gomp: oneDNN's threads are those of libgomp, and omp_set_num_threads(1) must reach the same copy.
  target_link_libraries(${target} PRIVATE argosy_flags ${isa}
    DNNL::dnnl argosy_openblas gomp Threads::Threads)
endfunction()

argosy_objects(argosy_objects argosy_baseline ${sources})
target_precompile_headers(argosy_objects PRIVATE ${ARGOSY_PRECOMPILED})
argosy_objects(argosy_once argosy_baseline ${once})
target_compile_options(argosy_once PRIVATE $<$<CONFIG:Release>:-Os>)
target_precompile_headers(argosy_once PRIVATE ${ARGOSY_PRECOMPILED})
set(objects $<TARGET_OBJECTS:argosy_objects> $<TARGET_OBJECTS:argosy_once>)

# SIMD sources: one object for each instruction set, told apart by the namespace ARGOSY_ISA.
#
# Trap (one-definition rule): an inline function or template that is not in that namespace (std::sort,
# a helper of a header) is one symbol to the linker, which keeps the first copy it meets. Were that the
# AVX-512 one, an AVX2 machine would die of SIGILL in innocent code. So objects go to the linker with
# AVX-512 last: its copy is kept only if nobody else has one, and then only AVX-512 code calls it.
if(simd_sources)
  argosy_objects(argosy_avx2 argosy_isa_avx2 ${simd_sources})
  argosy_objects(argosy_avx512 argosy_isa_avx512 ${simd_sources})
  foreach(isa avx2 avx512)
    # Of other flags than argosy_objects, so their own: what base/dtype.h includes.
    target_precompile_headers(argosy_${isa} PRIVATE <complex> <optional> <span> <string_view>)
    # Nothing throws in there, so nothing has to be unwound, but where integers are divided.
    target_compile_options(argosy_${isa} PRIVATE
      "$<$<CONFIG:Release>:-fno-exceptions;-fno-asynchronous-unwind-tables>")
  endforeach()
  foreach(name integer map)
    set(source ${PROJECT_SOURCE_DIR}/src/argosy/kernels/cpu/simd/${name}.cc)
    set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS
      "$<$<CONFIG:Release>:-fexceptions;-fasynchronous-unwind-tables>")
  endforeach()
  list(APPEND objects $<TARGET_OBJECTS:argosy_avx2> $<TARGET_OBJECTS:argosy_avx512>)
endif()

if(NOT ARGOSY_PYTHON)
  return()
endif()
add_library(argosy SHARED ${objects})
set_target_properties(argosy PROPERTIES LINKER_LANGUAGE CXX)

target_sources(argosy PUBLIC FILE_SET HEADERS
  BASE_DIRS ${PROJECT_SOURCE_DIR}/src ${generated} FILES ${public_headers} ${abi_header})
set_target_properties(argosy PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
target_link_libraries(argosy PRIVATE argosy_flags DNNL::dnnl argosy_openblas gomp ZLIB::ZLIB Threads::Threads
  ${CMAKE_DL_LIBS})
target_link_options(argosy PRIVATE -Wl,-Bsymbolic-functions)
if(NOT ARGOSY_SANITIZE AND NOT ARGOSY_FUZZ)
  target_link_options(argosy PRIVATE -Wl,--no-undefined)
endif()
