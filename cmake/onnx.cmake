# libargosy_onnx.so: what reads and writes ONNX files, with Protobuf. libargosy.so links none of it and
# loads this library, which lies beside it, at the first call (src/argosy/infer/onnx.cc).
file(GLOB onnx_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/argosy/infer/onnx/*.cc)

set(onnx_proto ${PROJECT_SOURCE_DIR}/src/argosy/infer/onnx/onnx.proto)
set(onnx_generated ${PROJECT_BINARY_DIR}/generated_onnx)
file(MAKE_DIRECTORY ${onnx_generated})
add_custom_command(OUTPUT ${onnx_generated}/onnx.pb.cc ${onnx_generated}/onnx.pb.h
  COMMAND ${Protobuf_PROTOC_EXECUTABLE} -I ${PROJECT_SOURCE_DIR}/src/argosy/infer/onnx
    --cpp_out=${onnx_generated} ${onnx_proto}
  DEPENDS ${onnx_proto} COMMENT "Generating onnx.pb.h" VERBATIM)

# Not ours: no warnings of ours.
add_library(argosy_onnx_proto OBJECT ${onnx_generated}/onnx.pb.cc)
target_include_directories(argosy_onnx_proto SYSTEM PUBLIC ${onnx_generated})
target_link_libraries(argosy_onnx_proto PUBLIC protobuf::libprotobuf-lite)
target_compile_options(argosy_onnx_proto PRIVATE -O1 -w)

if(ARGOSY_FUZZ)  # see library.cmake
  set_source_files_properties(${onnx_sources} PROPERTIES COMPILE_OPTIONS
    "-fsanitize=address,undefined;-fno-sanitize-recover=undefined;-fno-omit-frame-pointer;-O1;-g1;-fsanitize-coverage=trace-pc")
endif()

add_library(argosy_onnx SHARED ${onnx_sources})
target_link_libraries(argosy_onnx PUBLIC argosy)
target_link_libraries(argosy_onnx PRIVATE argosy_flags argosy_baseline argosy_onnx_proto)
# Runs once for each model.
target_compile_options(argosy_onnx PRIVATE $<$<CONFIG:Release>:-O1>)
target_precompile_headers(argosy_onnx REUSE_FROM argosy_objects)
target_link_options(argosy_onnx PRIVATE -Wl,-Bsymbolic-functions $<$<CONFIG:Release>:-Wl,-s>)
set_target_properties(argosy_onnx PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${ARGOSY_PACKAGE_DIR}/lib
  BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
add_dependencies(argosy_generated argosy_onnx)
