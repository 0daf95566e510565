# Libraries others made. dnnl, OpenBLAS and OpenMP are optional; without cmocka no unit tests.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenMP COMPONENTS C)

pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
find_package(dnnl CONFIG QUIET)
pkg_check_modules(OPENBLAS IMPORTED_TARGET openblas)
