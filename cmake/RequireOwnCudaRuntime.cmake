# Fails if LIBRARY takes functions of CUDA from another library. They would come from TensorFlow,
# and belong to another release than the one that the device code was compiled for. NM lists the
# symbols.
if(NOT NM)
  message(WARNING "No nm: not checked that ${LIBRARY} brings its own CUDA runtime")
  return()
endif()
execute_process(COMMAND ${NM} -D --undefined-only ${LIBRARY}
  OUTPUT_VARIABLE _undefined RESULT_VARIABLE _failed ERROR_VARIABLE _why)
if(_failed)
  message(FATAL_ERROR "${NM} does not list the symbols of ${LIBRARY}: ${_why}")
endif()
string(REGEX MATCHALL "U _*cu(da|)[A-Z][A-Za-z0-9_]*" _borrowed "${_undefined}")
if(_borrowed)
  message(FATAL_ERROR "${LIBRARY} must bring its own CUDA runtime, and does not: ${_borrowed}")
endif()
