# tests/cpp/<room>/**/*_test.cc: one binary for each room.
find_package(GTest REQUIRED)
file(GLOB rooms CONFIGURE_DEPENDS LIST_DIRECTORIES true RELATIVE ${PROJECT_SOURCE_DIR}/tests/cpp
  ${PROJECT_SOURCE_DIR}/tests/cpp/*)
foreach(room ${rooms})
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/cpp/${room}/*_test.cc)
  if(NOT tests)
    continue()
  endif()
  set(target test_${room})
  add_executable(${target} ${tests})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE argosy argosy_flags argosy_baseline GTest::gtest GTest::gtest_main)
  # What is tested is in the library; its tests compile twice as fast this way.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME cpp/${room} COMMAND ${target} --gtest_brief=1
    --gtest_output=xml:${PROJECT_BINARY_DIR}/tests/${room}.xml)
  set_tests_properties(cpp/${room} PROPERTIES TIMEOUT 600
    ENVIRONMENT LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/lsan.supp:print_suppressions=0)
endforeach()

# Not a test: cmake --build build/release --target kernels_bench && build/release/tests/kernels_bench
add_executable(kernels_bench EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/benchmarks/cpp/kernels_bench.cc)
target_link_libraries(kernels_bench PRIVATE argosy argosy_flags argosy_baseline)
set_target_properties(kernels_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
