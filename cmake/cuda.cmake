# libargosy_cuda.so: kernels, memory and streams of NVIDIA GPUs. It is loaded when a GPU is first asked
# for (op/accelerator.h); nothing else needs it or a toolkit. Built by `make cuda`.
option(ARGOSY_CUDA "Build libargosy_cuda.so" OFF)
set(ARGOSY_CUDA_ARCHITECTURES "80-real;90" CACHE STRING
  "GPUs to compile for: machine code of each, and PTX of the last for those to come")
# What the kernels of fused chains include, which NVRTC compiles at run time.
file(GLOB chain_texts CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src
  ${PROJECT_SOURCE_DIR}/src/argosy/kernels/cuda/ops_*.cuh)
foreach(name chain.cuh chain_args.h chain_ops.cuh chain_std.cuh divider.h element.cuh functors.cuh math.cuh near.cuh)
  list(APPEND chain_texts argosy/kernels/cuda/${name})
endforeach()
set(chain_headers ${PROJECT_BINARY_DIR}/generated/chain_headers.cc)
list(TRANSFORM chain_texts PREPEND ${PROJECT_SOURCE_DIR}/src/ OUTPUT_VARIABLE chain_files)
add_custom_command(OUTPUT ${chain_headers}
  COMMAND ${CMAKE_COMMAND} -DOUT=${chain_headers} -DROOT=${PROJECT_SOURCE_DIR}/src "-DFILES=${chain_texts}"
    -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${chain_files} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM)

if(NOT ARGOSY_CUDA)
  return()
endif()

set(CMAKE_CUDA_ARCHITECTURES ${ARGOSY_CUDA_ARCHITECTURES})
find_program(ARGOSY_NVCC nvcc PATHS /usr/local/cuda/bin REQUIRED)
set(CMAKE_CUDA_COMPILER ${ARGOSY_NVCC})
if(CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()
enable_language(CUDA)
# CMake 3.25 does not know what CUDA 13 calls the standard.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
find_package(CUDAToolkit REQUIRED)

# cuDNN's C++ front end, headers of a wheel (tools/requirements.cuda.txt) or of anywhere. Without it
# attention runs as products and a softmax.
if(NOT ARGOSY_CUDNN_FRONTEND AND ARGOSY_PYTHON)
  execute_process(
    COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/locate.py
      nvidia-cudnn-frontend cudnn_frontend.h
    OUTPUT_VARIABLE located OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(located)
    set(ARGOSY_CUDNN_FRONTEND ${located} CACHE PATH "The folder with cudnn_frontend.h" FORCE)
  endif()
endif()

file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/argosy/kernels/cuda/*.cu
  ${PROJECT_SOURCE_DIR}/src/argosy/kernels/cuda/*.cc
  ${PROJECT_SOURCE_DIR}/src/argosy/cuda/*.cc)
if(NOT ARGOSY_CUDNN_FRONTEND)
  message(WARNING "There is no cudnn_frontend.h, so no fused attention and no fast 16-bit convolutions on GPUs."
    " Do this: .venv/bin/pip install -r tools/requirements.cuda.txt")
  list(FILTER cuda_sources EXCLUDE REGEX "/cuda/(ops/)?attention\\.cc$|/conv_graph\\.cc$")
endif()
add_library(argosy_cuda SHARED EXCLUDE_FROM_ALL ${cuda_sources} ${chain_headers})
target_include_directories(argosy_cuda PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(argosy_cuda SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
if(ARGOSY_CUDNN_FRONTEND)
  target_include_directories(argosy_cuda SYSTEM PRIVATE ${ARGOSY_CUDNN_FRONTEND})
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/argosy/kernels/cuda/conv_last.cc
    PROPERTIES COMPILE_DEFINITIONS ARGOSY_CUDNN_GRAPHS)
endif()
target_compile_options(argosy_cuda PRIVATE
  "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;--extended-lambda;-Xcompiler=-Wall,-fvisibility=hidden>")
target_link_libraries(argosy_cuda PRIVATE argosy argosy_flags argosy_baseline
  CUDA::cudart CUDA::cublasLt CUDA::cublas cudnn ${CMAKE_DL_LIBS} Threads::Threads)
target_link_directories(argosy_cuda PRIVATE ${CUDAToolkit_LIBRARY_DIR})
target_link_options(argosy_cuda PRIVATE -Wl,--no-undefined
  $<$<CONFIG:Release>:-Wl,-s,--gc-sections>)
set_target_properties(argosy_cuda PROPERTIES
  # The static runtime brings 12 KB of thread-local memory. With ours, which is of the initial-exec model
  # (flags.cmake), it would have to fit into what the loader keeps for libraries loaded late: it does not.
  CUDA_RUNTIME_LIBRARY Shared
  LIBRARY_OUTPUT_DIRECTORY ${ARGOSY_PACKAGE_DIR}/lib
  # NVIDIA's libraries: those of the toolkit, or of its wheels beside the package.
  BUILD_RPATH "$ORIGIN"
  INSTALL_RPATH "$ORIGIN;$ORIGIN/../../nvidia/cu13/lib;$ORIGIN/../../nvidia/cudnn/lib;$ORIGIN/../../nvidia/nccl/lib")

# What every loop is in the text of a fused chain, compiled by NVRTC. Needs no GPU.
add_executable(chain_checker EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/cuda/check_chains.cc
  $<TARGET_OBJECTS:argosy_cuda>)
target_include_directories(chain_checker PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(chain_checker SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
target_link_libraries(chain_checker PRIVATE argosy argosy_flags argosy_baseline
  CUDA::cudart CUDA::cublasLt CUDA::cublas cudnn ${CMAKE_DL_LIBS} Threads::Threads)
target_link_directories(chain_checker PRIVATE ${CUDAToolkit_LIBRARY_DIR})
set_target_properties(chain_checker PROPERTIES CUDA_RUNTIME_LIBRARY Shared
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests
  BUILD_RPATH "${ARGOSY_PACKAGE_DIR}/lib;${CUDAToolkit_LIBRARY_DIR}")
add_custom_target(check_chains COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${CUDAToolkit_LIBRARY_DIR}
  $<TARGET_FILE:chain_checker> DEPENDS chain_checker)
