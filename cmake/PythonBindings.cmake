# Makes the target tag_bind, the Python module `_bind`, from cc/bind/module.cc.
#
# TAG_BINDINGS is AUTO (build it where pybind11 and Python's headers are found), ON or OFF.

set(TAG_BINDINGS AUTO CACHE STRING "Build the Python bindings: AUTO, ON or OFF")
if(NOT TAG_BINDINGS)
  return()
endif()

execute_process(
  COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/find_bindings.py ${TAG_TENSORFLOW_DIR}
  OUTPUT_VARIABLE _found OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE _failed ERROR_VARIABLE _why ERROR_STRIP_TRAILING_WHITESPACE)
if(_failed AND TAG_BINDINGS STREQUAL "AUTO")
  message(STATUS "No Python bindings: ${_why}")
  return()
elseif(_failed)
  message(FATAL_ERROR "The Python bindings cannot be built: ${_why}")
endif()
string(REPLACE "|" ";" _found "${_found}")
list(POP_BACK _found _suffix)

# Knows the op library's exported functions only; no TensorFlow header, no TensorFlow library.
add_library(tag_bind MODULE cc/bind/module.cc)
target_include_directories(tag_bind PRIVATE ${PROJECT_SOURCE_DIR})
target_include_directories(tag_bind SYSTEM PRIVATE ${_found})
target_compile_definitions(tag_bind PRIVATE _GLIBCXX_USE_CXX11_ABI=1)
target_link_libraries(tag_bind PRIVATE tensor_array_grad)
# The op library lies beside the module, which therefore needs no path to TensorFlow.
target_link_options(tag_bind PRIVATE -Wl,--allow-shlib-undefined)
set_target_properties(tag_bind PROPERTIES
  PREFIX "" OUTPUT_NAME _bind SUFFIX "${_suffix}"
  BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
