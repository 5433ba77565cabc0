# Fails where LIBRARY takes functions of CUDA from another library: they would be TensorFlow's, of
# another release than the device code was compiled for.
execute_process(COMMAND ${NM} -D --undefined-only ${LIBRARY}
  OUTPUT_VARIABLE _undefined RESULT_VARIABLE _failed)
string(REGEX MATCHALL "U _*cu(da|)[A-Z][A-Za-z0-9_]*" _borrowed "${_undefined}")
if(_failed OR _borrowed)
  message(FATAL_ERROR "${LIBRARY} must bring its own CUDA runtime, and does not: ${_borrowed}")
endif()
