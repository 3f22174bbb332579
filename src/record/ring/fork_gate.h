/* Locks of libraries that fork leaves as they are: of the loader, of the time zone, of SQLite. A child that is made while one of our
 * threads holds such a lock waits for it for ever, in its first import of a module, its first line of a log or its first database. So our
 * threads make these calls inside the gate or as work, and the process forks while nobody is in either.
 *
 * The gate is for short calls: the list of loaded objects, the text of an error, the local time. Nothing else is locked inside, and
 * nothing waits there.
 *
 * Work is for what takes longer or calls others: a library that is loaded, a database that is written. A fork makes it pause at its
 * next row, and waits for that at most PS_FORK_PATIENCE_MS: a disk may hang, and the library's constructor may be what forks. */
#ifndef PS_RECORD_FORK_GATE_H
#define PS_RECORD_FORK_GATE_H

enum { PS_FORK_PATIENCE_MS = 2000 };

void ps_fork_gate_enter(void);
void ps_fork_gate_leave(void);

/* May lie one within the other, and take any lock of ours. */
void ps_fork_work_begin(void);
void ps_fork_work_end(void);
void ps_fork_work_pause(void); /* lets a fork that waits go first; costs a look otherwise */

/* Around a fork, before and behind all other locks. */
void ps_fork_work_hold(void);
void ps_fork_work_release(void);

/* In the child, also in one that no fork handler has seen. */
void ps_fork_gate_forget(void);
void ps_fork_work_forget(void); /* done by the other */

#endif
