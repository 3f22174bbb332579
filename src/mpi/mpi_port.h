/* Frames of a crew through MPI. Each process of the job has a worker, a process of its own that it made before MPI began: that one reads
 * profiles, and knows nothing of MPI, so that what it does is nobody's business but its own. When it dies (memory, a broken file system,
 * a fault of ours) the process outlives it and tells.
 *
 * Frames go along a tree, in which process p has 2p + 1 and 2p + 2 below it: those for all of them down every branch, the others on the way to
 * whom they are for, or up to the first process. MPI is called by one thread. */
#ifndef PS_MPI_MPI_PORT_H
#define PS_MPI_MPI_PORT_H

#include "run/crew.h"

typedef struct ps_mpi_port ps_mpi_port;

/* Makes the worker: before MPI begins. In the worker it does not return. NULL, having said why, when there can be none. */
ps_mpi_port *ps_mpi_port_new(void);
/* Once MPI has begun. */
PS_MUST_USE ps_code ps_mpi_port_begin(ps_mpi_port *p, ps_err *err);
bool ps_mpi_port_is_first(const ps_mpi_port *p);
/* Of the first process; lent. */
ps_crew_port *ps_mpi_crew_port(ps_mpi_port *p);
/* Of the others: hands on frames until END. */
PS_MUST_USE ps_code ps_mpi_port_relay(ps_mpi_port *p, ps_err *err);
/* Waits until all that was sent is on its way and the worker is gone. Before MPI ends. */
void ps_mpi_port_free(ps_mpi_port *p);

#endif
