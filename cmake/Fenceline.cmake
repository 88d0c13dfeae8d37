# The few functions that keep every CMakeLists.txt short.

# Several sources of a target are compiled as one: see FENCELINE_UNITY.
function(fenceline_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${FENCELINE_UNITY} UNITY_BUILD_BATCH_SIZE 16)
endfunction()

# A folder of links through which the headers of the folder at hand, and no others, are found as "model/job.hpp". Who does not declare a target does not
# see its headers: an undeclared include does not compile.
function(fenceline_headers target visibility)
  file(RELATIVE_PATH below ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  if(below MATCHES "^\\.\\./")
    file(RELATIVE_PATH below ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  set(links ${PROJECT_BINARY_DIR}/layers/${target})
  cmake_path(GET below PARENT_PATH above)
  file(MAKE_DIRECTORY ${links}/${above})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${links}/${below} SYMBOLIC)
  target_include_directories(${target} ${visibility} ${links})
endfunction()

# One target for a folder: every *.cpp but *_test.cpp and main.cpp, and the tests beside them as <name>_test.
#   fenceline_library(services DEPENDS model store runtime [LINK PkgConfig::sqlite3])
# COLD: what waits for people, processes or disks compiles with -O1, which takes a quarter less time.
# With TESTS_IN cli the tests join others in cli_test, which src/cli makes of all of them.
function(fenceline_library name)
  cmake_parse_arguments(arg "COLD" "TESTS_IN" "DEPENDS;LINK;TEST_DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "*.cpp")
  file(GLOB tests CONFIGURE_DEPENDS "*_test.cpp")
  if(tests)
    list(REMOVE_ITEM sources ${tests})
  endif()
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  set(target fenceline_${name})
  list(TRANSFORM arg_DEPENDS PREPEND fenceline_)
  list(TRANSFORM arg_TEST_DEPENDS PREPEND fenceline_)
  if(sources)
    add_library(${target} STATIC ${sources})
    fenceline_unity(${target})
    if(arg_COLD)
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
    fenceline_headers(${target} PUBLIC)
    target_link_libraries(${target} PUBLIC fenceline_settings ${arg_DEPENDS} PRIVATE ${arg_LINK})
  else()
    add_library(${target} INTERFACE)
    fenceline_headers(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE fenceline_settings ${arg_DEPENDS})
  endif()
  if(arg_TESTS_IN)
    set_property(GLOBAL APPEND PROPERTY FENCELINE_TESTS_IN_${arg_TESTS_IN} ${tests})
  elseif(tests AND FENCELINE_TESTS)
    add_executable(${name}_test ${tests})
    fenceline_unity(${name}_test)
    # What ships is optimised; compiling tests as well takes twice as long and shows nothing more.
    target_compile_options(${name}_test PRIVATE $<$<CONFIG:Release>:-O0>)
    target_link_libraries(${name}_test PRIVATE ${target} ${arg_TEST_DEPENDS} GTest::gtest_main)
    set(label library)
    if(name MATCHES "^(bench|benches|drills)$")
      set(label program)
    endif()
    if(name STREQUAL "postgres")
      fenceline_test_on_postgres(unit.postgres ${name}_test ${label})
    elseif(name STREQUAL "redis")
      fenceline_test_on_redis(unit.redis ${name}_test ${label})
    else()
      gtest_discover_tests(${name}_test TEST_PREFIX "unit." NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${label})
    endif()
    set_property(GLOBAL APPEND PROPERTY FENCELINE_SANITIZED_TESTS ${name}_test)
  endif()
endfunction()

# All tests of a program, or those that a filter lets through, as one test beside a PostgreSQL server of its own. It starts before the short ones.
function(fenceline_test_on_postgres test target label)
  add_test(NAME ${test} COMMAND ${PROJECT_SOURCE_DIR}/script/with_postgres --pgbouncer -- $<TARGET_FILE:${target}> ${ARGN})
  set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT 1500 COST 1000)
endfunction()

# The same beside a Redis server, with every kind of way to it.
function(fenceline_test_on_redis test target label)
  add_test(NAME ${test} COMMAND ${PROJECT_SOURCE_DIR}/script/with_redis --tls --acl --replica -- $<TARGET_FILE:${target}> ${ARGN})
  set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT 1500 COST 900)
endfunction()

# Targets for the tests that also run under the sanitizers: all but those of the program itself, which cost as much again
# (sanitized_program_tests, with the label `program`), and, for the thread sanitizer, those of the parts that have threads. Called once, at the end; a
# test outside fenceline_library joins by appending itself to the property.
function(fenceline_sanitized_tests)
  get_property(targets GLOBAL PROPERTY FENCELINE_SANITIZED_TESTS)
  set(program ${targets})
  list(FILTER program INCLUDE REGEX "^(cli|drills|guardian|bench|benches)_test$")
  list(FILTER targets EXCLUDE REGEX "^(cli|drills|guardian|bench|benches)_test$")
  set(threaded ${targets})
  # Fibers, which the thread sanitizer does not know: the simulator's, and those of the HTTP server.
  list(FILTER threaded EXCLUDE REGEX "^(sim.*|check|history_format|http)_test$")
  add_custom_target(sanitized_tests DEPENDS ${targets})
  add_custom_target(sanitized_program_tests DEPENDS ${program})
  add_custom_target(sanitized_threaded_tests DEPENDS ${threaded})
endfunction()

# The files that a pattern finds, as a function of a library: std::vector<TYPE> FUNCTION(), each {name, text}, as HEADER declares it in SPACE.
#   fenceline_embed(fenceline_postgres schema_sql.cpp FROM sql/*.sql HEADER backends/postgres/schema.hpp SPACE fenceline::postgres TYPE SqlFile FUNCTION schema_sql)
function(fenceline_embed target made)
  cmake_parse_arguments(arg "" "FROM;HEADER;SPACE;TYPE;FUNCTION" "" ${ARGN})
  set(made ${CMAKE_CURRENT_BINARY_DIR}/${made})
  set(program ${PROJECT_SOURCE_DIR}/cmake/embed_texts.cmake)
  file(GLOB files CONFIGURE_DEPENDS "${arg_FROM}")
  add_custom_command(OUTPUT ${made}
    COMMAND ${CMAKE_COMMAND} -D FROM=${CMAKE_CURRENT_SOURCE_DIR}/${arg_FROM} -D TO=${made} -D HEADER=${arg_HEADER} -D SPACE=${arg_SPACE} -D TYPE=${arg_TYPE}
      -D FUNCTION=${arg_FUNCTION} -P ${program}
    DEPENDS ${files} ${program} VERBATIM)
  target_sources(${target} PRIVATE ${made})
endfunction()
