# Makes the targets TensorFlow::framework and TensorFlow::cc from the TensorFlow wheel of a Python.
#
# Reads the metadata of installed wheels and does not import TensorFlow, so this also works inside
# pip's isolated build environment. Inputs: Python_EXECUTABLE (from find_package), or
# TAG_TENSORFLOW_DIR and TAG_TENSORFLOW_VERSION, which name the `tensorflow` folder of a wheel.
# TAG_SITE_PACKAGES, if set, is searched first. Other outputs: TAG_TENSORFLOW_DIR,
# TAG_TENSORFLOW_VERSION (2.21.0) and TAG_TENSORFLOW_MINOR (2.21). If there is no wheel, the
# configuration ends with an error, except inside find_package, which gets the text of the error in
# TAG_TENSORFLOW_NOT_FOUND.

if(NOT TAG_TENSORFLOW_DIR)
  execute_process(
    COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/find_tensorflow.py ${TAG_SITE_PACKAGES}
    OUTPUT_VARIABLE _found OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE _failed ERROR_VARIABLE _why)
  if(_failed)
    set(TAG_TENSORFLOW_NOT_FOUND "No TensorFlow wheel for ${Python_EXECUTABLE}: ${_why}")
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
  set(TAG_TENSORFLOW_DISTRIBUTION tensorflow)  # only TAG_TENSORFLOW_DIR names the wheel
endif()
string(REGEX MATCH "^[0-9]+\\.[0-9]+" TAG_TENSORFLOW_MINOR ${TAG_TENSORFLOW_VERSION})
message(STATUS "TensorFlow ${TAG_TENSORFLOW_VERSION} in ${TAG_TENSORFLOW_DIR}")

add_library(TensorFlow::framework SHARED IMPORTED)
set_target_properties(TensorFlow::framework PROPERTIES
  IMPORTED_LOCATION ${TAG_TENSORFLOW_DIR}/libtensorflow_framework.so.2
  IMPORTED_SONAME libtensorflow_framework.so.2)
target_include_directories(TensorFlow::framework SYSTEM INTERFACE ${TAG_TENSORFLOW_DIR}/include)
# The flags that tf.sysconfig.get_compile_flags() returns in every release from 2.16 to 2.21.
target_compile_definitions(TensorFlow::framework INTERFACE
  _GLIBCXX_USE_CXX11_ABI=1 EIGEN_MAX_ALIGN_BYTES=64)
# The wheel was built with NDEBUG. Without it, some classes of the headers (EdgeSet) have one member
# more, so a Debug build would read objects of TensorFlow wrongly. CMake's Release defines NDEBUG.
target_compile_definitions(TensorFlow::framework INTERFACE
  $<$<NOT:$<CONFIG:Release>>:NDEBUG>)
target_compile_features(TensorFlow::framework INTERFACE cxx_std_17)

# The C++ client API (Scope, ops): only cc/api and the C++ examples need it.
add_library(TensorFlow::cc SHARED IMPORTED)
set_target_properties(TensorFlow::cc PROPERTIES
  IMPORTED_LOCATION ${TAG_TENSORFLOW_DIR}/libtensorflow_cc.so.2
  IMPORTED_SONAME libtensorflow_cc.so.2)
target_link_libraries(TensorFlow::cc INTERFACE TensorFlow::framework)
# The library is 750 MB large. ld.bfd links a program with it in 5 s and 0.9 GB, gold in 1.2 s.
find_program(TAG_LD_GOLD ld.gold)
if(TAG_LD_GOLD)
  target_link_options(TensorFlow::cc INTERFACE -fuse-ld=gold)
endif()
