# Makes the target TensorFlow::framework from the TensorFlow wheel of the building Python.
#
# Looks only at the installed files (importlib.metadata): TensorFlow is never imported, so this also
# works inside pip's isolated build environment. Inputs: Python_EXECUTABLE (from find_package), or
# TAG_TENSORFLOW_DIR and TAG_TENSORFLOW_VERSION to name a wheel's `tensorflow` folder by hand.
# TAG_SITE_PACKAGES, where given, is searched first. Outputs: TAG_TENSORFLOW_DIR,
# TAG_TENSORFLOW_VERSION (2.21.0), TAG_TENSORFLOW_MINOR (2.21), and the targets
# TensorFlow::framework and TensorFlow::cc. Where there is no wheel, find_package gets
# TAG_TENSORFLOW_NOT_FOUND instead; anyone else ends here.

if(NOT TAG_TENSORFLOW_DIR)
  execute_process(
    COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/find_tensorflow.py ${TAG_SITE_PACKAGES}
    OUTPUT_VARIABLE _found OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE _failed ERROR_VARIABLE _why)
  if(_failed)
    string(CONCAT TAG_TENSORFLOW_NOT_FOUND "No TensorFlow wheel for ${Python_EXECUTABLE}: ${_why}\n"
                  "Run: ${Python_EXECUTABLE} -m pip install tensorflow-cpu")
    if(CMAKE_FIND_PACKAGE_NAME)
      return()
    endif()
    message(FATAL_ERROR "${TAG_TENSORFLOW_NOT_FOUND}")
  endif()
  list(GET _found 0 TAG_TENSORFLOW_DIR)
  list(GET _found 1 TAG_TENSORFLOW_VERSION)
  list(GET _found 2 TAG_TENSORFLOW_DISTRIBUTION)
  set(TAG_TENSORFLOW_DIR ${TAG_TENSORFLOW_DIR} CACHE PATH "The wheel's tensorflow folder")
  set(TAG_TENSORFLOW_VERSION ${TAG_TENSORFLOW_VERSION} CACHE STRING "The wheel's version")
  set(TAG_TENSORFLOW_DISTRIBUTION ${TAG_TENSORFLOW_DISTRIBUTION}
      CACHE STRING "The wheel's name: tensorflow, tensorflow-cpu or a nightly")
elseif(NOT TAG_TENSORFLOW_DISTRIBUTION)
  set(TAG_TENSORFLOW_DISTRIBUTION tensorflow)  # a wheel named by hand, or by an older build folder
endif()
string(REGEX MATCH "^[0-9]+\\.[0-9]+" TAG_TENSORFLOW_MINOR ${TAG_TENSORFLOW_VERSION})
message(STATUS "TensorFlow ${TAG_TENSORFLOW_VERSION} in ${TAG_TENSORFLOW_DIR}")

add_library(TensorFlow::framework SHARED IMPORTED)
set_target_properties(TensorFlow::framework PROPERTIES
  IMPORTED_LOCATION ${TAG_TENSORFLOW_DIR}/libtensorflow_framework.so.2
  IMPORTED_SONAME libtensorflow_framework.so.2)
target_include_directories(TensorFlow::framework SYSTEM INTERFACE ${TAG_TENSORFLOW_DIR}/include)
# What tf.sysconfig.get_compile_flags() answers in every release from 2.16 to 2.21.
target_compile_definitions(TensorFlow::framework INTERFACE
  _GLIBCXX_USE_CXX11_ABI=1 EIGEN_MAX_ALIGN_BYTES=64)
# Some of its classes (EdgeSet) have one member more without NDEBUG, which the wheel was built with:
# a Debug build of ours would read them wrongly. Release defines it anyway.
target_compile_definitions(TensorFlow::framework INTERFACE
  $<$<NOT:$<CONFIG:Release>>:NDEBUG>)
target_compile_features(TensorFlow::framework INTERFACE cxx_std_17)

# The C++ client API (Scope, ops): only cc/api and the C++ examples need it.
add_library(TensorFlow::cc SHARED IMPORTED)
set_target_properties(TensorFlow::cc PROPERTIES
  IMPORTED_LOCATION ${TAG_TENSORFLOW_DIR}/libtensorflow_cc.so.2
  IMPORTED_SONAME libtensorflow_cc.so.2)
target_link_libraries(TensorFlow::cc INTERFACE TensorFlow::framework)
# Its 750 MB take ld.bfd 5 s and 0.9 GB for each program, gold 1.2 s.
find_program(TAG_LD_GOLD ld.gold)
if(TAG_LD_GOLD)
  target_link_options(TensorFlow::cc INTERFACE -fuse-ld=gold)
endif()
