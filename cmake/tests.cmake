# tests/cpp/<room>/**/*_test.cc: one binary for each room.
find_package(GTest REQUIRED)
add_library(test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/cpp/main.cc)
target_link_libraries(test_main PRIVATE argosy_flags argosy_baseline PUBLIC GTest::gtest)
target_precompile_headers(test_main PRIVATE <gtest/gtest.h> ${ARGOSY_PRECOMPILED})
# As its programs are compiled, or they cannot take its precompiled headers.
set_target_properties(test_main PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(test_main PRIVATE -fPIE $<$<CONFIG:Release>:-O0>)
file(GLOB rooms CONFIGURE_DEPENDS LIST_DIRECTORIES true RELATIVE ${PROJECT_SOURCE_DIR}/tests/cpp
  ${PROJECT_SOURCE_DIR}/tests/cpp/*)
# The longest first: one that begins last is waited for alone.
set(long_rooms ps data kernels comm base)
set(most_seconds 600)
if(ARGOSY_SANITIZE MATCHES thread)
  set(most_seconds 3600)
endif()
foreach(room ${rooms})
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/cpp/${room}/*_test.cc)
  if(NOT tests)
    continue()
  endif()
  set(target test_${room})
  add_executable(${target} ${tests})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE argosy argosy_flags argosy_baseline test_main)
  if(room STREQUAL ps)
    target_link_libraries(${target} PRIVATE argosy_ps RocksDB::rocksdb-shared)
  endif()
  if(room STREQUAL comm)
    target_link_libraries(${target} PRIVATE argosy_net)
  endif()
  if(room STREQUAL cuda)  # what of it needs no toolkit
    target_sources(${target} PRIVATE ${chain_headers} ${PROJECT_SOURCE_DIR}/src/argosy/cuda/pool.cc
      ${PROJECT_SOURCE_DIR}/src/argosy/kernels/cuda/bounds.cc
      ${PROJECT_SOURCE_DIR}/src/argosy/cuda/nccl.cc)
    add_library(fake_nccl SHARED ${PROJECT_SOURCE_DIR}/tests/cpp/cuda/fake_nccl.cc)
    target_link_libraries(fake_nccl PRIVATE argosy_flags argosy_baseline)
    target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
    target_compile_definitions(${target} PRIVATE ARGOSY_FAKE_NCCL="$<TARGET_FILE:fake_nccl>")
    add_dependencies(${target} fake_nccl)
    foreach(source chain chain_text nvrtc walk)
      target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src/argosy/kernels/cuda/${source}.cc)
    endforeach()
  endif()
  if(room STREQUAL data)
    target_link_libraries(${target} PRIVATE ZLIB::ZLIB)  # writes the files that are read
  endif()
  # What is tested is in the library; its tests, a fourth of the build, compile in half the time.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
  target_precompile_headers(${target} REUSE_FROM test_main)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME cpp/${room} COMMAND ${target} --gtest_brief=1
    --gtest_output=xml:${PROJECT_BINARY_DIR}/tests/${room}.xml)
  set_tests_properties(cpp/${room} PROPERTIES TIMEOUT ${most_seconds}
    ENVIRONMENT LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/lsan.supp:print_suppressions=0)
  if(room STREQUAL cuda AND ARGOSY_CUDA)  # where NVRTC is
    set_property(TEST cpp/${room} PROPERTY ENVIRONMENT_MODIFICATION
      LD_LIBRARY_PATH=path_list_append:${CUDAToolkit_LIBRARY_DIR})
  endif()
  list(FIND long_rooms ${room} place)
  if(place GREATER -1)
    math(EXPR cost "100 - ${place}")
    set_tests_properties(cpp/${room} PROPERTIES COST ${cost})
  endif()
endforeach()

# Of an entry that passes ctest shows nothing, so what this machine cannot test has one of its own.
add_test(NAME cpp/kernels/avx512 COMMAND test_kernels --gtest_filter=EachIsa.*)
set_tests_properties(cpp/kernels/avx512 PROPERTIES
  SKIP_REGULAR_EXPRESSION "AVX-512 kernels were not tested")

# tests/fuzz/*_fuzz.cc: with a mutating driver in the preset `fuzz` (make fuzz), else as tests that
# replay the corpus. They are written for libFuzzer's entry, but Clang 14 does not compile Argosy.
add_library(fuzz_replay OBJECT ${PROJECT_SOURCE_DIR}/tests/fuzz/replay.cc)
target_link_libraries(fuzz_replay PRIVATE argosy_flags argosy_baseline)
file(GLOB harnesses CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cc)
foreach(source ${harnesses})
  cmake_path(GET source STEM harness)
  add_executable(${harness} ${source})
  target_link_libraries(${harness} PRIVATE argosy argosy_flags argosy_baseline)
  if(harness STREQUAL service_fuzz)
    target_link_libraries(${harness} PRIVATE argosy_ps)
  endif()
  if(harness STREQUAL paddle_fuzz)  # which is found by its name, and must be the instrumented one
    add_dependencies(${harness} argosy_paddle)
  endif()
  if(harness STREQUAL onnx_fuzz)
    add_dependencies(${harness} argosy_onnx)  # which libargosy.so loads
  endif()
  set_target_properties(${harness} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  if(ARGOSY_FUZZ)
    target_sources(${harness} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/driver.cc)
    # libargosy.so calls the driver at each edge.
    set_target_properties(${harness} PROPERTIES ENABLE_EXPORTS ON)
  else()
    target_link_libraries(${harness} PRIVATE fuzz_replay)
    target_compile_options(${harness} PRIVATE $<$<CONFIG:Release>:-O1>)
    string(REPLACE "_fuzz" "" corpus ${harness})
    add_test(NAME fuzz/${corpus}
      COMMAND ${harness} ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${corpus})
    set_tests_properties(fuzz/${corpus} PROPERTIES TIMEOUT 600)
  endif()
endforeach()

# Not tests: cmake --build build/release --target kernels_bench && build/release/tests/kernels_bench
foreach(name kernels_bench predictor_bench)
  add_executable(${name} EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/benchmarks/cpp/${name}.cc)
  target_link_libraries(${name} PRIVATE argosy argosy_flags argosy_baseline)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
endforeach()
if(TARGET argosy_ps)
  add_executable(ps_table_bench EXCLUDE_FROM_ALL
    ${PROJECT_SOURCE_DIR}/benchmarks/cpp/ps_table_bench.cc)
  target_link_libraries(ps_table_bench PRIVATE argosy_ps argosy argosy_flags argosy_baseline)
  set_target_properties(ps_table_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
endif()
