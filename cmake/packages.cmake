# Debian packages, one for each part of an installation (cmake/install.cmake): `./dev packages` makes and checks them. A build for them is
# configured with CMAKE_INSTALL_PREFIX=/usr, which decides where libraries go.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME pipescope)
set(CPACK_PACKAGE_VENDOR pipescope)
set(CPACK_PACKAGE_CONTACT "pipescope maintainers <maintainers@pipescope.invalid>" CACHE STRING "Who made the packages: Name <address>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # else it stands before that of each package
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program library recorder development)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian.cmake)
set(CPACK_PIPESCOPE_SOURCE ${PROJECT_SOURCE_DIR})

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

# debian_package(PART NAME SECTION SUMMARY TEXT [RELATION WORDS]...)
function(debian_package part name section summary text)
  string(TOUPPER ${part} PART)
  set(CPACK_DEBIAN_${PART}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${PART}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_COMPONENT_${PART}_DESCRIPTION "${summary}\n${text}" PARENT_SCOPE)
  while(ARGN)
    list(POP_FRONT ARGN relation words)
    set(CPACK_DEBIAN_${PART}_PACKAGE_${relation} "${words}" PARENT_SCOPE)
  endwhile()
endfunction()

set(same "(= ${PROJECT_VERSION}-1)")
debian_package(program pipescope utils "see where a distributed training step goes"
  "pipescope reads what the profilers of all ranks of a training wrote (Ascend,
PyTorch, Nsight Systems, Paddle), draws the pipeline of a step, measures its
bubble, reports findings with evidence, and serves a viewer on this machine."
  DEPENDS "libpipescope-record0 ${same}" SUGGESTS python3)
debian_package(library libpipescope0 libs "reading and drawing profiles of training (shared library)"
  "Captures of distributed training as columns, charts and findings, for programs
that ask in process."
  CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/triggers)
debian_package(recorder libpipescope-record0 libs "recording ranges of a training program (shared library)"
  "A library that is linked or loaded into a program and records its ranges,
those of NVTX and mstx, and what the GPU did. It needs the C library; SQLite is
opened when a process ends."
  RECOMMENDS libsqlite3-0 CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/triggers)
debian_package(development libpipescope-dev libdevel "reading, drawing and recording profiles of training (development files)"
  "Headers of libpipescope and libpipescope-record, and files for pkg-config and
CMake."
  DEPENDS "libpipescope0 ${same}, libpipescope-record0 ${same}")
include(CPack)
