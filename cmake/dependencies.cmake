# Everything that is not the compiler comes from the Python environment that Argosy is built for, so
# that libraries and interpreter agree. `make build` makes .venv; a wheel build brings its own. Without
# Python, dnnl_DIR and ARGOSY_OPENBLAS_DIR say where the same two libraries lie (docs/building.md).
if(ARGOSY_PYTHON)
  if(NOT Python_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
    set(Python_EXECUTABLE ${PROJECT_SOURCE_DIR}/.venv/bin/python CACHE FILEPATH "")
  endif()
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)

  # Prints where the packages' files lie: also right under pip's build isolation, where they are not
  # below sys.prefix.
  execute_process(
    COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/locate.py
    OUTPUT_VARIABLE located OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  list(GET located 0 dnnl_DIR)
  list(GET located 1 ARGOSY_OPENBLAS_DIR)
  find_package(dnnl 3.2 REQUIRED CONFIG PATHS ${dnnl_DIR} NO_DEFAULT_PATH)
else()
  find_package(dnnl 3.2 REQUIRED CONFIG)
  set(ARGOSY_OPENBLAS_DIR "" CACHE PATH "The folder with lib/libscipy_openblas.so")
  if(NOT EXISTS ${ARGOSY_OPENBLAS_DIR}/lib/libscipy_openblas.so)
    message(FATAL_ERROR "There is no lib/libscipy_openblas.so in ARGOSY_OPENBLAS_DIR"
      " ('${ARGOSY_OPENBLAS_DIR}'). Do this: unpack the wheel scipy-openblas32 and pass"
      " -DARGOSY_OPENBLAS_DIR=FOLDER/scipy_openblas32.")
  endif()
endif()

add_library(argosy_openblas SHARED IMPORTED)
set_target_properties(argosy_openblas PROPERTIES
  IMPORTED_LOCATION ${ARGOSY_OPENBLAS_DIR}/lib/libscipy_openblas.so
  INTERFACE_INCLUDE_DIRECTORIES ${ARGOSY_OPENBLAS_DIR}/include)

# FlatBuffers for saved Programs and JSON for the header of safetensors files: headers only, in
# sources only.
find_program(ARGOSY_FLATC flatc REQUIRED)
find_path(ARGOSY_FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h REQUIRED)
find_path(ARGOSY_JSON_INCLUDE nlohmann/json.hpp REQUIRED)

# Of gzip files among the training data.
find_package(ZLIB REQUIRED)

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
