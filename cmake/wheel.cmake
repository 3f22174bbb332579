# Toolchain file: builds for wheels, with the compiler and the libraries of a folder that packaging/wheel_libraries.sh made, which WHEEL_LIBRARIES
# names.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WHEEL_LIBRARIES)
set(CMAKE_SYSTEM_NAME Linux)
file(STRINGS ${WHEEL_LIBRARIES}/machine CMAKE_SYSTEM_PROCESSOR)
set(CMAKE_C_COMPILER ${WHEEL_LIBRARIES}/bin/cc)
set(CMAKE_AR ${WHEEL_LIBRARIES}/bin/ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${WHEEL_LIBRARIES}/bin/ranlib CACHE FILEPATH "")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "")
set(CMAKE_EXE_LINKER_FLAGS_INIT -pie) # which other compilers add by themselves
set(CMAKE_SKIP_RPATH ON CACHE BOOL "") # auditwheel says where libraries are
file(GLOB packages ${WHEEL_LIBRARIES}/*/include)
list(TRANSFORM packages REPLACE "/include$" "")
set(CMAKE_FIND_ROOT_PATH ${packages})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
