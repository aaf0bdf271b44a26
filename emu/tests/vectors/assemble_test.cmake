# SPDX-License-Identifier: Apache-2.0
# Every form that capability 9.0 runs assembles: a capture on a GPU must not be the first to find out. -D form_ptx= ptxas= files=
cmake_minimum_required(VERSION 3.22)
foreach(file ${files})
  get_filename_component(name ${file} NAME_WE)
  set(text ${CMAKE_CURRENT_BINARY_DIR}/assemble_${name}.ptx)
  execute_process(COMMAND ${form_ptx} ${file} 90 OUTPUT_FILE ${text} RESULT_VARIABLE failed)
  if(NOT failed)
    execute_process(COMMAND ${ptxas} -arch=sm_90a ${text} -o ${CMAKE_CURRENT_BINARY_DIR}/assemble_${name}.cubin
                    RESULT_VARIABLE failed)
  endif()
  if(failed)
    message(SEND_ERROR "${file}: ${failed}")
  endif()
endforeach()
