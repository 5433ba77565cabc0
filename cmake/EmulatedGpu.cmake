# Builds a second copy of the package in <build>/emulated_gpu. Its op library registers a device
# "GPU" (cc/testing/fake_gpu.cc), on which the Python tests run as on a machine with a GPU. To run
# any of them:
#
#   TENSOR_ARRAY_GRAD_GPU_REQUIRED=1 PYTHONPATH=<build>/emulated_gpu pytest
if(NOT TAG_BINDING_TARGETS)
  return()
endif()
list(GET TAG_BINDING_TARGETS 0 _binding)
set(_package ${PROJECT_BINARY_DIR}/emulated_gpu/tensor_array_grad)

add_library(ops_with_fake_gpu SHARED cc/testing/fake_gpu.cc cc/testing/stock_on_fake_gpu.cc
  cc/testing/emulated_cuda.cc
  ${TAG_OP_SOURCES} $<TARGET_OBJECTS:tag_kernels> $<TARGET_OBJECTS:tag_rewrite>
  $<TARGET_OBJECTS:tag_loop>)
target_include_directories(ops_with_fake_gpu BEFORE PRIVATE cc/testing/fake_cuda)
target_link_libraries(ops_with_fake_gpu PRIVATE tag_lists tag_slices tag_array tag_device ${CMAKE_DL_LIBS})
target_link_options(ops_with_fake_gpu PRIVATE
  -Wl,-z,defs -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map)
# The name by which the package and the bindings find the op library beside them.
set_target_properties(ops_with_fake_gpu PROPERTIES
  OUTPUT_NAME tensor_array_grad LIBRARY_OUTPUT_DIRECTORY ${_package})

file(GLOB _modules CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/tensor_array_grad/*.py)
file(GLOB _startup CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/*.py)
set(_copied ${_package}/build_info.json)
add_custom_command(OUTPUT ${_copied}
  DEPENDS ${_modules} ${_startup} ${_binding} ${PROJECT_BINARY_DIR}/build_info.json
  COMMAND ${CMAKE_COMMAND} -E make_directory ${_package}
  COMMAND ${CMAKE_COMMAND} -E copy ${_startup} ${_package}/..
  COMMAND ${CMAKE_COMMAND} -E copy ${_modules} $<TARGET_FILE:${_binding}> ${_package}
  COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_BINARY_DIR}/build_info.json ${_copied}
  COMMENT "Copying the package beside the library with a fake GPU" VERBATIM)
add_custom_target(emulated_gpu ALL DEPENDS ${_copied} ops_with_fake_gpu)

# The tests that use a device most; tools/gpu_check.sh runs them on a real GPU. All tests would take
# too long for every build.
add_test(NAME emulated_gpu_test
  COMMAND ${Python_EXECUTABLE} -m pytest -q -n 2 -p no:cacheprovider @tests/gpu/device_tests.txt
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(emulated_gpu_test PROPERTIES ENVIRONMENT
  "PYTHONPATH=${PROJECT_BINARY_DIR}/emulated_gpu;TF_CPP_MIN_LOG_LEVEL=2;TENSOR_ARRAY_GRAD_GPU_REQUIRED=1")
