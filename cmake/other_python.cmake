# The extension modules once more, for another Python than the one that builds: from its headers alone, so
# that a package made here runs on a machine with that Python (tools/gpu_bundle.sh). Target
# argosy_other_python, which is not part of `all`.
set(ARGOSY_OTHER_PYTHON "" CACHE PATH
  "Headers of another Python to build the extension modules for, as /usr/include/python3.12")
if(NOT ARGOSY_OTHER_PYTHON)
  return()
endif()
if(NOT EXISTS ${ARGOSY_OTHER_PYTHON}/patchlevel.h)
  message(FATAL_ERROR "There is no patchlevel.h in ARGOSY_OTHER_PYTHON ('${ARGOSY_OTHER_PYTHON}')."
    " Do this: name the folder of Python.h.")
endif()
file(STRINGS ${ARGOSY_OTHER_PYTHON}/patchlevel.h lines REGEX "define PY_(MAJOR|MINOR)_VERSION")
string(REGEX REPLACE "[^0-9]" "" version "${lines}")

add_custom_target(argosy_other_python)
foreach(module _core _ps _net)
  set(other ${module}_${version})
  get_target_property(sources ${module} SOURCES)
  get_target_property(options ${module} LINK_OPTIONS)
  add_library(${other} MODULE EXCLUDE_FROM_ALL ${sources})
  target_include_directories(${other} SYSTEM PRIVATE ${ARGOSY_OTHER_PYTHON})
  target_include_directories(${other} PRIVATE ${PROJECT_SOURCE_DIR}/python/src)
  string(REPLACE "_core" "" library "argosy${module}")
  target_link_libraries(${other} PRIVATE ${library} argosy argosy_flags argosy_baseline)
  target_link_options(${other} PRIVATE ${options})
  target_precompile_headers(${other} REUSE_FROM argosy_objects)
  set_target_properties(${other} PROPERTIES
    PREFIX "" OUTPUT_NAME ${module} SUFFIX ".cpython-${version}-x86_64-linux-gnu.so"
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python${version}
    BUILD_RPATH "$ORIGIN/lib")
  add_dependencies(argosy_other_python ${other})
endforeach()
