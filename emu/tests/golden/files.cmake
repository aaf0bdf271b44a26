# SPDX-License-Identifier: Apache-2.0
# The golden files that there must be: a test compares each with the emulator and fails where one is missing. A file
# that comes here is added below in the same change.
set(EMU_GOLDEN_FOLDER ${CMAKE_CURRENT_LIST_DIR})
set(EMU_GOLDEN_FILES
    copies_90a.txt
    hopper_gemm.txt
    sm_90a_approximate.txt
    sm_90a_bulk.txt
    sm_90a_convert.txt
    sm_90a_float.txt
    sm_90a_fuzz.txt
    sm_90a_integer.txt
    sm_90a_matrix.txt
    sm_90a_mbarrier.txt
    sm_90a_wgmma.txt)
