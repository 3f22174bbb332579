# What Debian wants of each package besides what is installed: copyright, changelog, compressed pages. CPack runs this when the files
# are there and no package is made yet.
set(packages "program=pipescope;library=libpipescope0;recorder=libpipescope-record0;development=libpipescope-dev")

function(compress)
  foreach(file ${ARGN})
    execute_process(COMMAND gzip -9nf ${file} RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
      message(FATAL_ERROR "gzip ${file}: ${status}")
    endif()
  endforeach()
endfunction()

file(READ ${CPACK_PIPESCOPE_SOURCE}/THIRD_PARTY.txt third_party)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # SOURCE_DATE_EPOCH, where it is set
foreach(pair ${packages})
  string(REGEX MATCH "(.*)=(.*)" pair ${pair})
  set(root ${CPACK_TEMPORARY_DIRECTORY}/${CMAKE_MATCH_1})
  set(package ${CMAKE_MATCH_2})
  set(doc ${root}/usr/share/doc/${package})
  file(REMOVE ${doc}/LICENSE) # every Debian has its text
  file(WRITE ${doc}/copyright "pipescope, made of its own source.

Copyright: the pipescope authors
License: Apache-2.0. On Debian systems its text is /usr/share/common-licenses/Apache-2.0

${third_party}")
  # The upstream list of changes goes with the program, which the others belong to.
  if(package STREQUAL "pipescope")
    file(COPY ${CPACK_PIPESCOPE_SOURCE}/CHANGELOG.md DESTINATION ${doc})
    file(RENAME ${doc}/CHANGELOG.md ${doc}/changelog)
    compress(${doc}/changelog)
  endif()
  file(WRITE ${doc}/changelog.Debian "pipescope (${CPACK_PACKAGE_VERSION}-1) unstable; urgency=medium

  * Release ${CPACK_PACKAGE_VERSION}; its changes are in the package pipescope.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  compress(${doc}/changelog.Debian)
  file(GLOB pages ${root}/usr/share/man/man1/*.1)
  compress(${pages})
  file(READ ${CPACK_PIPESCOPE_SOURCE}/packaging/lintian/all overrides)
  if(package MATCHES "0$")
    file(READ ${CPACK_PIPESCOPE_SOURCE}/packaging/lintian/libraries more)
    string(APPEND overrides ${more})
  endif()
  file(WRITE ${root}/usr/share/lintian/overrides/${package} "${overrides}")
endforeach()
