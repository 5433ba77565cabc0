# Adds the compiled files to the Python package: the op library, the bindings and build_info.json,
# which records the versions that they were built for. `cmake --install <build> --component python
# --prefix <site-packages>` installs them. -DTAG_INPLACE=ON builds them into the checkout instead.

configure_file(${CMAKE_CURRENT_LIST_DIR}/build_info.json.in
               ${PROJECT_BINARY_DIR}/build_info.json @ONLY)

set(_package_targets tensor_array_grad ${TAG_BINDING_TARGETS})
install(TARGETS ${_package_targets} LIBRARY DESTINATION tensor_array_grad COMPONENT python)
install(FILES ${PROJECT_BINARY_DIR}/build_info.json
        DESTINATION tensor_array_grad COMPONENT python)

if(TAG_INPLACE)
  set(_package ${PROJECT_SOURCE_DIR}/python/tensor_array_grad)
  set_target_properties(${_package_targets} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${_package})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/build_info.json.in ${_package}/build_info.json @ONLY)
endif()
