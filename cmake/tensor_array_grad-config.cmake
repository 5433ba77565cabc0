# find_package(tensor_array_grad): the installed package for C++ programs. Makes the targets
#   tensor_array_grad::api   the op classes and Load(), with TensorFlow's C++ client API
#   tensor_array_grad::ops   the op library, for programs that link the kernels as well
#   TensorFlow::cc, TensorFlow::framework   the TensorFlow wheel beside this package
# and sets tensor_array_grad_LIBRARY, the path of the op library, which Load() takes. Sources of
# programs that link tensor_array_grad::api have the path in the macro TENSOR_ARRAY_GRAD_LIBRARY.
#
# find_package needs a hint: the folder in which the package is installed. After a pip install, this
# is Python_SITELIB:
#   find_package(Python REQUIRED COMPONENTS Interpreter)
#   find_package(tensor_array_grad REQUIRED HINTS ${Python_SITELIB})
# The TensorFlow wheel is the one that TAG_TENSORFLOW_DIR and TAG_TENSORFLOW_VERSION name, else the
# one beside this package, else the one of Python_EXECUTABLE.

cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH _tag_package)
cmake_path(GET _tag_package PARENT_PATH TAG_SITE_PACKAGES)

if(NOT TARGET TensorFlow::cc)
  if(NOT TAG_TENSORFLOW_DIR AND NOT Python_EXECUTABLE)
    find_package(Python REQUIRED COMPONENTS Interpreter)
  endif()
  include(${CMAKE_CURRENT_LIST_DIR}/TensorFlow.cmake)
  if(NOT TARGET TensorFlow::cc)
    set(tensor_array_grad_FOUND FALSE)
    set(tensor_array_grad_NOT_FOUND_MESSAGE "${TAG_TENSORFLOW_NOT_FOUND}")
    return()
  endif()
endif()

# A wheel for several releases has one folder per release, which _loader.py describes.
set(_tag_built ${_tag_package}/tf${TAG_TENSORFLOW_MINOR})
file(GLOB _tag_served RELATIVE ${_tag_package} ${_tag_package}/tf2.*)
if(NOT _tag_served)
  set(_tag_built ${_tag_package})
endif()
set(tensor_array_grad_LIBRARY ${_tag_built}/libtensor_array_grad.so)

# The two error messages below are those of the Python loader. Load() has the second one too.
if(_tag_served AND NOT EXISTS ${_tag_built}/build_info.json)
  set(tensor_array_grad_FOUND FALSE)
  list(SORT _tag_served COMPARE NATURAL)
  list(TRANSFORM _tag_served REPLACE "^tf" "")
  list(GET _tag_served -1 _tag_newest)
  list(JOIN _tag_served ", " _tag_served)
  string(CONCAT tensor_array_grad_NOT_FOUND_MESSAGE
    "tensor_array_grad: this wheel serves TensorFlow ${_tag_served} and cannot be loaded into "
    "TensorFlow ${TAG_TENSORFLOW_VERSION}. Run: pip install 'tensorflow==${_tag_newest}.*'")
  return()
endif()
file(READ ${_tag_built}/build_info.json _tag_record)
string(JSON _tag_version GET ${_tag_record} tensorflow)
string(JSON _tag_distribution GET ${_tag_record} distribution)
string(REGEX MATCH "^[0-9]+\\.[0-9]+" _tag_minor ${_tag_version})
if(NOT TAG_TENSORFLOW_MINOR STREQUAL _tag_minor)
  set(tensor_array_grad_FOUND FALSE)
  string(CONCAT tensor_array_grad_NOT_FOUND_MESSAGE
    "tensor_array_grad: ${tensor_array_grad_LIBRARY} was built for TensorFlow "
    "${_tag_version} (C++11 ABI 1) and cannot be loaded into TensorFlow "
    "${TAG_TENSORFLOW_VERSION} (C++11 ABI 1). "
    "Install it again, from its source folder or from a wheel for this TensorFlow: "
    "pip install --force-reinstall --no-deps --no-cache-dir FOLDER_OR_WHEEL, "
    "or: pip install '${_tag_distribution}==${_tag_minor}.*'")
  return()
endif()

if(NOT TARGET tensor_array_grad::api)
  add_library(tensor_array_grad::api STATIC IMPORTED)
  set_target_properties(tensor_array_grad::api PROPERTIES
    IMPORTED_LOCATION ${_tag_built}/libtensor_array_grad_api.a
    INTERFACE_INCLUDE_DIRECTORIES ${_tag_package}/include
    INTERFACE_COMPILE_DEFINITIONS "TENSOR_ARRAY_GRAD_LIBRARY=\"${tensor_array_grad_LIBRARY}\""
    INTERFACE_LINK_LIBRARIES "TensorFlow::cc;${CMAKE_DL_LIBS}")

  # TensorFlow comes last on the linker's command line, so it is initialised first: the op library
  # looks for TensorFlow's devices and kernels while it is initialised. --no-as-needed keeps the op
  # library in a program that uses no symbol of it.
  add_library(tensor_array_grad::ops SHARED IMPORTED)
  set_target_properties(tensor_array_grad::ops PROPERTIES
    INTERFACE_LINK_OPTIONS LINKER:--no-as-needed
    IMPORTED_LOCATION ${tensor_array_grad_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${_tag_package}/include
    INTERFACE_LINK_LIBRARIES TensorFlow::cc)
endif()
