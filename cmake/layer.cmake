# nl_layer(NAME [DEPS layer...] [LIBS library...] [WITHOUT regex]): the static library nl_NAME from src/NAME, less the
# files that match.
function(nl_layer name)
  cmake_parse_arguments(arg "" "WITHOUT" "DEPS;LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  if(arg_WITHOUT)
    list(FILTER sources EXCLUDE REGEX ${arg_WITHOUT})
  endif()
  add_library(nl_${name} STATIC ${sources})
  foreach(dep ${arg_DEPS})
    target_link_libraries(nl_${name} PUBLIC nl_${dep})
  endforeach()
  target_link_libraries(nl_${name} PRIVATE nl_flags PUBLIC ${arg_LIBS})
  target_include_directories(nl_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  nl_precompiled(nl_${name})
  nl_unity(nl_${name})
endfunction()

# nl_unity(TARGET): its files are compiled eight of a folder at a time. Most of a compiler's time goes into the JSON library,
# once a file; together they take a quarter of it. OFF (preset dev) finds includes that a file has forgotten.
option(NEUROLENS_UNITY "compile several files of a folder at once" ON)
function(nl_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${NEUROLENS_UNITY} UNITY_BUILD_MODE GROUP)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)  # the file is not the main one
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources EXCLUDE REGEX "_adapter\\.cpp$")  # alike: each has its own read(), sniff() and tables
  set(last "none")
  foreach(file ${sources})
    get_filename_component(folder ${file} DIRECTORY)
    if(NOT folder STREQUAL last)
      set(count 0)
      set(last "${folder}")
    endif()
    math(EXPR group "${count} / 8")
    math(EXPR count "${count} + 1")
    string(MAKE_C_IDENTIFIER "${folder}_${group}" group)
    string(REGEX REPLACE ".*_(src|tests)_" "" group ${group})
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()

# nl_precompiled(TARGET [HEADER...]): what most files include, and the headers named, are parsed once. Only where it pays:
# clang takes a third less time, g++ a tenth; and so the build by g++ still finds an include that is missing.
function(nl_precompiled target)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    return()
  elseif(TARGET nl_common_headers AND NOT ARGN)
    target_precompile_headers(${target} REUSE_FROM nl_common_headers)
  else()
    target_precompile_headers(${target} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled.h ${ARGN})
  endif()
  if(NOT TARGET nl_common_headers)
    add_library(nl_common_headers ALIAS ${target})
  endif()
endfunction()

# nl_registry(LAYER GLOB LIST NAMESPACE TYPE): writes generated/LAYER/LIST.inc, which lists TYPE KIND_<name>() for every
# src/LAYER/GLOB; KIND is TYPE in lower case, and the file is <name>.cpp or <name>_KIND.cpp. A new file is a new entry;
# nothing central changes.
function(nl_registry layer glob list namespace type)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${layer}/${glob})
  string(TOLOWER ${type} kind)
  set(names "")
  foreach(file ${files})
    get_filename_component(stem ${file} NAME_WE)
    string(REPLACE "_${kind}" "" stem ${stem})
    list(APPEND names ${stem})
  endforeach()
  list(SORT names)
  set(declarations "")
  set(entries "")
  foreach(name ${names})
    string(APPEND declarations "const ${type}& ${kind}_${name}();\n")
    string(APPEND entries "    &${kind}_${name},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${layer}/${list}.inc CONTENT
    "// Written by the build from src/${layer}/${glob}.\nnamespace ${namespace} {\n${declarations}inline constexpr const ${type}& (*const kRegistered${type}s[])() = {\n${entries}};\n}\n" @ONLY)
endfunction()

# nl_embed(FILE HEADER NAME): generated/HEADER holds the text of FILE as the constant NAME.
function(nl_embed file header name)
  file(READ ${CMAKE_SOURCE_DIR}/${file} text)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${file})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${header} CONTENT
    "// Written by the build from ${file}.\n#pragma GCC diagnostic ignored \"-Woverlength-strings\"\ninline constexpr char ${name}[] = R\"nlfile(${text})nlfile\";\n" @ONLY)
endfunction()

# nl_embed_folder(FOLDER HEADER NAME): generated/HEADER holds every file below FOLDER, in the order of names, as the array
# NAME of {path below FOLDER, bytes}. A literal of escapes: no tool of the target is needed, and compilers read it fast.
function(nl_embed_folder folder header name)
  cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE whole)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${whole}/*)
  set(entries "")
  foreach(file ${files})
    file(READ ${file} digits HEX)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(RELATIVE_PATH path ${whole} ${file})
    file(SIZE ${file} size)
    string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${digits}")
    string(APPEND entries "    {\"${path}\", std::string_view(\"${bytes}\", ${size})},\n")
  endforeach()
  set(content "// Written by the build.\n#include \"base/embedded_file.h\"\n")
  string(APPEND content "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n")
  string(APPEND content "inline constexpr nl::EmbeddedFile ${name}[] = {\n${entries}};\n")
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/generated/${header} CONTENT "${content}")
endfunction()
