# What `cmake --install` puts down: headers, one static library per component, and dloConfig.cmake,
# which finds for each requested component exactly the third-party packages it links.
include(CMakePackageConfigHelpers)
set(destination ${CMAKE_INSTALL_LIBDIR}/cmake/dlo)

install(DIRECTORY src/dlo DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN cli EXCLUDE PATTERN server EXCLUDE)
install(EXPORT dloTargets NAMESPACE dlo:: DESTINATION ${destination})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

get_property(components GLOBAL PROPERTY DLO_COMPONENTS)
set(DLO_PACKAGE_NEEDS "set(_dlo_components ${components})\n")
foreach(component IN LISTS components)
  get_property(needs GLOBAL PROPERTY DLO_NEEDS_${component})
  string(APPEND DLO_PACKAGE_NEEDS "set(_dlo_needs_${component} ${needs})\n")
endforeach()
configure_package_config_file(cmake/dloConfig.cmake.in ${PROJECT_BINARY_DIR}/dloConfig.cmake
  INSTALL_DESTINATION ${destination})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dloConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/dloConfig.cmake ${PROJECT_BINARY_DIR}/dloConfigVersion.cmake
  DESTINATION ${destination})
