# Finds a CUDA toolkit and compiles the device code with it.
#
# TAG_CUDA is AUTO (build the GPU kernels if there is a working toolkit), ON (fail if there is none)
# or OFF. Outputs: TAG_CUDA_OBJECTS, the compiled device code, and TAG_CUDA_LIBRARIES, the CUDA
# runtime and the libraries that it needs. Both are empty in a build without CUDA, which compiles
# TAG_NO_CUDA_SOURCES instead.
#
# nvcc is called by a custom command. If CUDA were enabled as a language of CMake, a broken toolkit
# would end the configuration, even with AUTO. The runtime is linked statically and its symbols are
# not exported, because TensorFlow has another version of it in the same process.

set(TAG_CUDA AUTO CACHE STRING "Build the GPU kernels: AUTO, ON or OFF")
set(TAG_CUDA_SOURCES
  cc/device/cuda_kernels.cu)
set(TAG_NO_CUDA_SOURCES
  cc/device/cuda_absent.cc)
# The architectures that TensorFlow's wheels have code for. Newer devices use the PTX of the last
# one. Architectures that the toolkit does not support are left out.
set(TAG_CUDA_WANTED 60 70 75 80 90)

# Finds nvcc and the CUDA runtime. Sets TAG_CUDA_NVCC, TAG_CUDA_INCLUDE, TAG_CUDA_FLAGS,
# TAG_CUDA_LOWEST, TAG_CUDA_NEWEST and TAG_CUDA_LIBRARIES, and the variable `why` to "". If
# something is missing or does not work, sets `why` to the reason.
function(tag_find_cuda why)
  if(CMAKE_CROSSCOMPILING)
    set(${why} "not supported when cross-compiling" PARENT_SCOPE)
    return()
  endif()
  # The last places are the folders of the wheels nvidia-cuda-nvcc, -runtime and -cccl.
  file(GLOB _wheels ${Python_SITELIB}/nvidia/cu*/bin ${TAG_TENSORFLOW_DIR}/../nvidia/cu*/bin)
  find_program(TAG_CUDA_NVCC nvcc PATHS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin
               /usr/local/cuda/bin ${_wheels})
  if(NOT TAG_CUDA_NVCC)
    set(${why} "no nvcc in PATH, CUDA_HOME, /usr/local/cuda or the Python environment" PARENT_SCOPE)
    return()
  endif()
  # --dryrun prints the folder of the toolkit (TOP) and the folders of its libraries (-L). The path
  # of nvcc does not determine them, because it may be a script that calls another nvcc, and a
  # toolkit from packages of the system has no folder of its own.
  execute_process(COMMAND ${TAG_CUDA_NVCC} --dryrun -x cu -c /dev/null -o /dev/null
    ERROR_VARIABLE _plan OUTPUT_VARIABLE _plan_too RESULT_VARIABLE _failed)
  if(_failed)
    set(${why} "${TAG_CUDA_NVCC} does not run" PARENT_SCOPE)
    return()
  endif()
  set(_toolkit)
  if("${_plan}${_plan_too}" MATCHES "TOP=([^\n]+)")
    get_filename_component(_toolkit ${CMAKE_MATCH_1} REALPATH)
  endif()
  string(REGEX MATCHALL "-L[^ \"\n]+" _folders "${_plan}${_plan_too}")
  list(TRANSFORM _folders REPLACE "^-L" "")
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
    set(_target targets/sbsa-linux)
  else()
    set(_target targets/x86_64-linux)
  endif()
  set(_suffixes lib64 lib ${_target}/lib)
  find_library(TAG_CUDA_RUNTIME cudart_static HINTS ${_toolkit} ${_folders}
               PATH_SUFFIXES ${_suffixes})
  if(NOT TAG_CUDA_RUNTIME)
    set(${why} "no libcudart_static.a in ${_toolkit} ${_folders}" PARENT_SCOPE)
    return()
  endif()
  find_path(TAG_CUDA_INCLUDE cuda_runtime.h HINTS ${_toolkit}
    PATH_SUFFIXES include ${_target}/include)

  execute_process(COMMAND ${TAG_CUDA_NVCC} --list-gpu-code OUTPUT_VARIABLE _codes)
  set(_architectures)
  foreach(_number ${TAG_CUDA_WANTED})
    if(_codes MATCHES "sm_${_number}\n")
      list(APPEND _architectures ${_number})
      set(_flags ${_flags} -gencode arch=compute_${_number},code=sm_${_number})
    endif()
  endforeach()
  if(NOT _architectures)
    set(${why} "${TAG_CUDA_NVCC} knows none of sm_${TAG_CUDA_WANTED}" PARENT_SCOPE)
    return()
  endif()
  list(GET _architectures 0 _lowest)
  list(GET _architectures -1 _newest)
  list(APPEND _flags -gencode arch=compute_${_newest},code=compute_${_newest}
    -std=c++17 -O3 -Wno-deprecated-gpu-targets -ccbin ${CMAKE_CXX_COMPILER} -Xcompiler -fPIC,-fvisibility=hidden)

  # Only a compilation shows whether this nvcc supports this C++ compiler.
  if(NOT TAG_CUDA_WORKS STREQUAL "${TAG_CUDA_NVCC} ${CMAKE_CXX_COMPILER}")
    set(_probe ${PROJECT_BINARY_DIR}/cuda_probe.cu)
    file(WRITE ${_probe} "#include <cuda_fp16.h>\n#include <string>\n__global__ void Nothing() {}\n"
                         "cudaError_t f() { return cudaLaunchKernelExC(nullptr, nullptr, nullptr); }\n")
    execute_process(COMMAND ${TAG_CUDA_NVCC} ${_flags} -c ${_probe} -o ${_probe}.o
      RESULT_VARIABLE _failed OUTPUT_VARIABLE _output ERROR_VARIABLE _output)
    if(_failed)
      set(${why} "${TAG_CUDA_NVCC} compiles nothing here: ${_output}" PARENT_SCOPE)
      return()
    endif()
    set(TAG_CUDA_WORKS "${TAG_CUDA_NVCC} ${CMAKE_CXX_COMPILER}" CACHE INTERNAL "")
  endif()
  set(TAG_CUDA_FLAGS ${_flags} PARENT_SCOPE)
  set(TAG_CUDA_LOWEST ${_lowest} PARENT_SCOPE)
  set(TAG_CUDA_NEWEST ${_newest} PARENT_SCOPE)
  set(TAG_CUDA_LIBRARIES ${TAG_CUDA_RUNTIME} ${CMAKE_DL_LIBS} rt pthread PARENT_SCOPE)
  set(${why} "" PARENT_SCOPE)
  string(REPLACE ";" ", " _architectures "${_architectures}")
  message(STATUS "CUDA: ${TAG_CUDA_NVCC}, sm_${_architectures} and PTX")
endfunction()

set(TAG_CUDA_OBJECTS)
set(TAG_CUDA_LIBRARIES)
if(TAG_CUDA)
  tag_find_cuda(_why)
  if(_why AND TAG_CUDA STREQUAL "AUTO")
    message(STATUS "No GPU kernels: ${_why}")
  elseif(_why)
    message(FATAL_ERROR "The GPU kernels cannot be built: ${_why}")
  else()
    foreach(_source ${TAG_CUDA_SOURCES})
      set(_object ${PROJECT_BINARY_DIR}/${_source}.o)
      get_filename_component(_folder ${_object} DIRECTORY)
      file(MAKE_DIRECTORY ${_folder})
      add_custom_command(OUTPUT ${_object} DEPFILE ${_object}.d DEPENDS ${_source}
        COMMAND ${TAG_CUDA_NVCC} ${TAG_CUDA_FLAGS} -Xcompiler -Wall,-Wextra
                -DTAG_CUDA_LOWEST=${TAG_CUDA_LOWEST} -DTAG_CUDA_NEWEST=${TAG_CUDA_NEWEST}
                -I${PROJECT_SOURCE_DIR}
                -MD -MF ${_object}.d -c ${PROJECT_SOURCE_DIR}/${_source} -o ${_object}
        COMMENT "Building CUDA object ${_source}.o" VERBATIM)
      list(APPEND TAG_CUDA_OBJECTS ${_object})
    endforeach()
    set_source_files_properties(${TAG_CUDA_OBJECTS} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  endif()
endif()
