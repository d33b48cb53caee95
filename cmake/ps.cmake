# libargosy_ps.so: tables, service and training modes of the parameter server, with gRPC, OpenSSL,
# Protobuf and RocksDB. The core links none of them; Python loads this library, with the module argosy._ps, at the
# first use of a parameter server.
find_package(PkgConfig REQUIRED)
find_package(Protobuf REQUIRED)
find_package(RocksDB REQUIRED)
pkg_check_modules(ARGOSY_GRPC REQUIRED IMPORTED_TARGET grpc++)
pkg_check_modules(ARGOSY_CRYPTO REQUIRED IMPORTED_TARGET libcrypto)
find_program(ARGOSY_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)

file(GLOB_RECURSE ps_sources CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/argosy/ps/table/*.cc
  ${PROJECT_SOURCE_DIR}/src/argosy/ps/service/*.cc
  ${PROJECT_SOURCE_DIR}/src/argosy/ps/mode/*.cc)

set(ps_proto ${PROJECT_SOURCE_DIR}/src/argosy/ps/service/parameter_server.proto)
set(ps_generated ${PROJECT_BINARY_DIR}/generated_ps)
set(ps_stem ${ps_generated}/argosy/ps/service/parameter_server)
file(MAKE_DIRECTORY ${ps_generated})
add_custom_command(
  OUTPUT ${ps_stem}.pb.cc ${ps_stem}.pb.h ${ps_stem}.grpc.pb.cc ${ps_stem}.grpc.pb.h
  COMMAND ${Protobuf_PROTOC_EXECUTABLE} -I ${PROJECT_SOURCE_DIR}/src --cpp_out=${ps_generated}
    --grpc_out=${ps_generated} --plugin=protoc-gen-grpc=${ARGOSY_GRPC_PLUGIN} ${ps_proto}
  DEPENDS ${ps_proto} COMMENT "Generating parameter_server.pb.h" VERBATIM)

# Not ours: no warnings of ours.
add_library(argosy_ps_proto OBJECT ${ps_stem}.pb.cc ${ps_stem}.grpc.pb.cc)
target_include_directories(argosy_ps_proto SYSTEM PUBLIC ${ps_generated})
target_link_libraries(argosy_ps_proto PUBLIC protobuf::libprotobuf PkgConfig::ARGOSY_GRPC)
target_compile_options(argosy_ps_proto PRIVATE -O1 -w)

if(ARGOSY_FUZZ)  # see library.cmake
  file(GLOB handlers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/argosy/ps/service/server_*.cc
    ${PROJECT_SOURCE_DIR}/src/argosy/ps/service/w*.cc
    ${PROJECT_SOURCE_DIR}/src/argosy/ps/service/mailbox.cc)
  set_source_files_properties(${handlers} PROPERTIES COMPILE_OPTIONS
    "-fsanitize=address,undefined;-fno-sanitize-recover=undefined;-fno-omit-frame-pointer;-O1;-g1;-fsanitize-coverage=trace-pc")
endif()

add_library(argosy_ps SHARED ${ps_sources})
target_link_libraries(argosy_ps PUBLIC argosy)
target_link_libraries(argosy_ps PRIVATE argosy_flags argosy_baseline argosy_ps_proto RocksDB::rocksdb-shared
  PkgConfig::ARGOSY_CRYPTO Threads::Threads)
target_include_directories(argosy_ps SYSTEM PRIVATE ${ARGOSY_JSON_INCLUDE})
target_precompile_headers(argosy_ps REUSE_FROM argosy_objects)
target_link_options(argosy_ps PRIVATE -Wl,-Bsymbolic-functions $<$<CONFIG:Release>:-Wl,-s>)
set_target_properties(argosy_ps PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${ARGOSY_PACKAGE_DIR}/lib
  BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")

file(GLOB ps_binding_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/src/ps/*.cc)
Python_add_library(_ps MODULE WITH_SOABI ${ps_binding_sources} ${ARGOSY_GIL_SOURCE})
target_link_options(_ps PRIVATE ${ARGOSY_GIL_OPTIONS})
target_include_directories(_ps PRIVATE ${PROJECT_SOURCE_DIR}/python/src)
target_link_libraries(_ps PRIVATE argosy_ps argosy argosy_flags argosy_baseline)
target_precompile_headers(_ps REUSE_FROM argosy_objects)
target_link_options(_ps PRIVATE $<$<CONFIG:Release>:-Wl,-s,--gc-sections>)
set_target_properties(_ps PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${ARGOSY_PACKAGE_DIR}
  BUILD_RPATH "$ORIGIN/lib"
  INSTALL_RPATH "$ORIGIN/lib")
add_dependencies(argosy_generated _ps)
