# How the project is built, by itself and as a part of another one (add_subdirectory, FetchContent).

option(MORAINE_FUZZ "Build the libFuzzer targets" OFF)
option(MORAINE_TESTS "Build the tests, examples, simulator and crash tests" ${PROJECT_IS_TOP_LEVEL})
option(MORAINE_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(MORAINE_INSTALL "Make install rules and the package for find_package(moraine)"
       ${PROJECT_IS_TOP_LEVEL})
option(MORAINE_WERROR "Warnings are errors" ${PROJECT_IS_TOP_LEVEL})

set(MORAINE_CLANG_MIN 19)
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR
   CMAKE_CXX_COMPILER_VERSION VERSION_LESS ${MORAINE_CLANG_MIN})
  message(FATAL_ERROR
    "moraine is built with clang ${MORAINE_CLANG_MIN} or newer; this is ${CMAKE_CXX_COMPILER_ID} "
    "${CMAKE_CXX_COMPILER_VERSION} (${CMAKE_CXX_COMPILER}). GCC 12 miscompiles coroutines. Configure "
    "an empty build folder with -DCMAKE_CXX_COMPILER=clang++-${MORAINE_CLANG_MIN} (Debian: apt-get "
    "install clang-${MORAINE_CLANG_MIN}).")
endif()

# For the targets of this project alone: a database without optimisation is ten times slower.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
  message(STATUS "moraine: built as Release, since no CMAKE_BUILD_TYPE is set")
endif()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor)
if(MORAINE_WERROR)
  add_compile_options(-Werror)
endif()
