# Where programs look for the libraries of the wheels: at the same place beside themselves in the build and where they are installed, so no
# search path is changed by the installation. (For that CMake makes room by colons, and the loader takes each for the current folder, where
# anybody's libraries may lie.)
set(LINAC_LIBRARIES lib/linac)  # in it as in deps/prefix, since LibTorch looks for others beside itself
set(linac_beside ${CMAKE_BINARY_DIR}/${LINAC_LIBRARIES})
file(MAKE_DIRECTORY ${linac_beside})
file(CREATE_LINK ${LINAC_ARROW_ROOT} ${linac_beside}/arrow SYMBOLIC)
set(CMAKE_INSTALL_RPATH $ORIGIN/../${LINAC_LIBRARIES}/arrow)
if(LINAC_TORCH)
  if(LINAC_TORCH_ROOT STREQUAL ${CMAKE_SOURCE_DIR}/deps/prefix/torch)
    foreach(name torch nvidia)
      file(CREATE_LINK ${CMAKE_SOURCE_DIR}/deps/prefix/${name} ${linac_beside}/${name} SYMBOLIC)
    endforeach()
    list(PREPEND CMAKE_INSTALL_RPATH $ORIGIN/../${LINAC_LIBRARIES}/torch/lib)
  else()  # a LibTorch of the machine stays where it is
    list(PREPEND CMAKE_INSTALL_RPATH ${LINAC_TORCH_ROOT}/lib)
  endif()
endif()
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
