# libargosy_paddle.so: what reads and writes models of Paddle, with Protobuf. libargosy.so links none of
# it and loads this library, which lies beside it, at the first call (src/argosy/infer/paddle.cc).
file(GLOB paddle_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/argosy/infer/paddle/*.cc)

set(paddle_proto ${PROJECT_SOURCE_DIR}/src/argosy/infer/paddle/framework.proto)
set(paddle_generated ${PROJECT_BINARY_DIR}/generated_paddle)
file(MAKE_DIRECTORY ${paddle_generated})
add_custom_command(OUTPUT ${paddle_generated}/framework.pb.cc ${paddle_generated}/framework.pb.h
  COMMAND ${Protobuf_PROTOC_EXECUTABLE} -I ${PROJECT_SOURCE_DIR}/src/argosy/infer/paddle
    --cpp_out=${paddle_generated} ${paddle_proto}
  DEPENDS ${paddle_proto} COMMENT "Generating framework.pb.h" VERBATIM)

# Not ours: no warnings of ours.
add_library(argosy_paddle_proto OBJECT ${paddle_generated}/framework.pb.cc)
target_include_directories(argosy_paddle_proto SYSTEM PUBLIC ${paddle_generated})
target_link_libraries(argosy_paddle_proto PUBLIC protobuf::libprotobuf-lite)
target_compile_options(argosy_paddle_proto PRIVATE -O1 -w)

if(ARGOSY_FUZZ)  # see library.cmake
  set_source_files_properties(${paddle_sources} PROPERTIES COMPILE_OPTIONS
    "-fsanitize=address,undefined;-fno-sanitize-recover=undefined;-fno-omit-frame-pointer;-O1;-g1;-fsanitize-coverage=trace-pc")
endif()

add_library(argosy_paddle SHARED ${paddle_sources})
target_link_libraries(argosy_paddle PUBLIC argosy)
target_link_libraries(argosy_paddle PRIVATE argosy_flags argosy_baseline argosy_paddle_proto)
target_include_directories(argosy_paddle SYSTEM PRIVATE ${ARGOSY_JSON_INCLUDE})
# Runs once for each model.
target_compile_options(argosy_paddle PRIVATE $<$<CONFIG:Release>:-O1>)
target_precompile_headers(argosy_paddle REUSE_FROM argosy_objects)
target_link_options(argosy_paddle PRIVATE -Wl,-Bsymbolic-functions $<$<CONFIG:Release>:-Wl,-s>)
set_target_properties(argosy_paddle PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${ARGOSY_PACKAGE_DIR}/lib
  BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
add_dependencies(argosy_generated argosy_paddle)
