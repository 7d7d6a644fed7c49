# linac_module(NAME [TORCH] [VERBS] [HTTP] DEPS modules PRIVATE_DEPS modules LINK targets PRIVATE_LINK targets): the library
# linac_NAME from every .cpp of the folder, and, from its *_test.cpp files, the ctest program NAME_test. A folder in it with a CMakeLists.txt
# of its own is another module: in `launch`, the folder `workers` is `launch_workers`. A module includes only
# headers of its dependencies (a test greps them); those its own headers name are DEPS, and LINK the third-party targets that
# they name. TORCH: its sources see LibTorch, its users do not. VERBS: it parses command lines and prints, and computes nothing
# itself. HTTP: it serves, on Asio.
#
# What a build takes is mostly the reading of headers. So each module reads the common ones precompiled (cmake/*_pch.h), and with
# LINAC_UNITY its sources are compiled in batches (cmake/batches.py).
function(linac_module name)
  cmake_parse_arguments(arg "TORCH;VERBS;HTTP" "" "DEPS;PRIVATE_DEPS;LINK;PRIVATE_LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  file(GLOB_RECURSE inner CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/CMakeLists.txt)
  list(REMOVE_ITEM inner ${CMAKE_CURRENT_SOURCE_DIR}/CMakeLists.txt)
  foreach(list ${inner})
    get_filename_component(folder ${list} DIRECTORY)
    list(FILTER sources EXCLUDE REGEX "^${folder}/")
  endforeach()
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(TRANSFORM arg_DEPS PREPEND linac_)
  list(TRANSFORM arg_PRIVATE_DEPS PREPEND linac_)

  add_library(linac_${name} STATIC ${sources})
  linac_compile_options(linac_${name})
  target_include_directories(linac_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(linac_${name} PUBLIC ${arg_DEPS} ${arg_LINK} Threads::Threads PRIVATE ${arg_PRIVATE_DEPS} ${arg_PRIVATE_LINK})
  linac_in_batches(linac_${name})
  set(tests_headers tests)
  if(arg_TORCH)
    set(tests_headers torch_tests)
    target_link_libraries(linac_${name} PRIVATE linac_torch)
    linac_precompiled(linac_${name} torch)
  elseif(arg_VERBS)
    linac_precompiled(linac_${name} verbs)
    linac_compile_quickly(linac_${name})
  elseif(arg_HTTP)
    linac_precompiled(linac_${name} http)
  else()
    linac_precompiled(linac_${name} common)
  endif()

  if(LINAC_TESTS AND tests)
    add_executable(${name}_test ${tests})
    linac_compile_options(${name}_test)
    linac_compile_quickly(${name}_test)
    target_link_libraries(${name}_test PRIVATE linac_${name} ${arg_PRIVATE_DEPS} ${arg_PRIVATE_LINK} gtest gtest_main)
    if(arg_TORCH)
      target_link_libraries(${name}_test PRIVATE linac_torch)
    endif()
    linac_precompiled(${name}_test ${tests_headers})
    linac_in_batches(${name}_test)
    add_test(NAME ${name} COMMAND ${name}_test WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  endif()
endfunction()

# The same flags for every target: a result must not depend on which module computed it.
# -ffp-contract=off: a fused multiply-add where one build has it and another not would change bits.
function(linac_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -ffp-contract=off)
  target_compile_definitions(${target} PRIVATE SPDLOG_FMT_EXTERNAL)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -fpch-preprocess)  # or ccache could not see into precompiled headers
  endif()
  if(LINAC_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)  # a fuzzer finds new paths only in code that tells it
  endif()
  if(LINAC_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${LINAC_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${LINAC_SANITIZE})
  endif()
endfunction()

# For what is not worth a compiler's longer look: tests (what they test keeps its optimisation) and verbs.
function(linac_compile_quickly target)
  if(CMAKE_BUILD_TYPE STREQUAL Release)
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# Several sources in one translation unit, in builds for use; while one file is worked on (preset dev) each is its own. Which
# ones is found anew when a source changes: it may have got a name that another one has.
function(linac_in_batches target)
  if(NOT LINAC_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "^${CMAKE_SOURCE_DIR}/.*\\.cpp$")
  list(SORT sources)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/batches.py ${LINAC_UNITY_LINES} ${sources}
    OUTPUT_VARIABLE lines OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" lines "${lines}")
  foreach(line ${lines})
    string(REGEX MATCH "^([0-9]+) (.*)$" line "${line}")
    set_source_files_properties(${CMAKE_MATCH_2} PROPERTIES UNITY_GROUP batch_${CMAKE_MATCH_1})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)  # is for headers; a batch looks like one
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/batches.py ${sources})
endfunction()

# linac_precompiled(TARGET SET): TARGET reads the headers of cmake/SET_pch.h precompiled, once for all targets of the set.
set(linac_headers_tests GTest::gtest)
set(linac_headers_verbs CLI11::CLI11)
set(linac_headers_http linac_boost)
set(linac_headers_torch linac_torch)
set(linac_headers_torch_tests linac_torch GTest::gtest)
function(linac_precompiled target set)
  if(NOT TARGET linac_${set}_headers)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${set}_headers.cpp CONTENT "")
    add_library(linac_${set}_headers OBJECT ${CMAKE_BINARY_DIR}/generated/${set}_headers.cpp)
    linac_compile_options(linac_${set}_headers)
    target_link_libraries(linac_${set}_headers PRIVATE fmt::fmt nlohmann_json::nlohmann_json ${linac_headers_${set}})
    target_precompile_headers(linac_${set}_headers PRIVATE ${CMAKE_SOURCE_DIR}/cmake/${set}_pch.h)
  endif()
  target_precompile_headers(${target} REUSE_FROM linac_${set}_headers)
endfunction()

if(LINAC_TESTS)
  find_package(GTest REQUIRED)
  add_library(gtest ALIAS GTest::gtest)
  add_library(gtest_main ALIAS GTest::gtest_main)
endif()
