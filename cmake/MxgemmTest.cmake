# SPDX-License-Identifier: Apache-2.0
# mxgemm_add_test(<name> SOURCES <files> LIBS <targets> [LABELS <labels>]): one GoogleTest binary that is one CTest test.
# The source tree's tests/ folder is an include directory, so that tests share code as "support/….hpp".
if(CMAKE_CROSSCOMPILING)
  # Debian's GoogleTest library is for this machine; its sources (package googletest) build for any.
  set(MXGEMM_GOOGLETEST_SOURCE /usr/src/googletest CACHE PATH "GoogleTest's sources, for cross builds")
  set(INSTALL_GTEST OFF CACHE BOOL "" FORCE)
  add_subdirectory(${MXGEMM_GOOGLETEST_SOURCE} ${PROJECT_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
  foreach(library gtest gtest_main gmock)
    target_compile_options(${library} PRIVATE -w)  # not our code
    if(NOT TARGET GTest::${library})
      add_library(GTest::${library} ALIAS ${library})
    endif()
  endforeach()
else()
  find_package(GTest REQUIRED)
endif()

function(mxgemm_add_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE MXGEMM_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  mxgemm_warnings(${name})
  add_test(NAME ${name} COMMAND ${name})
  if(arg_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
  endif()
  # See tests/support/test_size.hpp. ThreadSanitizer is slow, too, but races need many rounds.
  if(CMAKE_CROSSCOMPILING OR MXGEMM_SANITIZE MATCHES "address")
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT_MODIFICATION MXGEMM_TEST_QUICK=set:1)
  endif()
  if(CMAKE_CROSSCOMPILING)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT_MODIFICATION MXGEMM_TEST_EMULATED=set:1)
  endif()
endfunction()
