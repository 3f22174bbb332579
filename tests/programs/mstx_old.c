/* mstx_client with the header of an older release: three functions in CORE and no memory module. */
#define N_MSTX_CORE 4
#include "mstx_client.c"
