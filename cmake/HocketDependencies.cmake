# Libraries others made. Each is an INTERFACE target hk_dep_<name>; optional ones may be empty.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenMP COMPONENTS C)

pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(HWLOC IMPORTED_TARGET hwloc)
pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
find_package(dnnl CONFIG QUIET)
pkg_check_modules(OPENBLAS IMPORTED_TARGET openblas)
