# linac_embed_ui(TARGET): the pages of ui/ as a source of TARGET. They need Node.js 18 or newer with npm, which gets the packages
# that ui/package-lock.json pins; without them the program has no pages and says how to add them.
option(LINAC_UI "build the web pages of the service (needs Node.js >= 18 and npm)" ON)

function(linac_embed_ui target)
  set(reason "")
  find_program(LINAC_NODE NAMES node nodejs)
  find_program(LINAC_NPM npm)
  if(NOT LINAC_UI)
    set(reason "LINAC_UI=OFF")
  elseif(NOT LINAC_NODE OR NOT LINAC_NPM)
    set(reason "no Node.js with npm (apt-get install nodejs npm)")
  else()
    execute_process(COMMAND ${LINAC_NODE} --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REPLACE "v" "" version "${version}")
    if(version VERSION_LESS 18)
      set(reason "Node.js ${version} (wanted: 18 or newer)")
    endif()
  endif()
  if(reason)
    message(STATUS "ui: the service gets no pages: ${reason}")
    target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/ui/no_pages.cpp)
    return()
  endif()

  set(build ${CMAKE_BINARY_DIR}/ui)
  file(MAKE_DIRECTORY ${build})
  if(NOT EXISTS ${build}/again)
    file(TOUCH ${build}/again)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ui/src/*)
  foreach(name build.mjs no_pages.cpp index.html vite.config.ts tsconfig.json package.json package-lock.json .npmrc)
    list(APPEND sources ${CMAKE_SOURCE_DIR}/ui/${name})
  endforeach()
  add_custom_command(
    OUTPUT ${build}/ui_bundle.cpp
    COMMAND ${LINAC_NODE} ${CMAKE_SOURCE_DIR}/ui/build.mjs ${build}
    DEPENDS ${sources} ${build}/again
    COMMENT "Building the web pages"
    VERBATIM)
  target_sources(${target} PRIVATE ${build}/ui_bundle.cpp)
endfunction()
