# SPDX-License-Identifier: Apache-2.0
# mxgemm_add_cuda_arch(<arch> SOURCES <files> [CUTLASS]): the library libmxgemm_sm<arch>.so, and the only home of the flags
# that keep architectures apart (docs/decisions/0004-one-library-per-architecture.md says what each is for).
#
# <arch> is 80, 90a, 100f, 120f. Family targets need nvcc 12.9; with an older one 100a and 120a are built instead, and their
# tables then accept exactly 10.0 and 12.0. Plain 100 and 120 lack the block-scaled instructions and are refused.

# Memory decides how many CUTLASS files may compile at once: one takes up to 5.8 GiB.
set_property(GLOBAL APPEND PROPERTY JOB_POOLS mxgemm_cutlass=2)

# MXGEMM_CUDA_ARCHS (`wanted`) against the folders that there are.
function(mxgemm_check_cuda_archs wanted folders)
  foreach(arch IN LISTS wanted)
    if(arch MATCHES "^(sm_?)?([0-9]+[af]?)$")
      mxgemm_resolve_cuda_arch(${CMAKE_MATCH_2} ignored)
    endif()
    if(NOT arch IN_LIST folders)
      message(FATAL_ERROR "MXGEMM_CUDA_ARCHS is ${wanted}; ${arch} is none of ${folders}")
    endif()
  endforeach()
endfunction()

function(mxgemm_resolve_cuda_arch arch result)
  if(arch MATCHES "^(90|100|101|103|110|120|121)$")
    message(FATAL_ERROR "CUDA architecture ${arch} lacks the instructions that its kernels use; write "
                        "${arch}a, or 100f / 120f for the whole family")
  endif()
  if(arch MATCHES "^([0-9]+)f$" AND CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.9)
    set(arch ${CMAKE_MATCH_1}a)
  endif()
  set(${result} ${arch} PARENT_SCOPE)
endfunction()

function(mxgemm_add_cuda_arch wanted_arch)
  cmake_parse_arguments(arg "CUTLASS" "" "SOURCES" ${ARGN})
  mxgemm_resolve_cuda_arch(${wanted_arch} arch)
  set(target mxgemm_sm${arch})
  if(arg_CUTLASS AND NOT CUTLASS_FOUND)
    message(STATUS "mxgemm: sm${arch} is not built: no CUTLASS headers (set CUTLASS_INCLUDE_DIR, or run scripts/setup)")
    return()
  endif()

  add_library(${target} SHARED ${arg_SOURCES})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  string(REGEX REPLACE "[af]$" "" arch_number ${arch})
  target_compile_definitions(${target} PRIVATE MXGEMM_CUDA_ARCH=sm${arch} MXGEMM_CUDA_ARCH_NAME="sm${arch}" NDEBUG)
  set(build_info "nvcc ${CMAKE_CUDA_COMPILER_VERSION}, sm_${arch}")
  if(arg_CUTLASS)
    string(APPEND build_info ", CUTLASS ${CUTLASS_VERSION}")
  endif()
  target_compile_definitions(${target} PRIVATE MXGEMM_BUILD_INFO="${build_info}")
  if(arch MATCHES "f$")
    target_compile_definitions(${target} PRIVATE MXGEMM_CUDA_FAMILY=1)
  endif()

  # CMake 3.25 drops CUDA_STANDARD 20 without a word, hence the plain option. Machine code and PTX of one target: devices that
  # come later, and the emulator, take the PTX. Both are compressed (zstd), to a sixth: family targets carry their code twice,
  # and a library is to stay under 8 MiB.
  target_compile_options(
    ${target}
    PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 --expt-relaxed-constexpr
            -gencode arch=compute_${arch},code=[sm_${arch},compute_${arch}] -compress-mode=size
            -rdc=false -Xcompiler=-Wall,-Wextra,-Wno-unknown-pragmas,-Wno-unused-parameter,-Wno-missing-field-initializers
            $<$<BOOL:${MXGEMM_WERROR}>:-Werror=all-warnings -Xcompiler=-Werror>>)
  set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES OFF CUDA_RUNTIME_LIBRARY Shared)
  # The defaults of nvcc 13, stated: stubs are static and device entities hidden.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-static-global-template-stub=true
                                           -device-entity-has-hidden-visibility=true>)
  mxgemm_keep_symbols_apart(${target})
  if(arg_CUTLASS)
    target_link_libraries(${target} PRIVATE CUTLASS::CUTLASS)
    set_target_properties(${target} PROPERTIES JOB_POOL_COMPILE mxgemm_cutlass)
  endif()
  set_property(GLOBAL APPEND PROPERTY MXGEMM_CUDA_ARCH_TARGETS ${target})
  add_dependencies(mxgemm_gpu_libraries ${target})
endfunction()

# Hidden visibility for C++ and CUDA, one exported symbol, no sharing of inline statics, self-binding; and the shared CUDA
# runtime by its soname, so that a process has one runtime, with the toolkit's folder as run path (CMake takes it for one of
# the system's and would leave it out) and room for that of a wheel. `map` names the symbol; plugin.map where it is left out.
function(mxgemm_keep_symbols_apart target)
  set(map ${PROJECT_SOURCE_DIR}/cmake/plugin.map)
  if(ARGC GREATER 1)
    set(map ${ARGV1})
  endif()
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden
                                             VISIBILITY_INLINES_HIDDEN ON
                                             LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/mxgemm
                                             BUILD_RPATH "${CUDAToolkit_LIBRARY_DIR};${MXGEMM_WHEEL_RPATH}"
                                             LINK_DEPENDS ${map})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-gnu-unique>
                                           $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fno-gnu-unique>)
  target_link_options(${target} PRIVATE -Wl,--version-script=${map} -Wl,-Bsymbolic
                      -Wl,--exclude-libs,ALL -Wl,--no-undefined -Wl,--enable-new-dtags)
endfunction()
