# What is loaded into the customer's process: libneurolens_collect.so, and the extension of the Python package. Neither
# needs anything but libc: no exceptions, no runtime of C++, no symbol but those meant for others.
file(GLOB collect_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/collect/*.cpp)
add_library(neurolens_collect SHARED ${collect_sources})
target_include_directories(neurolens_collect PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_compile_options(neurolens_collect PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror
  -fno-exceptions -fno-rtti -fno-threadsafe-statics -fvisibility=hidden $<$<CONFIG:Release>:-O2>)
target_link_options(neurolens_collect PRIVATE -static-libstdc++ -static-libgcc -Wl,--as-needed -Wl,--no-undefined -Wl,-z,nodelete)
target_link_libraries(neurolens_collect PRIVATE Threads::Threads)
set_target_properties(neurolens_collect PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

# The same code inside of a test.
add_library(nl_collect STATIC EXCLUDE_FROM_ALL ${collect_sources})
target_include_directories(nl_collect PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(nl_collect PRIVATE nl_flags)
