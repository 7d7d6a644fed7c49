# linac_storey(NAME [ON storeys] [MODULES folders] [WITH_TORCH folders]): a storey of the house, a folder of modules, lowest first. They
# depend on modules of the storeys named after ON and on those before them (tests/structure/include_test.py). WITH_TORCH: those that
# are there only in builds with LibTorch.
function(linac_storey name)
  cmake_parse_arguments(arg "" "" "ON;MODULES;WITH_TORCH" ${ARGN})
  foreach(module ${arg_MODULES})
    add_subdirectory(${module})
  endforeach()
  if(LINAC_TORCH)
    foreach(module ${arg_WITH_TORCH})
      add_subdirectory(${module})
    endforeach()
  endif()
endfunction()

# linac_module(NAME [TORCH] [VERBS] [HTTP] [LIGHT [HOT files]] DEPS modules PRIVATE_DEPS modules LINK targets PRIVATE_LINK targets): the
# library linac_NAME from every .cpp of the folder but test_*.cpp, and, from its *_test.cpp files, the ctest program NAME_test. A folder
# in it with a CMakeLists.txt of its own is another module: in `launch`, the folder `sites` is `launch_sites`. A module includes only headers of its
# dependencies (a test greps them); those its own headers name are DEPS, and LINK the third-party targets that they name. TORCH: its
# sources see LibTorch, its users do not. VERBS: it parses command lines and prints, and computes nothing itself. HTTP: it serves, on
# Asio. LIGHT: what it computes takes no time beside a step of training, but for the HOT files.
#
# What a build takes is mostly the reading of headers. So each module reads the common ones precompiled (cmake/*_pch.h), and with
# LINAC_UNITY its sources are compiled in batches (cmake/batches.py).
function(linac_module name)
  cmake_parse_arguments(arg "TORCH;VERBS;HTTP;LIGHT" "" "HOT;DEPS;PRIVATE_DEPS;LINK;PRIVATE_LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  file(GLOB_RECURSE inner CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/CMakeLists.txt)
  list(REMOVE_ITEM inner ${CMAKE_CURRENT_SOURCE_DIR}/CMakeLists.txt)
  foreach(list ${inner})
    get_filename_component(folder ${list} DIRECTORY)
    list(FILTER sources EXCLUDE REGEX "^${folder}/")
  endforeach()
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|/main|/test_[a-z0-9_]*)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(TRANSFORM arg_DEPS PREPEND linac_)
  list(TRANSFORM arg_PRIVATE_DEPS PREPEND linac_)

  add_library(linac_${name} STATIC ${sources})
  linac_compile_options(linac_${name})
  target_include_directories(linac_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(linac_${name} PUBLIC ${arg_DEPS} ${arg_LINK} Threads::Threads PRIVATE ${arg_PRIVATE_DEPS} ${arg_PRIVATE_LINK})
  if(arg_VERBS OR arg_LIGHT)
    linac_compile_quickly(linac_${name})
    list(TRANSFORM arg_HOT PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    linac_compile_thoroughly(linac_${name} ${arg_HOT})
  endif()
  linac_in_batches(linac_${name})
  if(arg_TORCH)
    target_link_libraries(linac_${name} PRIVATE linac_torch)
    linac_precompiled(linac_${name} torch)
  elseif(arg_VERBS)
    linac_precompiled(linac_${name} verbs)
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
      linac_precompiled(${name}_test torch)
    else()
      linac_precompiled(${name}_test tests)
    endif()
    linac_in_batches(${name}_test)
    add_test(NAME ${name} COMMAND ${name}_test WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  endif()
endfunction()

# The same flags for every target: a result must not depend on which module computed it.
# -ffp-contract=off: a fused multiply-add where one build has it and another not would change bits.
function(linac_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -ffp-contract=off)
  # Some modules are in shared objects too (fastsim). Nobody puts a function of his own in the place of one of ours, so it may be
  # inlined all the same; what goes through tables the linker resolves in programs.
  target_compile_options(${target} PRIVATE -fPIC -fno-semantic-interposition)
  target_compile_definitions(${target} PRIVATE SPDLOG_FMT_EXTERNAL)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -fpch-preprocess)  # or ccache could not see into precompiled headers
    target_compile_options(${target} PRIVATE -Wno-restrict -Wno-stringop-overread)  # GCC 12 sees both in std::string (its bug 105651)
  endif()
  if(LINAC_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)  # a fuzzer finds new paths only in code that tells it
  endif()
  if(LINAC_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${LINAC_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${LINAC_SANITIZE})
  endif()
endfunction()

# For what is not worth a compiler's longer look: tests (what they test keeps its optimisation), verbs, and what is light. Not -O0:
# where several modules bring the same inline function, the program has one of them. Called before linac_precompiled().
function(linac_compile_quickly target)
  if(CMAKE_BUILD_TYPE STREQUAL Release)
    set_target_properties(${target} PROPERTIES LINAC_HEADERS _quick)
    target_compile_options(${target} PRIVATE -O1)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # what it warns of here it has not looked at long enough
      target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow)
    endif()
  endif()
endfunction()

# Sources of a target that is compiled quickly, which are not. They read no precompiled headers: those are made for the others.
function(linac_compile_thoroughly target)
  if(CMAKE_BUILD_TYPE STREQUAL Release AND ARGN)
    set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target}
      PROPERTIES COMPILE_OPTIONS -O3 SKIP_PRECOMPILE_HEADERS ON LINAC_HOT ON)
  endif()
endfunction()

# Several sources in one translation unit, in builds for use; while one file is worked on (preset dev) each is its own. Which
# ones is found anew when a source changes: it may have got a name that another one has. CMake's own unity builds write absolute
# paths into what they generate, by which ccache would know no other checkout.
function(linac_in_batches target)
  if(LINAC_UNITY)
    set_property(GLOBAL APPEND PROPERTY linac_targets_in_batches ${target})
  endif()
endfunction()

# Once, at the end of the tree: by then every source has got its flags.
function(linac_make_batches)
  get_property(targets GLOBAL PROPERTY linac_targets_in_batches)
  set(list "")
  set(all "")
  foreach(target ${targets})
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "^${CMAKE_SOURCE_DIR}/src/.*\\.cpp$")
    foreach(source ${sources})  # those with flags of their own, or of no use here, stay by themselves
      set(stays OFF)
      get_source_file_property(hot ${source} TARGET_DIRECTORY ${target} LINAC_HOT)
      foreach(property COMPILE_OPTIONS HEADER_FILE_ONLY SKIP_UNITY_BUILD_INCLUSION)
        get_source_file_property(value ${source} TARGET_DIRECTORY ${target} ${property})
        if(value AND NOT (hot AND property STREQUAL COMPILE_OPTIONS))
          set(stays ON)
        endif()
      endforeach()
      if(NOT stays)
        set(group ${target})
        if(hot)
          set(group ${target}:hot)  # among themselves
        endif()
        string(APPEND list "${group} ${source}\n")
        list(APPEND all ${source})
      endif()
    endforeach()
  endforeach()
  set(folder ${CMAKE_BINARY_DIR}/generated/batches)
  file(WRITE ${folder}/sources.txt "${list}")
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/batches.py ${LINAC_UNITY_LINES} ${folder}/sources.txt
    OUTPUT_VARIABLE lines OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" lines "${lines}")
  set(batches "")
  foreach(line ${lines})
    string(REGEX MATCH "^([^ :]+)(:hot)? ([0-9]+) (.*)$" line "${line}")
    set(target ${CMAKE_MATCH_1})
    string(REPLACE : _ batch "${target}${CMAKE_MATCH_2}_${CMAKE_MATCH_3}")
    set(hot_${batch} "${CMAKE_MATCH_2}")
    set(source ${CMAKE_MATCH_4})
    if(NOT batch IN_LIST batches)
      list(APPEND batches ${batch})
      set(target_of_${batch} ${target})
    endif()
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR}/src ${source})
    string(APPEND code_of_${batch} "#include \"${name}\"\n")
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES HEADER_FILE_ONLY ON)
  endforeach()
  foreach(batch ${batches})
    file(CONFIGURE OUTPUT ${folder}/${batch}.cpp CONTENT "${code_of_${batch}}")
    target_sources(${target_of_${batch}} PRIVATE ${folder}/${batch}.cpp)
    if(hot_${batch})
      linac_compile_thoroughly(${target_of_${batch}} ${folder}/${batch}.cpp)
    endif()
  endforeach()
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    foreach(target ${targets})
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage)  # is for headers; a batch looks like one
    endforeach()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/batches.py ${all})
endfunction()
if(LINAC_UNITY)
  cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL linac_make_batches)
endif()

# linac_precompiled(TARGET SET): TARGET reads the headers of cmake/SET_pch.h precompiled, once for all targets of the set, and once more
# for those that are compiled quickly: what a header defines keeps the optimisation with which it was precompiled, whatever the source
# that reads it says (GCC 12), and a verb compiled with -O1 would take half as long again.
set(linac_headers_tests GTest::gtest)
set(linac_headers_verbs CLI11::CLI11)
set(linac_headers_http linac_boost)
set(linac_headers_torch linac_torch)
function(linac_precompiled target set)
  get_target_property(variant ${target} LINAC_HEADERS)
  if(NOT variant)
    set(variant "")
  endif()
  set(headers linac_${set}_headers${variant})
  if(NOT TARGET ${headers})
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${set}_headers${variant}.cpp CONTENT "")
    add_library(${headers} OBJECT ${CMAKE_BINARY_DIR}/generated/${set}_headers${variant}.cpp)
    linac_compile_options(${headers})
    if(variant)
      linac_compile_quickly(${headers})
    endif()
    target_link_libraries(${headers} PRIVATE fmt::fmt nlohmann_json::nlohmann_json ${linac_headers_${set}})
    target_include_directories(${headers} PRIVATE ${CMAKE_SOURCE_DIR}/cmake)
    target_precompile_headers(${headers} PRIVATE <${set}_pch.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()

if(LINAC_TESTS)
  find_package(GTest REQUIRED)
  add_library(gtest ALIAS GTest::gtest)
  add_library(gtest_main ALIAS GTest::gtest_main)
endif()
