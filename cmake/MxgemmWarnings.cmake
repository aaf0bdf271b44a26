# SPDX-License-Identifier: Apache-2.0
# mxgemm_warnings(target): the warning set of our own code, and its sanitizer and coverage flags.
function(mxgemm_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wno-unknown-pragmas
                         $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
  if(MXGEMM_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  # The numeric contract fixes where a multiply and an add may fuse; the compiler may not choose it.
  target_compile_options(${target} PRIVATE -ffp-contract=off)
  if(MXGEMM_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${MXGEMM_SANITIZE} -fno-sanitize-recover=all
                           -fno-omit-frame-pointer -g)
    target_link_options(${target} PUBLIC -fsanitize=${MXGEMM_SANITIZE})
  endif()
  if(MXGEMM_COVERAGE)
    target_compile_options(${target} PRIVATE --coverage -O1)
    target_link_options(${target} PUBLIC --coverage)
  endif()
endfunction()
