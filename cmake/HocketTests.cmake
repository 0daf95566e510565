# How tests are registered. Labels say when a test runs (scripts/check.sh):
#   unit, conformance, multiproc, golden, fuzz, tidy   what it is
#   asan, tsan    also under sanitizers; its program must then be a dependency of the target
#                 asan_tests or tsan_tests: hk_sanitized_test(TARGET TEST asan tsan)
#   serial        alone on the machine (real processes with deadlines)
#   stress        only `make stress`, which runs those labelled asan or tsan also under these
add_custom_target(asan_tests)
add_custom_target(tsan_tests)

# hk_sanitized_test(TARGET TEST [asan] [tsan]): run ctest TEST of program TARGET under these too.
function(hk_sanitized_test target test)
    foreach(kind ${ARGN})
        add_dependencies(${kind}_tests ${target})
        set_property(TEST ${test} APPEND PROPERTY LABELS ${kind})
    endforeach()
endfunction()

# hk_test(LAYER/NAME): build test/unit/LAYER/NAME_test.c against layer LAYER, register with ctest.
add_library(hk_test_support INTERFACE)
target_include_directories(hk_test_support INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/test)
function(hk_test name)
    string(REGEX REPLACE "/.*" "" layer ${name})
    string(REPLACE "/" "." target ${name})
    add_executable(${target}_test test/unit/${name}_test.c)
    target_link_libraries(${target}_test PRIVATE hk_${layer} hk_flags hk_test_support
        PkgConfig::CMOCKA)
    add_test(NAME unit.${target} COMMAND ${target}_test)
    set_tests_properties(unit.${target} PROPERTIES LABELS unit TIMEOUT 600)
    if(NOT name STREQUAL "algo/all_checked") # long, and all it runs is in the others too
        hk_sanitized_test(${target}_test unit.${target} asan)
    endif()
    if(layer MATCHES "^(base|transport|exec|comm|malloc)$") # what threads share
        hk_sanitized_test(${target}_test unit.${target} tsan)
    endif()
endfunction()

if(CMOCKA_FOUND)
    # every test/unit/**/x_test.c is a test of its layer
    file(GLOB_RECURSE unit_tests CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/test/unit
         ${CMAKE_CURRENT_SOURCE_DIR}/test/unit/*_test.c)
    foreach(file ${unit_tests})
        string(REGEX REPLACE "_test\\.c$" "" name ${file})
        hk_test(${name})
    endforeach()
endif()
include(HocketTreeTests)
# Suites with a main of their own: each folder brings its CMakeLists.txt.
foreach(folder conformance multiproc golden fuzz)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/test/${folder}/CMakeLists.txt)
        add_subdirectory(test/${folder})
    endif()
endforeach()
foreach(folder tools/malloc tools/hocket examples bench)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt)
        add_subdirectory(${folder})
    endif()
endforeach()
