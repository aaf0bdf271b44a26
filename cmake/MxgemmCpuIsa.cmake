# SPDX-License-Identifier: Apache-2.0
# mxgemm_add_cpu_isa(<level> FLAGS <compiler flags> SOURCES <files>): the object library mxgemm_cpu_<level>, the only code
# that is compiled with that level's flags. Its files include src/formats, <immintrin.h> and <cstdint> alone and define no
# weak symbol (tests/abi checks), so that no inline function built for a level can be linked into code for all machines.
function(mxgemm_add_cpu_isa level)
  cmake_parse_arguments(arg "" "" "FLAGS;SOURCES" ${ARGN})
  add_library(mxgemm_cpu_${level} OBJECT ${arg_SOURCES})
  target_include_directories(mxgemm_cpu_${level} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(mxgemm_cpu_${level} PRIVATE ${arg_FLAGS} -fno-exceptions -fno-rtti)
  mxgemm_warnings(mxgemm_cpu_${level})
endfunction()
