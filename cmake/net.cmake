# libargosy_net.so: process groups between hosts, with the keyed hashes of OpenSSL. The core does not
# link it; Python loads this library, with the module argosy._net, when the ranks of a job are on
# several hosts.
pkg_check_modules(ARGOSY_CRYPTO REQUIRED IMPORTED_TARGET libcrypto)

file(GLOB net_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/argosy/comm/net/*.cc)
add_library(argosy_net SHARED ${net_sources})
target_link_libraries(argosy_net PUBLIC argosy)
target_link_libraries(argosy_net PRIVATE argosy_flags argosy_baseline PkgConfig::ARGOSY_CRYPTO
  Threads::Threads)
target_precompile_headers(argosy_net REUSE_FROM argosy_objects)
target_link_options(argosy_net PRIVATE -Wl,-Bsymbolic-functions $<$<CONFIG:Release>:-Wl,-s>)
if(NOT ARGOSY_SANITIZE AND NOT ARGOSY_FUZZ)
  target_link_options(argosy_net PRIVATE -Wl,--no-undefined)
endif()
set_target_properties(argosy_net PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${ARGOSY_PACKAGE_DIR}/lib
  BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")

file(GLOB net_binding_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/src/net/*.cc)
Python_add_library(_net MODULE WITH_SOABI ${net_binding_sources} ${ARGOSY_GIL_SOURCE})
target_link_options(_net PRIVATE ${ARGOSY_GIL_OPTIONS})
target_include_directories(_net PRIVATE ${PROJECT_SOURCE_DIR}/python/src)
target_link_libraries(_net PRIVATE argosy_net argosy argosy_flags argosy_baseline)
target_precompile_headers(_net REUSE_FROM argosy_objects)
target_link_options(_net PRIVATE $<$<CONFIG:Release>:-Wl,-s,--gc-sections>)
set_target_properties(_net PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${ARGOSY_PACKAGE_DIR}
  BUILD_RPATH "$ORIGIN/lib"
  INSTALL_RPATH "$ORIGIN/lib")
add_dependencies(argosy_generated _net)
