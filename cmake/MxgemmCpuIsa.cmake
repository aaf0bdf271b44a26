# SPDX-License-Identifier: Apache-2.0
# mxgemm_add_cpu_isa(<level> FLAGS <compiler flags> SOURCES <files>): the object library mxgemm_cpu_<level>, the only code
# that is compiled with that level's flags. Its files include src/formats, <immintrin.h> and <cstdint> alone and define no
# weak symbol (tests/abi checks), so that no inline function built for a level can be linked into code for all machines.
function(mxgemm_add_cpu_isa level)
  cmake_parse_arguments(arg "" "" "FLAGS;SOURCES" ${ARGN})
  add_library(mxgemm_cpu_${level} OBJECT ${arg_SOURCES})
  target_include_directories(mxgemm_cpu_${level} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  # g++ 12 takes the deliberately undefined operands inside its own intrinsics for mistakes (GCC bug 105593); with sanitizers both ways.
  target_compile_options(mxgemm_cpu_${level} PRIVATE ${arg_FLAGS} -fno-exceptions -fno-rtti
                         "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-uninitialized>")
  mxgemm_warnings(mxgemm_cpu_${level})
endfunction()
