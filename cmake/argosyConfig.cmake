# find_package(argosy CONFIG) for ops built outside the tree, against an installed wheel:
#
#   find_package(argosy REQUIRED CONFIG)   # -DCMAKE_PREFIX_PATH=<site-packages>/argosy
#   argosy_add_ops(my_ops my_op.cc)        # libmy_ops.so, whose ops register when it is loaded
#
#
# and for programs that run models through argosy.h, in C or any language that calls C:
#
#   find_package(argosy REQUIRED CONFIG COMPONENTS infer)
#   target_link_libraries(my_program PRIVATE argosy::infer)
#
# Paths are relative to this file, so the package may lie anywhere.
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH _argosy_root)

if(NOT TARGET argosy::argosy AND EXISTS ${_argosy_root}/lib/libargosy.so)
  add_library(argosy::argosy SHARED IMPORTED)
  set_target_properties(argosy::argosy PROPERTIES
    IMPORTED_LOCATION ${_argosy_root}/lib/libargosy.so
    IMPORTED_SONAME libargosy.so
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_INCLUDE_DIRECTORIES ${_argosy_root}/include)
  # libargosy.so finds oneDNN and OpenBLAS by its own run path; a linker need not.
  target_link_options(argosy::argosy INTERFACE -Wl,--allow-shlib-undefined)
endif()

# A module whose link to libargosy.so is the copy that `import argosy` has already loaded. It is marked
# with the version of these headers: an Argosy with others refuses to load it.
function(argosy_add_ops name)
  if(NOT TARGET argosy::argosy)
    message(FATAL_ERROR "This Argosy only runs models: ops are built against an installed wheel.")
  endif()
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE argosy::argosy)
  target_compile_options(${name} PRIVATE -include argosy_abi.h)
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
endfunction()

if("infer" IN_LIST argosy_FIND_COMPONENTS AND NOT TARGET argosy::infer)
  add_library(argosy::infer SHARED IMPORTED)
  set_target_properties(argosy::infer PROPERTIES
    IMPORTED_LOCATION ${_argosy_root}/lib/libargosy_infer.so
    IMPORTED_SONAME libargosy_infer.so
    INTERFACE_INCLUDE_DIRECTORIES ${_argosy_root}/include)
  target_link_options(argosy::infer INTERFACE -Wl,--allow-shlib-undefined)
endif()
foreach(_argosy_component IN LISTS argosy_FIND_COMPONENTS)
  set(argosy_${_argosy_component}_FOUND OFF)
  if(TARGET argosy::${_argosy_component})
    set(argosy_${_argosy_component}_FOUND ON)
  elseif(argosy_FIND_REQUIRED_${_argosy_component})
    set(argosy_FOUND OFF)
    set(argosy_NOT_FOUND_MESSAGE "argosy has no component ${_argosy_component}; there is: infer")
  endif()
endforeach()
