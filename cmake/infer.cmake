# libargosy_infer.so: the predictor behind argosy.h by itself, for programs that only run models. It
# has the rooms that a run needs, shows the functions of argosy.h and nothing else, and needs oneDNN,
# OpenBLAS and zlib, but no Python.
set(infer_rooms_out "/argosy/(trainer|data|jit|comm|parallel|ps|serve)/|/argosy/extension/|/argosy/infer/(onnx|paddle)")
set(infer_objects "$<FILTER:$<TARGET_OBJECTS:argosy_objects>,EXCLUDE,${infer_rooms_out}>")
if(simd_sources)
  list(APPEND infer_objects $<TARGET_OBJECTS:argosy_avx2> $<TARGET_OBJECTS:argosy_avx512>)
endif()

add_library(argosy_infer SHARED ${infer_objects})
set(infer_symbols ${PROJECT_SOURCE_DIR}/cmake/infer.map)
set_target_properties(argosy_infer PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS ${infer_symbols}
  LIBRARY_OUTPUT_DIRECTORY ${ARGOSY_PACKAGE_DIR}/lib
  INSTALL_RPATH "$ORIGIN;$ORIGIN/../../../..;$ORIGIN/../../lib")
target_include_directories(argosy_infer PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src/argosy/infer/c>)
target_link_libraries(argosy_infer PRIVATE argosy_flags DNNL::dnnl argosy_openblas gomp ZLIB::ZLIB
  Threads::Threads)
target_link_options(argosy_infer PRIVATE -Wl,--version-script=${infer_symbols}
  $<$<CONFIG:Release>:-Wl,-s>)
if(NOT ARGOSY_SANITIZE AND NOT ARGOSY_FUZZ)
  target_link_options(argosy_infer PRIVATE -Wl,--no-undefined)
endif()
