/*
 * The least a user of the installed library does: open a communicator of one rank, reduce, close.
 */
#include <stdio.h>

#include <hocket/hocket.h>

int main(void)
{
    hk_comm_t *comm = NULL;
    float in = 3.0F;
    float out = 0.0F;

    if (hk_comm_open(NULL, &comm) != HK_OK ||
        hk_all_reduce(comm, &in, &out, 1, HK_F32, HK_SUM, NULL, NULL) != HK_OK) {
        printf("%s\n", hk_last_error());
        return 1;
    }
    printf("hocket %s: %.0f\n", hk_version(), (double)out);
    hk_comm_close(&comm);
    return out == 3.0F ? 0 : 1;
}
