# `cmake --install build/release --prefix DIR`: the program in its two parts, the libraries of the wheels that it runs with, and what a
# plug-in of one's own is built with. What is installed stands alone: it needs neither the sources nor deps/.
include(CMakePackageConfigHelpers)
set(package lib/cmake/linac)
set(libraries lib/linac)  # as in deps/prefix, since LibTorch looks for others beside itself

if(LINAC_TORCH_ROOT STREQUAL ${CMAKE_SOURCE_DIR}/deps/prefix/torch)
  install(DIRECTORY ${LINAC_TORCH_ROOT}/lib ${LINAC_TORCH_ROOT}/include DESTINATION ${libraries}/torch USE_SOURCE_PERMISSIONS)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/deps/prefix/nvidia/ DESTINATION ${libraries}/nvidia USE_SOURCE_PERMISSIONS
    FILES_MATCHING PATTERN "libcudart.so.*" PATTERN "libcupti.so.*")
  set(torch_rpath $ORIGIN/../${libraries}/torch/lib)
  set(LINAC_INSTALLED_TORCH [[${linac_prefix}/lib/linac/torch]])
else()  # a LibTorch of the machine stays where it is
  set(torch_rpath ${LINAC_TORCH_ROOT}/lib)
  set(LINAC_INSTALLED_TORCH ${LINAC_TORCH_ROOT})
endif()
file(GLOB arrow ${LINAC_ARROW_ROOT}/libarrow.so.* ${LINAC_ARROW_ROOT}/libparquet.so.*)
install(FILES ${arrow} DESTINATION ${libraries}/arrow)

configure_file(cmake/linac-config.cmake.in ${CMAKE_BINARY_DIR}/linac-config.cmake @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/linac-config-version.cmake COMPATIBILITY SameMinorVersion)
set_target_properties(linac linac_compute PROPERTIES INSTALL_RPATH "${torch_rpath};$ORIGIN/../${libraries}/arrow")
install(TARGETS linac linac_compute RUNTIME DESTINATION bin)
if(TARGET linac_xrootd)
  install(TARGETS linac_xrootd LIBRARY DESTINATION lib)
endif()
install(FILES src/linac/plugin/plugin.h DESTINATION include/linac/plugin)
install(FILES python/linac_keras.py DESTINATION ${libraries}/python)
install(FILES ${CMAKE_BINARY_DIR}/linac-config.cmake ${CMAKE_BINARY_DIR}/linac-config-version.cmake DESTINATION ${package})
