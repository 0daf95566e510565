# Libraries others made. dnnl, OpenBLAS, hwloc and OpenMP are optional; without cmocka no unit
# tests.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenMP COMPONENTS C)

pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
# Not by oneDNN's own CMake package: Debian 12's wants OpenCL's headers, which nothing installs.
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.h)
find_library(DNNL_LIBRARY dnnl)
pkg_check_modules(OPENBLAS IMPORTED_TARGET openblas)
pkg_check_modules(HWLOC hwloc>=2.0)

# hk_soname(FILE OUT): the name under which programs load a shared library; empty: FILE is none.
function(hk_soname file out)
    set(soname "")
    if(file AND CMAKE_READELF)
        execute_process(COMMAND ${CMAKE_READELF} -d ${file} OUTPUT_VARIABLE text ERROR_QUIET)
        if(text MATCHES "SONAME[^[]*\\[([^]]+)\\]")
            set(soname ${CMAKE_MATCH_1})
        endif()
    endif()
    set(${out} "${soname}" PARENT_SCOPE)
endfunction()
