/**
 * @file types.c
 * @brief Names and sizes of element types and operations, from the lists in hocket/types.h.
 */
#include <hocket/types.h>

#define COUNT_DTYPE(name, value, bytes, text) +1
#define COUNT_OP(name, value, text)           +1
_Static_assert(HK_DTYPE_MAP(COUNT_DTYPE) == HK_DTYPE_COUNT, "HK_DTYPE_COUNT counts HK_DTYPE_MAP");
_Static_assert(HK_OP_MAP(COUNT_OP) == HK_OP_COUNT, "HK_OP_COUNT counts HK_OP_MAP");

size_t hk_dtype_bytes(hk_dtype_t dtype)
{
    switch (dtype) {
#define DTYPE_CASE(name, value, bytes, text) \
    case HK_##name:                          \
        return bytes;
        HK_DTYPE_MAP(DTYPE_CASE)
#undef DTYPE_CASE
    }
    return 0;
}

const char *hk_dtype_name(hk_dtype_t dtype)
{
    switch (dtype) {
#define DTYPE_CASE(name, value, bytes, text) \
    case HK_##name:                          \
        return text;
        HK_DTYPE_MAP(DTYPE_CASE)
#undef DTYPE_CASE
    }
    return "?";
}

const char *hk_op_name(hk_op_t op)
{
    switch (op) {
#define OP_CASE(name, value, text) \
    case HK_##name:                \
        return text;
        HK_OP_MAP(OP_CASE)
#undef OP_CASE
    }
    return "?";
}
