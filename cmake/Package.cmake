# The library for other projects: one static archive, the public headers, and find_package(fenceline).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(parts base model runtime store handler history_format history gates doctor tracker metrics http traces sqlite postgres redis services session library)
foreach(part ${parts})
  list(APPEND objects $<TARGET_OBJECTS:fenceline_${part}>)
endforeach()
add_library(fenceline_package STATIC ${objects})
set_target_properties(fenceline_package PROPERTIES OUTPUT_NAME fenceline EXPORT_NAME fenceline LINKER_LANGUAGE CXX)
target_compile_features(fenceline_package INTERFACE cxx_std_23)
target_include_directories(fenceline_package INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(fenceline_package PUBLIC Threads::Threads PkgConfig::sqlite3 PkgConfig::libpq OpenSSL::SSL OpenSSL::Crypto Cctz::Cctz PkgConfig::prometheus PkgConfig::libcurl)
if(FENCELINE_SANITIZE)
  target_link_options(fenceline_package INTERFACE -fsanitize=${FENCELINE_SANITIZE})
endif()

set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/fenceline)
install(TARGETS fenceline_package EXPORT fenceline ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(EXPORT fenceline NAMESPACE fenceline:: FILE fencelineTargets.cmake DESTINATION ${folder} COMPONENT development)
configure_package_config_file(cmake/fencelineConfig.cmake.in ${PROJECT_BINARY_DIR}/package/fencelineConfig.cmake INSTALL_DESTINATION ${folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/fencelineConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/fencelineConfig.cmake ${PROJECT_BINARY_DIR}/package/fencelineConfigVersion.cmake cmake/FindCctz.cmake
  DESTINATION ${folder} COMPONENT development)
# All of them but sim.hpp: the simulator is not in the archive.
install(DIRECTORY include/fenceline DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.hpp" PATTERN sim.hpp EXCLUDE)
install(FILES ${PROJECT_BINARY_DIR}/include/fenceline/version.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/fenceline COMPONENT development)

# For builds without CMake. The archive is static, so all that it needs is named here; not by Requires.private, since what these libraries themselves would
# need to be linked statically (Kerberos, LDAP) is neither needed nor installed.
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
list(JOIN sqlite3_LDFLAGS " " pc_sqlite3)
list(JOIN libpq_LDFLAGS " " pc_libpq)
list(JOIN libcurl_LDFLAGS " " pc_libcurl)
list(JOIN prometheus_LDFLAGS " " pc_prometheus)
configure_file(cmake/fenceline.pc.in ${PROJECT_BINARY_DIR}/package/fenceline.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/fenceline.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
