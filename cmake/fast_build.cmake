# What makes builds fast where it is installed: ccache, which remembers compilations over clean builds and clones, and mold,
# which links in a fraction of the time. Both are left alone where the caller has chosen.
find_package(Python3 REQUIRED COMPONENTS Interpreter)  # groups the sources (batches.py)
find_program(LINAC_CCACHE ccache)
if(LINAC_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers want two kinds of sloppiness. There is none for headers that are written during a compilation: what came
  # of their former content would be kept under the new one. Paths below the checkout are the same for every checkout, and what a
  # source includes is known from the compiler itself, not from a preprocessor before it.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
    CCACHE_SLOPPINESS=pch_defines,time_macros ${LINAC_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
find_program(LINAC_MOLD mold)
if(LINAC_MOLD AND NOT CMAKE_EXE_LINKER_FLAGS MATCHES "-fuse-ld")
  add_link_options(-fuse-ld=mold)
endif()
