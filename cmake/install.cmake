# `cmake --install build/release --prefix DIR`: the program in its two parts, and what a plug-in of one's own is built with.
include(CMakePackageConfigHelpers)
set(package lib/cmake/linac)
configure_file(cmake/linac-config.cmake.in ${CMAKE_BINARY_DIR}/linac-config.cmake @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/linac-config-version.cmake COMPATIBILITY SameMinorVersion)

# The libraries of the wheels stay where they are: LibTorch and its headers are half a gigabyte.
set_target_properties(linac linac_compute PROPERTIES INSTALL_RPATH "${LINAC_TORCH_ROOT}/lib;${LINAC_ARROW_ROOT}")
install(TARGETS linac linac_compute RUNTIME DESTINATION bin)
install(FILES src/linac/plugin/plugin.h DESTINATION include/linac/plugin)
install(FILES ${CMAKE_BINARY_DIR}/linac-config.cmake ${CMAKE_BINARY_DIR}/linac-config-version.cmake DESTINATION ${package})
