# `cmake --install build/release --prefix DIR`: the program in its three parts, the libraries of the wheels that it runs with (component
# `runtime`), and what a plug-in of one's own is built with (`development`). What is installed needs neither the sources nor deps/;
# packaging/ makes packages of it.
include(CMakePackageConfigHelpers)
set(package lib/cmake/linac)
set(libraries ${LINAC_LIBRARIES})

if(LINAC_TORCH_ROOT STREQUAL ${CMAKE_SOURCE_DIR}/deps/prefix/torch)
  install(DIRECTORY ${LINAC_TORCH_ROOT}/lib DESTINATION ${libraries}/torch USE_SOURCE_PERMISSIONS COMPONENT runtime
    PATTERN libtorch.so EXCLUDE)  # an empty one that wants both halves
  install(DIRECTORY ${LINAC_TORCH_ROOT}/include DESTINATION ${libraries}/torch USE_SOURCE_PERMISSIONS COMPONENT development)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/deps/prefix/nvidia/ DESTINATION ${libraries}/nvidia USE_SOURCE_PERMISSIONS COMPONENT runtime
    FILES_MATCHING PATTERN "libcudart.so.*" PATTERN "libcupti.so.*")
  set(LINAC_INSTALLED_TORCH [[${linac_prefix}/lib/linac/torch]])
else()
  set(LINAC_INSTALLED_TORCH ${LINAC_TORCH_ROOT})
endif()
file(GLOB arrow ${LINAC_ARROW_ROOT}/libarrow.so.* ${LINAC_ARROW_ROOT}/libparquet.so.*)
install(FILES ${arrow} DESTINATION ${libraries}/arrow COMPONENT runtime)

configure_file(cmake/linac-config.cmake.in ${CMAKE_BINARY_DIR}/linac-config.cmake @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/linac-config-version.cmake COMPATIBILITY SameMinorVersion)
install(TARGETS linac linac_compute linac_data_program RUNTIME DESTINATION bin COMPONENT runtime)
if(TARGET linac_xrootd)
  install(TARGETS linac_xrootd LIBRARY DESTINATION lib COMPONENT runtime)
endif()
install(TARGETS linac_showers LIBRARY DESTINATION lib COMPONENT runtime NAMELINK_COMPONENT development)
install(FILES src/linac/model/fastsim/showers.h DESTINATION include/linac/fastsim COMPONENT development)
install(FILES python/linac_keras.py DESTINATION ${libraries}/python COMPONENT runtime)
install(DIRECTORY python/linac DESTINATION ${libraries}/python COMPONENT runtime PATTERN __pycache__ EXCLUDE)
install(FILES src/linac/model/plugin/plugin.h DESTINATION include/linac/plugin COMPONENT development)
install(FILES ${CMAKE_BINARY_DIR}/linac-config.cmake ${CMAKE_BINARY_DIR}/linac-config-version.cmake DESTINATION ${package} COMPONENT development)
