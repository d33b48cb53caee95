# The extension module _core once more, for another Python than the one that builds: from its headers
# alone, so that a package made here runs on a machine with that Python (tools/gpu_bundle.sh). Target
# argosy_other_python, which is not part of `all`.
set(ARGOSY_OTHER_PYTHON "" CACHE PATH
  "Headers of another Python to build the extension module for, as /usr/include/python3.12")
if(NOT ARGOSY_OTHER_PYTHON)
  return()
endif()
if(NOT EXISTS ${ARGOSY_OTHER_PYTHON}/patchlevel.h)
  message(FATAL_ERROR "There is no patchlevel.h in ARGOSY_OTHER_PYTHON ('${ARGOSY_OTHER_PYTHON}')."
    " Do this: name the folder of Python.h.")
endif()
file(STRINGS ${ARGOSY_OTHER_PYTHON}/patchlevel.h lines REGEX "define PY_(MAJOR|MINOR)_VERSION")
string(REGEX REPLACE "[^0-9]" "" version "${lines}")

add_library(argosy_other_python MODULE EXCLUDE_FROM_ALL ${binding_sources})
target_include_directories(argosy_other_python SYSTEM PRIVATE ${ARGOSY_OTHER_PYTHON})
target_link_options(argosy_other_python PRIVATE ${ARGOSY_GIL_OPTIONS}
  $<$<CONFIG:Release>:-Wl,-s,--gc-sections>)
target_link_libraries(argosy_other_python PRIVATE argosy argosy_flags argosy_baseline)
target_precompile_headers(argosy_other_python REUSE_FROM argosy_objects)
set_target_properties(argosy_other_python PROPERTIES
  PREFIX "" OUTPUT_NAME _core SUFFIX ".cpython-${version}-x86_64-linux-gnu.so"
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/other_python
  BUILD_RPATH "$ORIGIN/lib")
