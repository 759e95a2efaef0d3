# One static library and one test program per layer, found by file name:
#   x.cpp -> the layer, x_test.cpp -> <layer>_tests, x_fuzz.cpp -> a libFuzzer program of its own.

if(MORAINE_TESTS)
  include(GoogleTest)
endif()

# A test that runs longer than this hangs; it is no measure of speed.
set(MORAINE_TEST_SECONDS_MAX 1200)

# Two precompiled headers for the whole project: one for all code, one that adds GoogleTest.
function(moraine_precompiled_header target)
  file(WRITE ${PROJECT_BINARY_DIR}/${target}.cpp.new "")
  file(COPY_FILE ${PROJECT_BINARY_DIR}/${target}.cpp.new ${PROJECT_BINARY_DIR}/${target}.cpp
    ONLY_IF_DIFFERENT)
  add_library(${target} STATIC ${PROJECT_BINARY_DIR}/${target}.cpp)
  target_link_libraries(${target} fmt::fmt ${ARGN})
  target_precompile_headers(${target} PRIVATE
    <algorithm> <chrono> <coroutine> <cstdint> <deque> <expected> <functional> <map> <memory>
    <optional> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>
    <fmt/format.h>)
endfunction()

moraine_precompiled_header(moraine_pch)
if(MORAINE_TESTS)
  moraine_precompiled_header(moraine_test_pch GTest::gtest)
  target_precompile_headers(moraine_test_pch PRIVATE <gtest/gtest.h>)
endif()

function(moraine_use_precompiled_header target)
  target_precompile_headers(${target} REUSE_FROM moraine_pch)
endfunction()

# Splits the .cpp files below `dir` into ${prefix}_sources, _tests, _fuzzers and _main.
function(moraine_find_sources prefix dir)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cpp)
  foreach(kind tests fuzzers main)
    set(${kind} ${sources})
  endforeach()
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cpp$")
  list(FILTER main INCLUDE REGEX "/main\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz|/main)\\.cpp$")
  foreach(kind sources tests fuzzers main)
    set(${prefix}_${kind} ${${kind}} PARENT_SCOPE)
  endforeach()
endfunction()

# moraine_layer(name LINK public... PRIVATE private...): src/name.
function(moraine_layer name)
  cmake_parse_arguments(LAYER "" "" "LINK;PRIVATE" ${ARGN})
  moraine_find_sources(found src/${name})
  add_library(${name} STATIC ${found_sources})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(${name} PUBLIC ${LAYER_LINK} PRIVATE ${LAYER_PRIVATE})
  moraine_use_precompiled_header(${name})
  moraine_tests(${name}_tests ${name} ${found_tests})
  moraine_fuzzers(${name} ${found_fuzzers})
endfunction()

function(moraine_tests target library)
  if(NOT ARGN OR NOT MORAINE_TESTS)
    return()
  endif()
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} ${library} GTest::gtest GTest::gtest_main)
  target_precompile_headers(${target} REUSE_FROM moraine_test_pch)
  gtest_discover_tests(${target} NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${MORAINE_TEST_SECONDS_MAX})
endfunction()

add_custom_target(fuzzers)

function(moraine_fuzzers library)
  if(NOT MORAINE_FUZZ)
    return()
  endif()
  foreach(file ${ARGN})
    get_filename_component(fuzzer ${file} NAME_WE)
    add_executable(${fuzzer} ${file})
    target_link_libraries(${fuzzer} ${library} GTest::gtest)  # Test helpers use its assertions.
    target_link_options(${fuzzer} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers ${fuzzer})
  endforeach()
endfunction()

# moraine_program(name DIR dir LIBRARY library LINK public...): dir/main.cpp becomes the program,
# the rest `library`, so that tests beside the code can use it. No main.cpp, no program.
function(moraine_program name)
  cmake_parse_arguments(PROGRAM "" "DIR;LIBRARY" "LINK" ${ARGN})
  moraine_find_sources(found ${PROGRAM_DIR})
  if(NOT found_sources AND NOT found_main)
    return()
  endif()
  add_library(${PROGRAM_LIBRARY} INTERFACE)
  if(found_sources)
    add_library(${PROGRAM_LIBRARY}_objects STATIC ${found_sources})
    target_include_directories(${PROGRAM_LIBRARY}_objects PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/.> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
    target_link_libraries(${PROGRAM_LIBRARY}_objects PUBLIC ${PROGRAM_LINK})
    moraine_use_precompiled_header(${PROGRAM_LIBRARY}_objects)
    target_link_libraries(${PROGRAM_LIBRARY} INTERFACE ${PROGRAM_LIBRARY}_objects)
  endif()
  target_include_directories(${PROGRAM_LIBRARY} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/.> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  target_link_libraries(${PROGRAM_LIBRARY} INTERFACE ${PROGRAM_LINK})
  moraine_tests(${PROGRAM_LIBRARY}_tests ${PROGRAM_LIBRARY} ${found_tests})
  moraine_fuzzers(${PROGRAM_LIBRARY} ${found_fuzzers})
  if(found_main)
    add_executable(${name} ${found_main})
    target_link_libraries(${name} ${PROGRAM_LIBRARY})
    moraine_use_precompiled_header(${name})
  endif()
endfunction()

# The allocator of a program: with lanes, much of the memory that one thread allocates is freed by
# another. Not in debug builds: sanitizers bring their own.
function(moraine_use_allocator program)
  if(TARGET ${program} AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    find_library(MIMALLOC_LIBRARY mimalloc)
    if(MIMALLOC_LIBRARY)
      target_link_libraries(${program} ${MIMALLOC_LIBRARY})
    else()
      message(WARNING "libmimalloc-dev is not installed: ${program} uses the system's allocator")
    endif()
  endif()
endfunction()

# A script of scripts/ as a test; it runs from the root of the repository.
function(moraine_check name)
  add_test(NAME ${name} COMMAND ${PROJECT_SOURCE_DIR}/scripts/${name} WORKING_DIRECTORY
    ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS check TIMEOUT ${MORAINE_TEST_SECONDS_MAX})
endfunction()
