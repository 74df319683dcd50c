include(GNUInstallDirs)

# Warnings, in one place. Linked PRIVATE so that users of the library keep their own.
add_library(dlo_strict INTERFACE)
target_compile_options(dlo_strict INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wswitch-enum -Wold-style-cast -Wnon-virtual-dtor
  # A designated initialiser names what differs; every other member has its default.
  -Wno-missing-field-initializers
  # libstdc++ 12's own stable_sort uses what C++20 deprecates; clang blames the caller.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
add_library(dlo::strict ALIAS dlo_strict)

# dlo_library(store.sqlite FOLDER store/sqlite LINK dlo::store SQLite::SQLite3)
# One target per folder: every .cc directly in it but main.cc. The link graph is the architecture.
# Each is installed as a component of the package, unless it is INTERNAL (faces of the program).
function(dlo_library name)
  cmake_parse_arguments(ARG "INTERNAL" "FOLDER" "LINK;LINK_PRIVATE" ${ARGN})
  if(NOT ARG_FOLDER)
    set(ARG_FOLDER ${name})
  endif()
  string(REPLACE "." "_" target "dlo_${name}")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_FOLDER}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  if(sources)
    add_library(${target} STATIC ${sources})
    target_compile_features(${target} PUBLIC cxx_std_20)  # users of the package need it as well
    target_link_libraries(${target} PUBLIC ${ARG_LINK} PRIVATE ${ARG_LINK_PRIVATE} $<BUILD_INTERFACE:dlo::strict>)
    if(name IN_LIST DLO_BUSY_LIBRARIES)
      target_compile_options(${target} PRIVATE -O1)
    endif()
    target_include_directories(${target} PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  else()
    add_library(${target} INTERFACE)
    target_compile_features(${target} INTERFACE cxx_std_20)
    target_link_libraries(${target} INTERFACE ${ARG_LINK})
    target_include_directories(${target} INTERFACE
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  endif()
  add_library(dlo::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  if(NOT ARG_INTERNAL)
    install(TARGETS ${target} EXPORT dloTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    set_property(GLOBAL APPEND PROPERTY DLO_COMPONENTS ${name})
    set_property(GLOBAL PROPERTY DLO_NEEDS_${name} ${ARG_LINK} ${ARG_LINK_PRIVATE})
  endif()
endfunction()

# dlo_program(dlo FOLDER server LINK dlo::server)
# FOLDER/main.cc as a program at the top of the build tree.
function(dlo_program name)
  cmake_parse_arguments(ARG "" "FOLDER" "LINK" ${ARGN})
  if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_FOLDER}/main.cc)
    return()
  endif()
  add_executable(${name} ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_FOLDER}/main.cc)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} dlo::strict)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# dlo_test(unit_core FOLDER unit/core LINK dlo::core)
# One program per folder of tests; every *_test.cc and helper .cc directly in it. All of them share
# one precompiled header (tests/support/pch.h). LABELS are chosen with ctest -L; `threads` says that
# the program has more than one, and makes it part of the target `threaded` for the thread sanitizer.
function(dlo_test name)
  cmake_parse_arguments(ARG "" "FOLDER;TIMEOUT" "LINK;LABELS;SOURCES;EXCEPT" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_FOLDER}/*.cc)
  foreach(left_out IN LISTS ARG_EXCEPT)
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_FOLDER}/${left_out})
  endforeach()
  list(APPEND sources ${ARG_SOURCES})
  if(NOT sources)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * ${DLO_PATIENCE}")
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest GTest::gtest_main dlo::strict)
  if(TARGET dlo_test_pch)
    target_precompile_headers(${name} REUSE_FROM dlo_test_pch)
  endif()
  if("threads" IN_LIST ARG_LABELS)
    add_dependencies(threaded ${name})
  endif()
  gtest_discover_tests(${name} NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
