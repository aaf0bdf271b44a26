# SPDX-License-Identifier: Apache-2.0
# mxgemm_add_test(<name> SOURCES <files> LIBS <targets> [LABELS <labels>]): one GoogleTest binary that is one CTest test.
# The source tree's tests/ folder is an include directory, so that tests share code as "support/….hpp".
find_package(GTest REQUIRED)

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
endfunction()
