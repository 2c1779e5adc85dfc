# Untried: vcpkg has never built this port. It is for an overlay, in the tree that it builds:
#   vcpkg install paddle-flags --overlay-ports=packaging/vcpkg
# The project has no public address yet. A registry would replace this line by vcpkg_from_github().
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

# The library is built once, as shared and as static code, and our files for CMake find both where
# they are: in lib/cmake.
set(VCPKG_BUILD_TYPE release)
set(VCPKG_POLICY_MISMATCHED_NUMBER_OF_BINARIES enabled)
set(VCPKG_POLICY_SKIP_MISPLACED_CMAKE_FILES_CHECK enabled)
set(VCPKG_POLICY_SKIP_LIB_CMAKE_MERGE_CHECK enabled)

vcpkg_find_acquire_program(PYTHON3) # it must have setuptools, which builds the library
set(built "${CURRENT_BUILDTREES_DIR}/${TARGET_TRIPLET}-rel")
vcpkg_execute_required_process(
  COMMAND "${PYTHON3}" setup.py -q build_library --build-lib "${built}/out" --build-temp "${built}/temp"
  WORKING_DIRECTORY "${SOURCE_PATH}"
  LOGNAME "build-${TARGET_TRIPLET}"
)
file(INSTALL "${built}/out/include" "${built}/out/lib" DESTINATION "${CURRENT_PACKAGES_DIR}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
