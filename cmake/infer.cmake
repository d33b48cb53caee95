# libargosy_infer.so: the predictor behind argosy.h by itself, for programs that only run models. It
# has the rooms that a run needs (library.cmake), and needs oneDNN, OpenBLAS and zlib, but no Python.
# It shows the functions of argosy.h, and to libraries of formats what these refer to.
set(infer_objects "$<TARGET_OBJECTS:argosy_objects>" "$<TARGET_OBJECTS:argosy_once>")
set(infer_objects "$<FILTER:${infer_objects},EXCLUDE,${infer_rooms_out}>")
if(simd_sources)
  foreach(isa avx2 avx512)
    list(APPEND infer_objects "$<FILTER:$<TARGET_OBJECTS:argosy_${isa}>,EXCLUDE,${infer_simd_out}>")
  endforeach()
endif()

set(infer_symbols ${PROJECT_BINARY_DIR}/infer.map)
set(format_objects)
foreach(format ${formats})
  list(APPEND format_objects $<TARGET_OBJECTS:argosy_${format}_objects>)
endforeach()
add_custom_command(OUTPUT ${infer_symbols}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${infer_symbols} -DNM=${CMAKE_NM} "-DOBJECTS=${format_objects}"
    -P ${PROJECT_SOURCE_DIR}/cmake/infer_exports.cmake
  DEPENDS ${format_objects} ${PROJECT_SOURCE_DIR}/cmake/infer_exports.cmake
  COMMENT "Listing what libargosy_infer.so shows" VERBATIM)
add_custom_target(argosy_infer_symbols DEPENDS ${infer_symbols})

add_library(argosy_infer SHARED ${infer_objects})
add_dependencies(argosy_infer argosy_infer_symbols)
set_target_properties(argosy_infer PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS ${infer_symbols}
  LIBRARY_OUTPUT_DIRECTORY ${ARGOSY_PACKAGE_DIR}/lib
  INSTALL_RPATH "$ORIGIN;$ORIGIN/../../../..;$ORIGIN/../../lib")
target_include_directories(argosy_infer PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src/argosy/infer/c>)
target_link_libraries(argosy_infer PRIVATE argosy_flags DNNL::dnnl argosy_openblas gomp ZLIB::ZLIB
  Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(argosy_infer PRIVATE -Wl,--version-script=${infer_symbols}
  -Wl,-Bsymbolic-functions $<$<CONFIG:Release>:-Wl,-s,--gc-sections>)
if(NOT ARGOSY_SANITIZE AND NOT ARGOSY_FUZZ)
  target_link_options(argosy_infer PRIVATE -Wl,--no-undefined)
endif()
foreach(format ${formats})
  argosy_format_library(argosy_infer ${format})
endforeach()
