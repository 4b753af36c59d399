# A compiler cache, where ccache is installed. Its folder is the user's own, outside of the tree, so that another clone on
# the same machine finds what this one compiled: paths below the source folder count as relative, and so does .deps.
find_program(NEUROLENS_CCACHE ccache)
if(NEUROLENS_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${NEUROLENS_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
  add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()
