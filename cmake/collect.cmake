# What is loaded into the customer's process: libneurolens_collect.so, and the extension of the Python package. Neither
# needs anything but libc: no exceptions, no runtime of C++, no symbol but those meant for others.
file(GLOB collect_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/collect/*.cpp ${CMAKE_SOURCE_DIR}/src/cupti/*.cpp)
list(FILTER collect_sources EXCLUDE REGEX layout_check)

# The same code inside of a test.
add_library(nl_collect STATIC EXCLUDE_FROM_ALL ${collect_sources})
target_include_directories(nl_collect PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(nl_collect PRIVATE nl_flags)

# What is declared of CUPTI, held against NVIDIA's headers where they are; nothing of them is linked or shipped.
foreach(version 11.8 12.9 13.4)
  if(EXISTS ${NEUROLENS_DEPS}/nvidia-1/cupti-${version})
    add_library(nl_cupti_layout_${version} OBJECT ${CMAKE_SOURCE_DIR}/src/cupti/layout_check.cpp)
    target_include_directories(nl_cupti_layout_${version} SYSTEM PRIVATE ${NEUROLENS_DEPS}/nvidia-1/cupti-${version})
    target_link_libraries(nl_cupti_layout_${version} PRIVATE nl_flags)
  else()
    message(STATUS "no headers of CUPTI ${version}: the collector is built, its layouts are not checked against them")
  endif()
endforeach()

if(NEUROLENS_SANITIZE)
  return()  # libraries with a sanitizer cannot be loaded into programs without one
endif()
add_library(neurolens_collect SHARED ${collect_sources})
target_include_directories(neurolens_collect PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_compile_options(neurolens_collect PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror
  -fno-exceptions -fno-rtti -fno-threadsafe-statics -fvisibility=hidden $<$<CONFIG:Release>:-O2>)
target_link_options(neurolens_collect PRIVATE -static-libstdc++ -static-libgcc -Wl,--as-needed -Wl,--no-undefined -Wl,-z,nodelete)
target_link_libraries(neurolens_collect PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(neurolens_collect PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
target_link_options(neurolens_collect PRIVATE $<$<CONFIG:Release>:-s>)

# Its bytes are a part of the program that records.
set(collector ${CMAKE_BINARY_DIR}/lib/libneurolens_collect.so)
set_source_files_properties(src/capture/record/collector_library.cpp PROPERTIES OBJECT_DEPENDS ${collector}
  COMPILE_DEFINITIONS NEUROLENS_COLLECTOR_FILE="${collector}")
add_dependencies(nl_capture neurolens_collect)

# The Python package in build/<preset>/python: its sources, the header, and its compiled part, which serves Python 3.9 and
# later. A portable build has the headers of Python in its sysroot; another takes those of this machine, if there are any.
option(NEUROLENS_PYTHON "build the extension of the Python package if the headers of Python are there" ON)
if(NOT NEUROLENS_PYTHON)
  return()
endif()
if(NEUROLENS_PORTABLE)
  set(python_headers ${CMAKE_SYSROOT}/usr/include/python3.9)
  if(NOT EXISTS ${python_headers}/Python.h)
    message(FATAL_ERROR "${python_headers} is not there: run tools/setup")
  endif()
else()
  find_program(NEUROLENS_PYTHON_PROGRAM NAMES python3)
  if(NEUROLENS_PYTHON_PROGRAM)
    execute_process(COMMAND ${NEUROLENS_PYTHON_PROGRAM} -c "import sysconfig; print(sysconfig.get_path('include'))"
      OUTPUT_VARIABLE python_headers OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  if(NOT python_headers OR NOT EXISTS ${python_headers}/Python.h)
    return()
  endif()
endif()
enable_language(C)
set(python_package ${CMAKE_BINARY_DIR}/python/neurolens)
set(marker_header include/neurolens/neurolens.h)
file(MAKE_DIRECTORY ${python_package}/include/neurolens)
add_library(neurolens_python MODULE python/neurolens/_markers.c)
target_include_directories(neurolens_python PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_include_directories(neurolens_python SYSTEM PRIVATE ${python_headers})
target_compile_options(neurolens_python PRIVATE -std=gnu11 -Wall -Wextra -Werror -fvisibility=hidden
  $<$<CONFIG:Release>:-O2>)
target_compile_definitions(neurolens_python PRIVATE Py_LIMITED_API=0x03090000)
target_link_libraries(neurolens_python PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(neurolens_python PROPERTIES PREFIX "" OUTPUT_NAME _markers SUFFIX .abi3.so
  LIBRARY_OUTPUT_DIRECTORY ${python_package})
file(GLOB python_sources CONFIGURE_DEPENDS python/neurolens/*.py python/neurolens/*.pyi python/neurolens/py.typed)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/python/copied DEPENDS ${python_sources} ${marker_header}
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${python_sources} ${python_package}
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${CMAKE_SOURCE_DIR}/${marker_header} ${python_package}/include/neurolens
  COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/python/copied)
add_custom_target(neurolens_python_sources DEPENDS ${CMAKE_BINARY_DIR}/python/copied)
add_dependencies(neurolens_python neurolens_python_sources)

# For `pip install .`, which copies the sources itself: see pyproject.toml.
if(SKBUILD)
  install(TARGETS neurolens_python LIBRARY DESTINATION neurolens COMPONENT wheel)
  install(FILES ${marker_header} DESTINATION neurolens/include/neurolens COMPONENT wheel)
endif()
