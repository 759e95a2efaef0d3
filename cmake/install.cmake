# install(): the program, the headers of the public API, the libraries, and the package that
# find_package(moraine) finds. Libraries are named moraine_<layer>.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(MORAINE_LIBRARIES base yson io blob tablet keyvalue queue expression table scheme transaction query client
    cluster node embed)
foreach(library ${MORAINE_LIBRARIES})
  set_target_properties(${library} PROPERTIES OUTPUT_NAME moraine_${library})
endforeach()

set(MORAINE_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/moraine)
install(TARGETS ${MORAINE_LIBRARIES} EXPORT moraine
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/moraine DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT moraine NAMESPACE moraine:: FILE moraineTargets.cmake
        DESTINATION ${MORAINE_PACKAGE_DIR} COMPONENT development)
configure_package_config_file(cmake/moraineConfig.cmake.in
  ${PROJECT_BINARY_DIR}/moraineConfig.cmake INSTALL_DESTINATION ${MORAINE_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/moraineConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/moraineConfig.cmake
              ${PROJECT_BINARY_DIR}/moraineConfigVersion.cmake
        DESTINATION ${MORAINE_PACKAGE_DIR} COMPONENT development)
install(TARGETS moraine RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
