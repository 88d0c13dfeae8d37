# Two Debian packages by CPack (script/package): `fenceline`, the program with all that an operator needs, and `libfenceline-dev`.
set(doc ${CMAKE_INSTALL_DATADIR}/doc/fenceline)
set(made ${PROJECT_BINARY_DIR}/package)
find_program(FENCELINE_GZIP gzip REQUIRED)
# As Debian wants it. Without the time of day: the same tree makes the same package.
add_custom_command(OUTPUT ${made}/changelog.gz COMMAND ${FENCELINE_GZIP} -9nc ${PROJECT_SOURCE_DIR}/CHANGELOG.md > ${made}/changelog.gz DEPENDS CHANGELOG.md VERBATIM)
add_custom_target(fenceline_changelog ALL DEPENDS ${made}/changelog.gz)
add_dependencies(fenceline_package fenceline_changelog)
install(FILES ${made}/changelog.gz ops/debian/copyright README.md DESTINATION ${doc} COMPONENT program)
install(DIRECTORY docs/ DESTINATION ${doc} COMPONENT program)
install(DIRECTORY ops/systemd/ DESTINATION lib/systemd/system COMPONENT program FILES_MATCHING PATTERN "*.service")
install(FILES ops/systemd/worker.env.example ops/fenceline.toml DESTINATION ${doc}/examples COMPONENT program)
foreach(folder prometheus grafana)
  if(EXISTS ${PROJECT_SOURCE_DIR}/ops/${folder})
    install(DIRECTORY ops/${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/fenceline COMPONENT program PATTERN "*.test.yml" EXCLUDE)
  endif()
endforeach()
install(FILES ops/debian/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libfenceline-dev COMPONENT development)
install(FILES ${made}/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libfenceline-dev COMPONENT development)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fenceline)
set(CPACK_PACKAGE_CONTACT "The fenceline maintainers <maintainers@fenceline.example>")
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME fenceline)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS tzdata)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "postgresql, redis-server, prometheus")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/ops/debian/postinst ${PROJECT_SOURCE_DIR}/ops/debian/prerm ${PROJECT_SOURCE_DIR}/ops/debian/postrm)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "jobs, locks and schedules with fencing tokens
 Leases that carry a fence through everything that work touches, on SQLite,
 PostgreSQL, Redis and issue trackers: job queues, locks, elections, side
 effects once, schedules and pipelines. With systemd units, alert rules and
 runbooks.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libfenceline-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libsqlite3-dev, libpq-dev, libssl-dev, libcurl4-openssl-dev, libcctz-dev, prometheus-cpp-dev, pkg-config")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS nlohmann-json3-dev)  # for fenceline/json.hpp
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "jobs, locks and schedules with fencing tokens (library)
 The library of fenceline for C++23: headers, a static archive, and what
 CMake and pkg-config need.")
include(CPack)
