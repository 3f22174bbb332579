# What `cmake --install` puts where, in four parts that packages may take one by one: program, library, recorder, development.
# Included by CMakeLists.txt after all targets.
include(CMakePackageConfigHelpers)

set(doc_folder ${CMAKE_INSTALL_DATADIR}/doc/pipescope)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/pipescope)

# --- libraries, and what programs need that are built against them ---------------------------------------------------------

# install_library(TARGET NAME_IN_CMAKE PART HEADERS...)
function(install_library target exported part)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${exported})
  install(TARGETS ${target} EXPORT pipescope-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${part} NAMELINK_COMPONENT development
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(FILES ${ARGN} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/pipescope COMPONENT development)
  # Seen from its own folder, so that an installation may be moved.
  file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  get_target_property(pc_library ${target} OUTPUT_NAME)
  if(NOT pc_library)
    set(pc_library ${target})
  endif()
  set(pc_summary "${${target}_summary}")
  configure_file(cmake/pkgconfig.in ${CMAKE_BINARY_DIR}/generated/${pc_library}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/generated/${pc_library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endfunction()

set(pipescope-library_summary "reading, asking and drawing profiles of distributed training")
set(pipescope-record_summary "recording ranges of a running program")
if(TARGET pipescope-library)
  install_library(pipescope-library pipescope library include/pipescope/pipescope.h include/pipescope/arrow.h)
endif()
if(TARGET pipescope-record)
  install_library(pipescope-record record recorder include/pipescope/record.h)
  # For `pipescope record`, which labels frameworks of Python programs; programs that import pipescope install the wheel.
  install(DIRECTORY python/pipescope DESTINATION ${CMAKE_INSTALL_DATADIR}/pipescope/python COMPONENT program
    FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "observer.cpp" PATTERN "__pycache__" EXCLUDE)
endif()
install(EXPORT pipescope-targets NAMESPACE pipescope:: DESTINATION ${config_folder} COMPONENT development)
configure_package_config_file(cmake/pipescope-config.cmake.in ${CMAKE_BINARY_DIR}/generated/pipescope-config.cmake
  INSTALL_DESTINATION ${config_folder} NO_SET_AND_CHECK_MACRO)
# What was written for a version runs with all later ones until the first number changes (docs/versions.md).
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/pipescope-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/generated/pipescope-config.cmake ${CMAKE_BINARY_DIR}/generated/pipescope-config-version.cmake
  DESTINATION ${config_folder} COMPONENT development)

# --- the program, and what it says of itself -------------------------------------------------------------------------------

if(NOT TARGET pipescope)
  return()
endif()
install(TARGETS pipescope RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(FILES LICENSE THIRD_PARTY.txt README.md CHANGELOG.md SECURITY.md DESTINATION ${doc_folder} COMPONENT program)
install(DIRECTORY docs DESTINATION ${doc_folder} COMPONENT program FILES_MATCHING PATTERN "*.md" PATTERN pictures EXCLUDE)

# Pages of the manual and completions come from the program's own tables of options, so something must run it.
set(PIPESCOPE_NATIVE_PROGRAM "" CACHE FILEPATH "A pipescope of the same source for this machine, where the one built cannot run here")
if(PIPESCOPE_SANITIZE OR PIPESCOPE_FUZZ OR PIPESCOPE_COVERAGE)
  return() # nobody installs those
endif()
set(told_by ${PIPESCOPE_NATIVE_PROGRAM})
if(NOT told_by)
  set(told_by ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:pipescope>)
  if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    message(STATUS "Manual and completions are left out: the program cannot run here; PIPESCOPE_NATIVE_PROGRAM names one that can")
    return()
  endif()
endif()
file(STRINGS ${PROJECT_SOURCE_DIR}/src/cli/commands.def verbs REGEX "^X\\(")
list(TRANSFORM verbs REPLACE "X\\(([a-z_]+)\\)" "\\1")
list(TRANSFORM verbs REPLACE "_" "-")
set(told_folder ${CMAKE_BINARY_DIR}/generated/told)
add_custom_command(OUTPUT ${told_folder}/stamp
  COMMAND ${CMAKE_COMMAND} "-DPROGRAM=${told_by}" "-DVERBS=${verbs}" -DOUT=${told_folder} -P ${PROJECT_SOURCE_DIR}/cmake/told.cmake
  DEPENDS pipescope ${PROJECT_SOURCE_DIR}/cmake/told.cmake
  VERBATIM)
add_custom_target(pipescope-told ALL DEPENDS ${told_folder}/stamp)
install(DIRECTORY ${told_folder}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT program)
install(FILES ${told_folder}/pipescope.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME pipescope
  COMPONENT program)
install(FILES ${told_folder}/pipescope.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _pipescope COMPONENT program)
install(FILES ${told_folder}/pipescope.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
