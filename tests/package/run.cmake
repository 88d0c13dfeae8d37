# Installs the package beside the build, then builds and runs the consumer against it alone.
set(scratch ${build}/package-test)
file(REMOVE_RECURSE ${scratch})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  message("${said}")
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed: ${ARGN}")
  endif()
endfunction()
run(${CMAKE_COMMAND} --install ${build} --prefix ${scratch}/installed --component development)
# It must not see the tree that it was built from.
run(${CMAKE_COMMAND} -E copy_directory ${consumer} ${scratch}/consumer)
run(${CMAKE_COMMAND} -E copy ${examples}/accounts.cpp ${scratch}/consumer/accounts.cpp)
run(${CMAKE_COMMAND} -S ${scratch}/consumer -B ${scratch}/b -G ${generator} -DCMAKE_CXX_COMPILER=${compiler} -DCMAKE_PREFIX_PATH=${scratch}/installed
  -Dwanted=${version} -Dprefix=${scratch}/installed)
run(${CMAKE_COMMAND} --build ${scratch}/b)
run(${scratch}/b/accounts)
# The same program without CMake.
find_program(pkg_config pkg-config REQUIRED)
file(GLOB_RECURSE pc ${scratch}/installed/*.pc)
cmake_path(GET pc PARENT_PATH pc_folder)
execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${pc_folder} ${pkg_config} --static --cflags --libs fenceline
  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags)
run(${compiler} -std=c++23 ${scratch}/consumer/accounts.cpp -o ${scratch}/accounts ${sanitize} ${flags})
run(${scratch}/accounts)
file(REMOVE_RECURSE ${scratch})
