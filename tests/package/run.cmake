# Installs the build tree into a prefix of its own, then configures, builds and runs an example that
# knows nothing but find_package(dlo). Run by ctest as package.<example>.
#   cmake -DBUILD=... -DEXAMPLE=... -DEXPECT=... -DWORK=... -P run.cmake
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " line)
    message(FATAL_ERROR "${line}\nended with ${code}:\n${out}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${EXAMPLE} -B ${WORK}/build -G Ninja
  -DCMAKE_PREFIX_PATH=${WORK}/prefix
  -DCMAKE_CXX_COMPILER=${CXX} "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}" -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
run(${CMAKE_COMMAND} --build ${WORK}/build)
get_filename_component(name ${EXAMPLE} NAME)
file(MAKE_DIRECTORY ${WORK}/run)
run(${CMAKE_COMMAND} -E chdir ${WORK}/run ${WORK}/build/${name})
message("${out}")
if(NOT out MATCHES "${EXPECT}")
  message(FATAL_ERROR "expected the output to match: ${EXPECT}")
endif()
