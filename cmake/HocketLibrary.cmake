# The shared library (target libhocket; `hocket` is the command): the objects of all layers, of
# which only what HK_API marks is seen from outside. And all that `cmake --install` installs.
include(CMakePackageConfigHelpers)

get_property(libs GLOBAL PROPERTY HK_LIBS)
list(REMOVE_DUPLICATES libs)
set(objects "")
foreach(layer ${HK_LAYERS})
    list(APPEND objects $<TARGET_OBJECTS:hk_${layer}>)
endforeach()
add_library(libhocket SHARED ${objects})
add_library(hocket::hocket ALIAS libhocket) # the name find_package(hocket) gives it
set_target_properties(libhocket PROPERTIES OUTPUT_NAME hocket LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
target_include_directories(libhocket PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include)
target_link_libraries(libhocket PRIVATE ${libs})
set(map ${CMAKE_CURRENT_SOURCE_DIR}/cmake/hocket.map)
target_link_options(libhocket PRIVATE -Wl,--version-script=${map})
set_property(TARGET libhocket APPEND PROPERTY LINK_DEPENDS ${map})
if(NOT HK_SANITIZE) # the sanitizers' own symbols are found in the program, not in the library
    target_link_options(libhocket PRIVATE -Wl,--no-undefined)
endif()

install(TARGETS libhocket LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/hocket DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hocket)
set(HK_LIBRARY ${CMAKE_INSTALL_LIBDIR}/libhocket.so.${PROJECT_VERSION})
configure_package_config_file(cmake/hocketConfig.cmake.in hocketConfig.cmake
    INSTALL_DESTINATION ${package_dir} PATH_VARS HK_LIBRARY CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(hocketConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hocketConfig.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/hocketConfigVersion.cmake DESTINATION ${package_dir})

# relative to the file itself, so that `cmake --install --prefix` and moved trees work
file(RELATIVE_PATH HK_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" HK_PC_PREFIX "${HK_PC_PREFIX}")
configure_file(cmake/hocket.pc.in hocket.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/hocket.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/docs/man/hocket.1)
    install(FILES docs/man/hocket.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/docs/man/hocket.bash)
    install(FILES docs/man/hocket.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME hocket)
endif()
