# SPDX-License-Identifier: Apache-2.0
# Python3_EXECUTABLE for the tests: the one that is given, else .venv's (scripts/setup made it), else what is found.
if(NOT Python3_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  set(Python3_EXECUTABLE ${PROJECT_SOURCE_DIR}/.venv/bin/python)
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
