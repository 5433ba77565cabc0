# Installs the files that C++ projects need into the folder of the Python package, beside the op
# library: the headers, the static library of cc/api, and the files that find_package reads. They
# belong to the component `python`, so a wheel contains them too.
#
# Makes the target tag_api, with the alias tensor_array_grad::api, and the target
# tensor_array_grad::ops for programs that link the op library. The installed package has targets of
# the same names.

add_library(tag_api STATIC ${TAG_API_SOURCES})
target_include_directories(tag_api PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(tag_api PUBLIC TensorFlow::cc ${CMAKE_DL_LIBS})
target_precompile_headers(tag_api REUSE_FROM tag_base)
target_compile_definitions(tag_api INTERFACE
  TENSOR_ARRAY_GRAD_LIBRARY="$<TARGET_FILE:tensor_array_grad>")
set_target_properties(tag_api PROPERTIES OUTPUT_NAME tensor_array_grad_api)
add_library(tensor_array_grad::api ALIAS tag_api)

# TensorFlow comes last on the linker's command line, so it is initialised first: the op library
# looks for TensorFlow's devices and kernels while it is initialised. Some compilers pass
# --as-needed, with which the linker drops a library if the program uses no symbol of it.
add_library(tag_ops INTERFACE)
target_link_options(tag_ops INTERFACE LINKER:--no-as-needed)
target_include_directories(tag_ops INTERFACE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(tag_ops INTERFACE tensor_array_grad TensorFlow::cc)
add_library(tensor_array_grad::ops ALIAS tag_ops)

include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tensor_array_grad-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
set(_config
  ${CMAKE_CURRENT_LIST_DIR}/tensor_array_grad-config.cmake
  ${PROJECT_BINARY_DIR}/tensor_array_grad-config-version.cmake
  ${CMAKE_CURRENT_LIST_DIR}/TensorFlow.cmake
  ${CMAKE_CURRENT_LIST_DIR}/find_tensorflow.py)

install(TARGETS tag_api ARCHIVE DESTINATION tensor_array_grad COMPONENT python)
install(FILES ${_config} DESTINATION tensor_array_grad/cmake COMPONENT python)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include DESTINATION tensor_array_grad COMPONENT python)

if(TAG_INPLACE)
  set(_package ${PROJECT_SOURCE_DIR}/python/tensor_array_grad)
  set_target_properties(tag_api PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${_package})
  file(COPY ${_config} DESTINATION ${_package}/cmake)
  file(COPY ${PROJECT_SOURCE_DIR}/include DESTINATION ${_package})
endif()
