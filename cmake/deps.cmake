# Third-party libraries. DuckDB, simdjson and headers of ONNX Runtime come from tools/setup (.deps or $NEUROLENS_DEPS), the rest from Debian, all
# static: a portable build (cmake/toolchain-linux.cmake) takes them from its sysroot, others from this machine.
set(NEUROLENS_DEPS "$ENV{NEUROLENS_DEPS}" CACHE PATH "folder that tools/setup filled")
if(NOT NEUROLENS_DEPS)
  set(NEUROLENS_DEPS ${CMAKE_SOURCE_DIR}/.deps)
endif()
set(duckdb ${NEUROLENS_DEPS}/duckdb-1.5.5-${CMAKE_SYSTEM_PROCESSOR})
# What tools/deps.sha256 lists is what is compiled and linked, byte for byte; other files in the folders of the parts are not
# looked at. duckdb_archives: its libraries.
set(duckdb_archives "")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/deps.sha256)
foreach(part duckdb-1.5.5-${CMAKE_SYSTEM_PROCESSOR} simdjson-4.6.4 onnxruntime-headers-24)
  if(NOT EXISTS ${NEUROLENS_DEPS}/${part}/.complete)
    message(FATAL_ERROR "${part} is not in ${NEUROLENS_DEPS}: run tools/setup first")
  endif()
  file(STRINGS ${CMAKE_SOURCE_DIR}/tools/deps.sha256 listed REGEX "  ${part}/")
  if(NOT listed)
    message(FATAL_ERROR "tools/deps.sha256 lists nothing of ${part}")
  endif()
  foreach(line ${listed})
    string(REGEX MATCH "^([0-9a-f]+)  (.+)$" line "${line}")
    set(file ${NEUROLENS_DEPS}/${CMAKE_MATCH_2})
    set(wanted ${CMAKE_MATCH_1})
    set(found "missing")
    if(EXISTS ${file})
      file(SHA256 ${file} found)
    endif()
    if(NOT found STREQUAL wanted)
      message(FATAL_ERROR "${file} is not the file of tools/deps.sha256 (${found}): remove the folder of ${part} and run tools/setup")
    endif()
    if(file MATCHES "/duckdb-.*\\.a$")
      list(APPEND duckdb_archives ${file})
    endif()
  endforeach()
endforeach()

if(NEUROLENS_PORTABLE)
  # Their order counts, so no library may name one of them again. CMake guesses them wrong behind some compiler caches.
  set(CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES ${cxx_headers})
endif()

set(CMAKE_THREAD_PREFER_PTHREAD ON)
find_package(Threads REQUIRED)
set(OPENSSL_USE_STATIC_LIBS ON)
find_package(OpenSSL REQUIRED)
find_library(SQLITE_LIBRARY NAMES libsqlite3.a sqlite3 REQUIRED)
add_library(sqlite INTERFACE)
target_link_libraries(sqlite INTERFACE ${SQLITE_LIBRARY} m)
add_library(openssl_ssl INTERFACE)
target_link_libraries(openssl_ssl INTERFACE OpenSSL::SSL OpenSSL::Crypto)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_path(BOOST_HEADERS boost/beast.hpp REQUIRED)  # Asio and Beast are headers alone

add_library(simdjson STATIC ${NEUROLENS_DEPS}/simdjson-4.6.4/simdjson.cpp)
target_include_directories(simdjson SYSTEM PUBLIC ${NEUROLENS_DEPS}/simdjson-4.6.4)
target_compile_options(simdjson PRIVATE -O3 -DNDEBUG)

add_library(duckdb INTERFACE)
target_include_directories(duckdb SYSTEM INTERFACE ${duckdb}/include)
target_link_libraries(duckdb INTERFACE -Wl,--start-group ${duckdb_archives} -Wl,--end-group Threads::Threads ${CMAKE_DL_LIBS})

# Only declarations: the library is loaded at run time.
add_library(onnxruntime INTERFACE)
target_include_directories(onnxruntime SYSTEM INTERFACE ${NEUROLENS_DEPS}/onnxruntime-headers-24)
target_link_libraries(onnxruntime INTERFACE ${CMAKE_DL_LIBS})

add_library(valijson INTERFACE)

find_library(YAML_LIBRARY NAMES libyaml-cpp.a yaml-cpp REQUIRED)
add_library(yaml INTERFACE)
target_link_libraries(yaml INTERFACE ${YAML_LIBRARY})

find_library(CMARK_LIBRARY NAMES libcmark.a cmark REQUIRED)
add_library(cmark INTERFACE)
target_link_libraries(cmark INTERFACE ${CMARK_LIBRARY})

find_library(RE2_LIBRARY NAMES libre2.a re2 REQUIRED)
add_library(re2 INTERFACE)
target_link_libraries(re2 INTERFACE ${RE2_LIBRARY} Threads::Threads)

find_library(ISAL_LIBRARY NAMES libisal.a isal REQUIRED)
add_library(isal INTERFACE)
target_link_libraries(isal INTERFACE ${ISAL_LIBRARY})
find_library(ZSTD_LIBRARY NAMES libzstd.a zstd REQUIRED)
add_library(zstd INTERFACE)
target_link_libraries(zstd INTERFACE ${ZSTD_LIBRARY})

# Flags of our own code only.
add_library(nl_flags INTERFACE)
target_compile_options(nl_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Werror)
# clang takes names of another file that is compiled together with this one for shadowed, too.
target_compile_options(nl_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wshadow>)
# The same on every machine: floating point without multiply and add in one rounding, and the sign of char.
target_compile_options(nl_flags INTERFACE -ffp-contract=off -fsigned-char)
# g++ 12 sees overlaps in std::string that are not there; psabi is about libraries that g++ 9 compiled.
target_compile_options(nl_flags INTERFACE "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-psabi>")
target_include_directories(nl_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/generated)
target_link_libraries(nl_flags INTERFACE nlohmann_json::nlohmann_json Threads::Threads)
target_compile_definitions(nl_flags INTERFACE NEUROLENS_VERSION="${PROJECT_VERSION}")
if(NEUROLENS_SANITIZE)
  # Instrumented code confuses g++'s analysis of std::function and friends.
  target_compile_options(nl_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_compile_options(-fsanitize=${NEUROLENS_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${NEUROLENS_SANITIZE})
endif()

if(NEUROLENS_PORTABLE)
  enable_language(C)
  add_library(glibc_compat OBJECT cmake/glibc_compat.c)
  target_compile_options(glibc_compat PRIVATE -O2 -fno-builtin)
  add_link_options(-Wl,--wrap=exp,--wrap=exp2,--wrap=log,--wrap=log2,--wrap=pow)
  set(NEUROLENS_COMPAT $<TARGET_OBJECTS:glibc_compat>)  # a source of every executable
endif()
