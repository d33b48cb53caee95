# What a wheel holds beside the Python files (see pyproject.toml), and what programs in other languages
# need: cmake --install BUILD --component infer. Without Python the folders stand in the prefix itself.
if(ARGOSY_PYTHON AND NOT TARGET _core)
  return()
endif()
set(root argosy)
if(NOT ARGOSY_PYTHON)
  set(root .)
endif()
set(infer_libraries argosy_infer argosy_infer_onnx argosy_infer_paddle)
if(TARGET argosy_jni)
  list(APPEND infer_libraries argosy_jni)
  install(FILES ${ARGOSY_JAR} DESTINATION ${root}/lib COMPONENT infer)
endif()
install(TARGETS ${infer_libraries} LIBRARY DESTINATION ${root}/lib COMPONENT infer)
install(FILES ${PROJECT_SOURCE_DIR}/src/argosy/infer/c/argosy.h DESTINATION ${root}/include
  COMPONENT infer)
install(FILES ${ARGOSY_OPENBLAS_DIR}/lib/libscipy_openblas.so DESTINATION ${root}/lib
  COMPONENT infer)
file(GLOB openblas_license ${ARGOSY_OPENBLAS_DIR}/../scipy_openblas32-*.dist-info/licenses/LICENSE.txt)
if(openblas_license)
  install(FILES ${openblas_license} DESTINATION ${root}/lib RENAME libscipy_openblas.LICENSE.txt
    COMPONENT infer)
endif()

include(CMakePackageConfigHelpers)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/argosyConfig.cmake DESTINATION ${root}/cmake
  COMPONENT infer)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/argosyConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/argosyConfigVersion.cmake DESTINATION ${root}/cmake
  COMPONENT infer)

if(NOT ARGOSY_PYTHON)
  # A wheel gets oneDNN as a package that it depends on.
  install(IMPORTED_RUNTIME_ARTIFACTS DNNL::dnnl LIBRARY DESTINATION lib COMPONENT infer)
  return()
endif()
install(TARGETS argosy LIBRARY DESTINATION argosy/lib FILE_SET HEADERS DESTINATION argosy/include)
install(TARGETS _core LIBRARY DESTINATION argosy)
install(TARGETS argosy_ps argosy_net argosy_onnx argosy_paddle LIBRARY DESTINATION argosy/lib)
install(TARGETS _ps _net LIBRARY DESTINATION argosy)
install(FILES ${ARGOSY_PACKAGE_DIR}/_core.pyi DESTINATION argosy)
install(DIRECTORY ${ARGOSY_PACKAGE_DIR}/_generated DESTINATION argosy OPTIONAL
  PATTERN __pycache__ EXCLUDE PATTERN include EXCLUDE)
