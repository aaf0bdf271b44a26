# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` lays out, all of it relocatable: the library, the headers, the command line program, and the files
# by which CMake (find_package(mxgemm)) and pkg-config find them. The wheel installs the same tree into the Python package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mxgemm)

if(SKBUILD)
  # A wheel holds no symbolic links: each name of the library would be another full copy. So it has one, the soname.
  set_target_properties(mxgemm PROPERTIES VERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  set(namelink NAMELINK_SKIP)
else()
  set(namelink)
endif()

install(TARGETS mxgemm EXPORT mxgemmTargets
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ${namelink})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/mxgemm DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

if(TARGET mxgemm_cli)
  # Relative, so that the program finds its library wherever the tree is moved to.
  file(RELATIVE_PATH bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(mxgemm_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
  install(TARGETS mxgemm_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# GPU libraries, in the folder where the library looks for them. In a wheel they find the runtime in NVIDIA's package, which
# lies beside ours; elsewhere it is the toolkit's, where it was when they were built.
set(MXGEMM_CUDA_PREBUILT "" CACHE PATH "Folder of GPU libraries of this version that another build has made, to be installed")
set(gpu_library_dir ${CMAKE_INSTALL_LIBDIR}/mxgemm)
get_property(gpu_libraries GLOBAL PROPERTY MXGEMM_CUDA_ARCH_TARGETS)
if(TARGET mxgemm_cuda)
  list(APPEND gpu_libraries mxgemm_cuda)
endif()
if(MXGEMM_CUDA_PREBUILT)
  file(GLOB prebuilt CONFIGURE_DEPENDS ${MXGEMM_CUDA_PREBUILT}/libmxgemm_*.so)
  if(NOT prebuilt OR gpu_libraries)
    message(FATAL_ERROR "MXGEMM_CUDA_PREBUILT is ${MXGEMM_CUDA_PREBUILT}; it must hold libmxgemm_*.so, and MXGEMM_CUDA be OFF")
  endif()
  install(PROGRAMS ${prebuilt} DESTINATION ${gpu_library_dir})
  foreach(file IN LISTS prebuilt)
    get_filename_component(name ${file} NAME)
    if(SKBUILD)
      install(CODE "file(RPATH_SET FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${gpu_library_dir}/${name}\"
                         NEW_RPATH [[${MXGEMM_WHEEL_RPATH}]])")
    endif()
  endforeach()
elseif(gpu_libraries)
  if(SKBUILD)
    set_target_properties(${gpu_libraries} PROPERTIES INSTALL_RPATH "${MXGEMM_WHEEL_RPATH}")
  else()
    set_target_properties(${gpu_libraries} PROPERTIES INSTALL_RPATH "${CUDAToolkit_LIBRARY_DIR}")
  endif()
  install(TARGETS ${gpu_libraries} LIBRARY DESTINATION ${gpu_library_dir})
endif()

install(EXPORT mxgemmTargets NAMESPACE mxgemm:: DESTINATION ${config_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/mxgemmConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/cmake/mxgemmConfig.cmake INSTALL_DESTINATION ${config_dir})
# Before 1.0 a minor version may change the interface, so 0.1 serves nobody who asks for 0.2, nor the reverse.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/mxgemmConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/mxgemmConfig.cmake ${PROJECT_BINARY_DIR}/cmake/mxgemmConfigVersion.cmake
        DESTINATION ${config_dir})

if(NOT SKBUILD)  # a wheel is no place where pkg-config looks
  file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
  file(RELATIVE_PATH pc_libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
  file(RELATIVE_PATH pc_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/mxgemm.pc.in ${PROJECT_BINARY_DIR}/cmake/mxgemm.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/cmake/mxgemm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
