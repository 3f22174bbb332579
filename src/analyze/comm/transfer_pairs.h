/* Which send belongs to which receive of one link: a communicator, a sender, a receiver. The one matcher of sends with receives: of
 * opConnectionId, the pipeline chart, waits and the clocks of a job.
 *
 * Both ends see the transfers in the same order, so the k-th send belongs to the k-th receive, unless the recording window cut one
 * end, or records were lost:
 *
 *  1. both ends carry the same numbers: match by (iteration, sequence). A profiler counts from the start of its recording, so where one
 *     end has more operators and both begin with the same number, either end of a window may have been cut: then the times must not
 *     speak against the numbers;
 *  2. equal counts: the k-th belongs to the k-th, unless another offset fits nearly all times far better;
 *  3. else find the offset at which the ends of the transfers lie closest, then walk both lists, leaving out the one whose neighbour
 *     fits better. Clocks may differ: what counts is how the differences of the ends lie to one another. */
#ifndef PS_ANALYZE_TRANSFER_PAIRS_H
#define PS_ANALYZE_TRANSFER_PAIRS_H

#include <stddef.h>
#include <stdint.h>

/* A send or a receive; each in a list by start. */
typedef struct ps_transfer_end {
    int64_t end_ns; /* epoch, on its rank's clock */
    int64_t iteration,
        sequence;   /* of the operator's name; the same for all where names have none */
    uint32_t index; /* out: equal at both ends of a transfer, in order from 0, matched or not */
} ps_transfer_end;

/* Numbers the transfers of a link and returns how many operators have no counterpart. */
uint64_t ps_transfer_pairs(ps_transfer_end *sends, size_t n_sends, ps_transfer_end *receives,
                           size_t n_receives);

#endif
