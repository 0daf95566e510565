#include "base/log.h"

void hki_log(hki_log_level_t level, const char *component, const char *format, ...)
{
    (void)level;
    (void)component;
    (void)format;
}
