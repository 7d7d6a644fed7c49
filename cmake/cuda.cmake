# nvcc and the CUDA runtime: from CUDA_HOME, an nvcc on the PATH, or the wheels in deps/prefix. The sources are compiled by a
# custom command and not as a CMake language: the wheels have no layout that CMake's compiler test knows.
set(LINAC_CUDA_ARCHITECTURES 80 90 CACHE STRING "GPUs whose machine code is built (others run the PTX of the newest)")
find_program(LINAC_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin ${CMAKE_SOURCE_DIR}/deps/prefix/nvidia/cu13/bin /usr/local/cuda/bin)
if(NOT LINAC_NVCC)
  message(FATAL_ERROR "LINAC_CUDA=ON, but there is no nvcc: run LINAC_CUDA=1 deps/get.sh, or set CUDA_HOME to a CUDA toolkit")
endif()
get_filename_component(linac_cuda_root ${LINAC_NVCC} REALPATH)
get_filename_component(linac_cuda_root ${linac_cuda_root}/../.. ABSOLUTE)
find_library(LINAC_CUDART NAMES cudart libcudart.so.13
  HINTS ${linac_cuda_root}/lib64 ${linac_cuda_root}/lib ${linac_cuda_root}/targets/x86_64-linux/lib)
if(NOT LINAC_CUDART)
  message(FATAL_ERROR "LINAC_CUDA=ON, but there is no libcudart beside ${LINAC_NVCC}: run LINAC_CUDA=1 deps/get.sh, or set CUDA_HOME")
endif()
message(STATUS "CUDA: ${LINAC_NVCC}, ${LINAC_CUDART}")
# Programs look for it where they look for the libraries of the wheels (search_path.cmake), or in the toolkit.
get_filename_component(linac_cudart_folder ${LINAC_CUDART} DIRECTORY)
string(REPLACE ${CMAKE_SOURCE_DIR}/deps/prefix $ORIGIN/../${LINAC_LIBRARIES} linac_cudart_folder ${linac_cudart_folder})
list(APPEND CMAKE_INSTALL_RPATH ${linac_cudart_folder})

# bench/gpu_day/build.py reads this line. -fmad=false: as in the rest of linac, a fused multiply-add is used where it is written.
set(LINAC_NVCC_FLAGS -std=c++20 -O3 -fmad=false -Xcompiler=-Wall,-Wextra,-ffp-contract=off,-fPIC)

# linac_cuda_sources(TARGET sources.cu...): compiled by nvcc, linked into the static library TARGET with the CUDA runtime.
function(linac_cuda_sources target)
  set(machines "")
  foreach(architecture ${LINAC_CUDA_ARCHITECTURES})
    list(APPEND machines -gencode=arch=compute_${architecture},code=sm_${architecture})
    set(newest ${architecture})
  endforeach()
  list(APPEND machines -gencode=arch=compute_${newest},code=compute_${newest})
  foreach(source ${ARGN})
    get_filename_component(name ${source} NAME)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.o)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${LINAC_NVCC} -ccbin ${CMAKE_CXX_COMPILER} ${LINAC_NVCC_FLAGS} ${machines} -I${CMAKE_SOURCE_DIR}/src
              -MD -MF ${object}.d -c ${source} -o ${object}
      DEPENDS ${source}
      DEPFILE ${object}.d
      COMMENT "Building CUDA object ${name}.o"
      VERBATIM)
    target_sources(${target} PRIVATE ${object})
  endforeach()
  target_link_libraries(${target} PUBLIC ${LINAC_CUDART})
endfunction()
