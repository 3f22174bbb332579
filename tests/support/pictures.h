/* Charts by hand for the tests of the picture writers. */
#ifndef PS_TESTS_PICTURES_H
#define PS_TESTS_PICTURES_H

#include "model/chart.h"

/* Two stages (ranks 0 and 4), steps 3 and 4, two microbatches, 1F1B, an op 10 ns or 20 ns long; a pair, a send, a
 * receive, a link, bubbles with causes, host times and names that need escaping. */
ps_chart *test_chart(void);

/* 1F1B of `stages` x `microbatches` in `steps` steps, as many ops in a row as memory likes. */
ps_chart *test_chart_big(int stages, int microbatches, int steps);

#endif
