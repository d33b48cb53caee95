# The extension module and what is generated from it. ARGOSY_PACKAGE_DIR is the package `argosy` that
# this build makes importable: the source tree's, or a copy by links in the build folder, so that
# debug and sanitizer builds do not disturb it.
set(package_source ${PROJECT_SOURCE_DIR}/python/argosy)
if(ARGOSY_INPLACE)
  set(ARGOSY_PACKAGE_DIR ${package_source})
else()
  set(ARGOSY_PACKAGE_DIR ${PROJECT_BINARY_DIR}/python/argosy)
  file(MAKE_DIRECTORY ${ARGOSY_PACKAGE_DIR})
  file(GLOB entries CONFIGURE_DEPENDS ${package_source}/*)
  list(FILTER entries EXCLUDE REGEX "/(lib|_generated|include|__pycache__|(_core|_ps|_net)\\..*)$")
  foreach(entry ${entries})
    cmake_path(GET entry FILENAME name)
    file(CREATE_LINK ${entry} ${ARGOSY_PACKAGE_DIR}/${name} SYMBOLIC)
  endforeach()
endif()

set_target_properties(argosy PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${ARGOSY_PACKAGE_DIR}/lib
  # Installed: in argosy/lib of site-packages, beside OpenBLAS; oneDNN's wheel puts its library into
  # the environment's lib (four up), or beside the packages under `pip install --target`.
  INSTALL_RPATH "$ORIGIN;$ORIGIN/../../../..;$ORIGIN/../../lib")

# Beside the sources' own headers, for extensions that are built against this build.
file(MAKE_DIRECTORY ${ARGOSY_PACKAGE_DIR}/_generated/include)
file(CREATE_LINK ${abi_header} ${ARGOSY_PACKAGE_DIR}/_generated/include/argosy_abi.h SYMBOLIC)

file(GLOB binding_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/src/*.cc)
if(NOT binding_sources)
  return()
endif()
# Of each extension module, whose threads take the GIL by gil.cc.
set(ARGOSY_GIL_SOURCE ${PROJECT_SOURCE_DIR}/python/src/gil.cc)
set(ARGOSY_GIL_OPTIONS)
foreach(symbol PyEval_SaveThread PyEval_RestoreThread PyGILState_Ensure PyGILState_Release
    PyObject_CallOneArg)
  list(APPEND ARGOSY_GIL_OPTIONS -Wl,--wrap=${symbol})
endforeach()
Python_add_library(_core MODULE WITH_SOABI ${binding_sources})
target_link_options(_core PRIVATE ${ARGOSY_GIL_OPTIONS})
target_link_libraries(_core PRIVATE argosy argosy_flags argosy_baseline)
target_precompile_headers(_core REUSE_FROM argosy_objects)
target_link_options(_core PRIVATE $<$<CONFIG:Release>:-Wl,-s,--gc-sections>)
set_target_properties(_core PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${ARGOSY_PACKAGE_DIR}
  BUILD_RPATH "$ORIGIN/lib"
  INSTALL_RPATH "$ORIGIN/lib")

# Python functions, stubs and tables, from the registry inside the module just built.
set(generator ${PROJECT_SOURCE_DIR}/tools/generate_api.py)
set(stubs ${PROJECT_SOURCE_DIR}/tools/generate_stubs.py)
if(EXISTS ${generator})
  set(stamp ${PROJECT_BINARY_DIR}/generate_api.stamp)
  set(run ${CMAKE_COMMAND} -E env PYTHONPATH=${ARGOSY_PACKAGE_DIR}/..
      ARGOSY_PACKAGE_DIR=${ARGOSY_PACKAGE_DIR})
  if(ARGOSY_SANITIZE MATCHES "address|thread")
    # The interpreter is not instrumented: the sanitizer has to be there before it, and libstdc++ with
    # it, or the sanitizer does not find __cxa_throw.
    string(REGEX MATCH "address|thread" which ${ARGOSY_SANITIZE})
    string(SUBSTRING ${which} 0 1 initial)
    set(preload)
    foreach(library lib${initial}san.so libstdc++.so)
      execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${library}
        OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
      list(APPEND preload ${path})
    endforeach()
    list(JOIN preload ":" preload)
    list(APPEND run LD_PRELOAD=${preload} ASAN_OPTIONS=detect_leaks=0)
  endif()
  add_custom_command(OUTPUT ${stamp}
    COMMAND ${run} ${Python_EXECUTABLE} ${generator}
    COMMAND ${run} ${Python_EXECUTABLE} ${stubs}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS _core argosy ${generator} ${stubs}
    COMMENT "Generating argosy/_generated" VERBATIM)
  add_custom_target(argosy_generated ALL DEPENDS ${stamp})
endif()
