/* What lies where no profile was found, as far as its names tell, and what makes a profile of it. */
#ifndef PS_RUN_CLUSTER_STRANGERS_H
#define PS_RUN_CLUSTER_STRANGERS_H

#include <stdbool.h>

#include "run/cluster.h"

/* Counts what this name in the folder `dir` says, when it says something. */
void ps_cluster_note_stranger(ps_cluster *c, const char *dir, const char *name);

/* Says in c->instead what was noted: "2 reports of Nsight Systems (first a/b.nsys-rep): write each as a database (...); ...". Nothing when
 * nothing was, or memory is out. */
void ps_cluster_say_strangers(ps_cluster *c);

#endif
