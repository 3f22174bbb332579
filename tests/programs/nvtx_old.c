/* nvtx_client as it would be with the header of an older release: the table of CORE ends before the names of threads, and
 * there are no domains. */
#define N_CORE 12
#define N_CORE2 0
#include "nvtx_client.c"
