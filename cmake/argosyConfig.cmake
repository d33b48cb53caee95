# find_package(argosy CONFIG) for ops built outside the tree, against an installed wheel:
#
#   find_package(argosy REQUIRED CONFIG)   # -DCMAKE_PREFIX_PATH=<site-packages>/argosy
#   argosy_add_ops(my_ops my_op.cc)        # libmy_ops.so, whose ops register when it is loaded
#
# Paths are relative to this file, so the package may lie anywhere.
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH _argosy_root)

if(NOT TARGET argosy::argosy)
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
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE argosy::argosy)
  target_compile_options(${name} PRIVATE -include argosy_abi.h)
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
endfunction()
