# Tests of the tree itself: public headers, exported symbols, the installed package, set-up, style.

# Every public header alone, as C99 and as C++17: compiled with the rest.
include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
    enable_language(CXX)
endif()
file(GLOB public_headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/include
    ${CMAKE_CURRENT_SOURCE_DIR}/include/hocket/*.h)
foreach(header ${public_headers})
    string(REGEX REPLACE "[/.]" "_" unit ${header})
    # included twice: the guard works
    set(text "#include <${header}>\n#include <${header}>\nextern int ${unit}_alone;\n")
    foreach(language c cpp)
        set(file ${CMAKE_CURRENT_BINARY_DIR}/headers/${unit}.${language})
        file(CONFIGURE OUTPUT ${file} CONTENT "${text}")
        list(APPEND header_units_${language} ${file})
    endforeach()
endforeach()
set(header_warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef -pedantic-errors -Werror)
add_library(headers_c99 OBJECT ${header_units_c})
set_target_properties(headers_c99 PROPERTIES C_STANDARD 99)
target_include_directories(headers_c99 PRIVATE include)
target_compile_options(headers_c99 PRIVATE ${header_warnings})
if(CMAKE_CXX_COMPILER)
    add_library(headers_cxx17 OBJECT ${header_units_cpp})
    set_target_properties(headers_cxx17 PROPERTIES CXX_STANDARD 17 CXX_EXTENSIONS OFF)
    target_include_directories(headers_cxx17 PRIVATE include)
    target_compile_options(headers_cxx17 PRIVATE ${header_warnings})
endif()

find_program(PYTHON3 python3)
function(hk_tree_test name)
    add_test(NAME tree.${name} COMMAND ${ARGN} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    set_tests_properties(tree.${name} PROPERTIES LABELS tidy TIMEOUT 120 SKIP_RETURN_CODE 77)
endfunction()

if(NOT HK_SANITIZE) # sanitizers add symbols, and the tree is the same in every build
    hk_tree_test(setup sh test/tree/setup_test.sh)
    hk_tree_test(install sh test/tree/install_test.sh ${CMAKE_CURRENT_BINARY_DIR}
        ${CMAKE_C_COMPILER})
    hk_tree_test(readme sh test/tree/readme_test.sh ${CMAKE_CURRENT_BINARY_DIR}
        ${CMAKE_C_COMPILER})
    if(PYTHON3)
        hk_tree_test(symbols ${PYTHON3} test/tree/symbols.py $<TARGET_FILE:libhocket>)
        hk_tree_test(tidy ${PYTHON3} scripts/tidy.py)
        hk_tree_test(docs ${PYTHON3} scripts/gen_docs.py --check --hocket
            ${CMAKE_CURRENT_BINARY_DIR}/hocket)
    endif()
endif()
