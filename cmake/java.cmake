# argosy.jar and libargosy_jni.so: the predictor for Java, over argosy.h. Built where a JDK is found.
find_package(Java QUIET COMPONENTS Development)
if(Java_FOUND)
  file(REAL_PATH ${Java_JAVAC_EXECUTABLE} jdk)
  cmake_path(GET jdk PARENT_PATH jdk)
  find_path(ARGOSY_JNI_INCLUDE jni.h HINTS ${jdk}/../include)
endif()
if(NOT ARGOSY_JNI_INCLUDE)
  message(STATUS "No JDK: the classes for Java are not built")
  return()
endif()
file(GLOB java_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/java/org/argosy/infer/*.java)
set(java_classes ${PROJECT_BINARY_DIR}/java)
set(ARGOSY_JAR ${ARGOSY_PACKAGE_DIR}/lib/argosy.jar)
add_custom_command(OUTPUT ${ARGOSY_JAR}
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${java_classes}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${ARGOSY_PACKAGE_DIR}/lib
  COMMAND ${Java_JAVAC_EXECUTABLE} --release 11 -Xlint:all -Werror -d ${java_classes} ${java_sources}
  COMMAND ${Java_JAR_EXECUTABLE} --create --file ${ARGOSY_JAR} -C ${java_classes} .
  DEPENDS ${java_sources} COMMENT "Building argosy.jar" VERBATIM)
add_custom_target(argosy_jar ALL DEPENDS ${ARGOSY_JAR})

add_library(argosy_jni SHARED ${PROJECT_SOURCE_DIR}/java/argosy_jni.cc)
target_include_directories(argosy_jni SYSTEM PRIVATE ${ARGOSY_JNI_INCLUDE}
  ${ARGOSY_JNI_INCLUDE}/linux)
target_link_libraries(argosy_jni PRIVATE argosy_infer argosy_flags argosy_baseline)
target_link_options(argosy_jni PRIVATE $<$<CONFIG:Release>:-Wl,-s>)
set_target_properties(argosy_jni PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${ARGOSY_PACKAGE_DIR}/lib
  BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
