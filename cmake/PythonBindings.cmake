# Makes the target tag_bind: the Python module `_bind`, from cc/bind/module.cc, for each Python.
#
# TAG_BINDINGS is AUTO (build it if pybind11 and Python's headers are found), ON or OFF.
# TAG_BINDINGS_FOR lists the Pythons to build it for, by default Python_EXECUTABLE. Sets
# TAG_BINDING_TARGETS to the targets of the modules, one for each Python.

set(TAG_BINDINGS AUTO CACHE STRING "Build the Python bindings: AUTO, ON or OFF")
set(TAG_BINDINGS_FOR ${Python_EXECUTABLE} CACHE STRING "The Pythons to build the bindings for")
set(TAG_BINDING_TARGETS)
if(NOT TAG_BINDINGS)
  return()
endif()

foreach(_python ${TAG_BINDINGS_FOR})
  execute_process(
    COMMAND ${_python} ${CMAKE_CURRENT_LIST_DIR}/find_bindings.py ${TAG_TENSORFLOW_DIR}
    OUTPUT_VARIABLE _found OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE _failed ERROR_VARIABLE _why ERROR_STRIP_TRAILING_WHITESPACE)
  if(_failed AND TAG_BINDINGS STREQUAL "AUTO")
    message(STATUS "No Python bindings: ${_why}")
    continue()
  elseif(_failed)
    message(FATAL_ERROR "The Python bindings cannot be built: ${_why}")
  endif()
  string(REPLACE "|" ";" _found "${_found}")
  list(POP_BACK _found _suffix)
  # The Python is one of this machine. Names such as .cpython-311-x86_64-linux-gnu.so have its processor.
  string(REPLACE "${CMAKE_HOST_SYSTEM_PROCESSOR}" "${CMAKE_SYSTEM_PROCESSOR}" _suffix "${_suffix}")

  # Uses only the op library's exported functions, and no header or library of TensorFlow.
  list(LENGTH TAG_BINDING_TARGETS _number)
  set(_target tag_bind_${_number})
  add_library(${_target} MODULE cc/bind/module.cc)
  target_include_directories(${_target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_include_directories(${_target} SYSTEM PRIVATE ${_found})
  target_compile_definitions(${_target} PRIVATE _GLIBCXX_USE_CXX11_ABI=1)
  target_link_libraries(${_target} PRIVATE tensor_array_grad)
  # The module finds the op library beside itself, and needs no path to TensorFlow.
  target_link_options(${_target} PRIVATE -Wl,--allow-shlib-undefined)
  set_target_properties(${_target} PROPERTIES
    PREFIX "" OUTPUT_NAME _bind SUFFIX "${_suffix}"
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
  list(APPEND TAG_BINDING_TARGETS ${_target})
endforeach()
add_custom_target(tag_bind DEPENDS ${TAG_BINDING_TARGETS})
