# Libraries that read and write models of other formats, with Protobuf. A core links none of them and
# loads the one that it needs, which lies beside it, at the first call (src/argosy/infer/
# side_library.cc): libargosy.so loads libargosy_FORMAT.so, libargosy_infer.so
# libargosy_infer_FORMAT.so. Both are of the same objects.
find_package(Protobuf REQUIRED)

# argosy_format(onnx onnx.proto): the sources of src/argosy/infer/onnx.
function(argosy_format format proto)
  set(folder ${PROJECT_SOURCE_DIR}/src/argosy/infer/${format})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cc)
  cmake_path(GET proto STEM stem)
  set(generated ${PROJECT_BINARY_DIR}/generated_${format})
  file(MAKE_DIRECTORY ${generated})
  add_custom_command(OUTPUT ${generated}/${stem}.pb.cc ${generated}/${stem}.pb.h
    COMMAND ${Protobuf_PROTOC_EXECUTABLE} -I ${folder} --cpp_out=${generated} ${folder}/${proto}
    DEPENDS ${folder}/${proto} COMMENT "Generating ${stem}.pb.h" VERBATIM)

  # Not ours: no warnings of ours.
  add_library(argosy_${format}_proto OBJECT ${generated}/${stem}.pb.cc)
  target_include_directories(argosy_${format}_proto SYSTEM PUBLIC ${generated})
  target_link_libraries(argosy_${format}_proto PUBLIC protobuf::libprotobuf-lite)
  target_compile_options(argosy_${format}_proto PRIVATE -O1 -w)

  if(ARGOSY_FUZZ)  # see library.cmake
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS
      "-fsanitize=address,undefined;-fno-sanitize-recover=undefined;-fno-omit-frame-pointer;-O1;-g1;-fsanitize-coverage=trace-pc")
  endif()
  add_library(argosy_${format}_objects OBJECT ${sources})
  target_include_directories(argosy_${format}_objects PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_include_directories(argosy_${format}_objects SYSTEM PRIVATE ${ARGOSY_JSON_INCLUDE}
    ${generated})
  target_link_libraries(argosy_${format}_objects PRIVATE argosy_flags argosy_baseline)
  target_precompile_headers(argosy_${format}_objects REUSE_FROM argosy_objects)
  # Runs once for each model.
  target_compile_options(argosy_${format}_objects PRIVATE $<$<CONFIG:Release>:-O1>)
  # The generated header is there before what includes it is compiled.
  add_dependencies(argosy_${format}_objects argosy_${format}_proto)
endfunction()

# The library of a format for one core: argosy or argosy_infer.
function(argosy_format_library core format)
  set(target ${core}_${format})
  add_library(${target} SHARED $<TARGET_OBJECTS:argosy_${format}_objects>
    $<TARGET_OBJECTS:argosy_${format}_proto>)
  target_link_libraries(${target} PUBLIC ${core} PRIVATE argosy_flags protobuf::libprotobuf-lite)
  target_link_options(${target} PRIVATE -Wl,-Bsymbolic-functions $<$<CONFIG:Release>:-Wl,-s>)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX
    LIBRARY_OUTPUT_DIRECTORY ${ARGOSY_PACKAGE_DIR}/lib
    BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
endfunction()

set(formats onnx paddle)
argosy_format(onnx onnx.proto)
argosy_format(paddle framework.proto)
if(ARGOSY_PYTHON)
  foreach(format ${formats})
    argosy_format_library(argosy ${format})
    add_dependencies(argosy_generated argosy_${format})
  endforeach()
endif()
