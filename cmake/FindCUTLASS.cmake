# SPDX-License-Identifier: Apache-2.0
# CUTLASS headers: CUTLASS_INCLUDE_DIR (a folder that holds cutlass/cutlass.h; a CMake or an environment variable), else the
# nvidia-cutlass wheel in .venv (scripts/cuda-requirements.txt). 4.2.0 is what the tests run, newer ones compile. Defines
# CUTLASS::CUTLASS, CUTLASS_VERSION.
file(GLOB wheel_include_dirs
     ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/cutlass_library/source/include)
find_path(CUTLASS_INCLUDE_DIR cutlass/cutlass.h HINTS ENV CUTLASS_INCLUDE_DIR ${wheel_include_dirs})
mark_as_advanced(CUTLASS_INCLUDE_DIR)

if(CUTLASS_INCLUDE_DIR AND EXISTS ${CUTLASS_INCLUDE_DIR}/cutlass/version.h)
  file(READ ${CUTLASS_INCLUDE_DIR}/cutlass/version.h version_text)
  foreach(part MAJOR MINOR PATCH)
    string(REGEX MATCH "define CUTLASS_${part} +([0-9]+)" match "${version_text}")
    set(CUTLASS_VERSION_${part} ${CMAKE_MATCH_1})
  endforeach()
  set(CUTLASS_VERSION ${CUTLASS_VERSION_MAJOR}.${CUTLASS_VERSION_MINOR}.${CUTLASS_VERSION_PATCH})
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUTLASS REQUIRED_VARS CUTLASS_INCLUDE_DIR VERSION_VAR CUTLASS_VERSION)

if(CUTLASS_FOUND AND NOT TARGET CUTLASS::CUTLASS)
  add_library(CUTLASS::CUTLASS INTERFACE IMPORTED)
  target_include_directories(CUTLASS::CUTLASS INTERFACE ${CUTLASS_INCLUDE_DIR})
endif()
