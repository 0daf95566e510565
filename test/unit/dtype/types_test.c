/* Method: names and sizes against a list written here, and values outside the enums. */
#include "support/hk_test.h"

#include <hocket/types.h>

static void sizes_and_names_are_those_of_the_list(void **state)
{
    static const struct {
        hk_dtype_t dtype;
        size_t bytes;
        const char *name;
    } want[] = {{HK_I8, 1, "i8"},    {HK_U8, 1, "u8"},           {HK_I32, 4, "i32"},
                {HK_U32, 4, "u32"},  {HK_I64, 8, "i64"},         {HK_U64, 8, "u64"},
                {HK_F16, 2, "f16"},  {HK_BF16, 2, "bf16"},       {HK_F32, 4, "f32"},
                {HK_F64, 8, "f64"},  {HK_FP8E4M3, 1, "fp8e4m3"}, {HK_FP8E5M2, 1, "fp8e5m2"},
                {HK_BOOL, 1, "bool"}};

    (void)state;
    assert_int_equal(ARRAY_LEN(want), HK_DTYPE_COUNT);
    for (size_t k = 0; k < ARRAY_LEN(want); k++) {
        assert_int_equal(want[k].dtype, k);
        assert_int_equal(hk_dtype_bytes(want[k].dtype), want[k].bytes);
        assert_string_equal(hk_dtype_name(want[k].dtype), want[k].name);
    }
}

static void operations_have_their_names(void **state)
{
    (void)state;
    assert_string_equal(hk_op_name(HK_SUM), "sum");
    assert_string_equal(hk_op_name(HK_BXOR), "bxor");
    assert_string_equal(hk_op_name(HK_USER), "user");
}

static void values_outside_the_enums_are_named_so(void **state)
{
    (void)state;
    assert_int_equal(hk_dtype_bytes((hk_dtype_t)HK_DTYPE_COUNT), 0);
    assert_string_equal(hk_dtype_name((hk_dtype_t)HK_DTYPE_COUNT), "?");
    assert_string_equal(hk_op_name((hk_op_t)HK_OP_COUNT), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_names_are_those_of_the_list),
        cmocka_unit_test(operations_have_their_names),
        cmocka_unit_test(values_outside_the_enums_are_named_so),
    };

    return cmocka_run_group_tests_name("dtype/types", tests, NULL, NULL);
}
