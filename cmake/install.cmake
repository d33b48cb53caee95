# What a wheel holds beside the Python files: see pyproject.toml.
if(NOT TARGET _core)
  return()
endif()
install(TARGETS argosy LIBRARY DESTINATION argosy/lib FILE_SET HEADERS DESTINATION argosy/include)
install(TARGETS _core LIBRARY DESTINATION argosy)
install(TARGETS argosy_ps argosy_net LIBRARY DESTINATION argosy/lib)
install(TARGETS _ps _net LIBRARY DESTINATION argosy)
install(TARGETS argosy_paddle LIBRARY DESTINATION argosy/lib)
install(TARGETS argosy_onnx LIBRARY DESTINATION argosy/lib)
install(TARGETS argosy_infer LIBRARY DESTINATION argosy/lib)
install(FILES ${PROJECT_SOURCE_DIR}/src/argosy/infer/c/argosy.h DESTINATION argosy/include)
install(FILES ${ARGOSY_PACKAGE_DIR}/_core.pyi DESTINATION argosy)
install(FILES ${ARGOSY_OPENBLAS_DIR}/lib/libscipy_openblas.so DESTINATION argosy/lib)
file(GLOB openblas_license ${ARGOSY_OPENBLAS_DIR}/../scipy_openblas32-*.dist-info/licenses/LICENSE.txt)
install(FILES ${openblas_license} DESTINATION argosy/lib RENAME libscipy_openblas.LICENSE.txt)
install(DIRECTORY ${ARGOSY_PACKAGE_DIR}/_generated DESTINATION argosy OPTIONAL
  PATTERN __pycache__ EXCLUDE PATTERN include EXCLUDE)

include(CMakePackageConfigHelpers)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/argosyConfig.cmake DESTINATION argosy/cmake)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/argosyConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/argosyConfigVersion.cmake DESTINATION argosy/cmake)
