/* Calls that take a lock of the C library which fork leaves as it is: the list of loaded objects, the time zone. A child that is made
 * while a thread holds such a lock waits for it for ever, in its first import of a module or its first line of a log. So our
 * threads make these calls inside the gate, and the process forks while nobody is in it. Nothing else is locked inside, and nothing
 * waits there. */
#ifndef PS_RECORD_FORK_GATE_H
#define PS_RECORD_FORK_GATE_H

void ps_fork_gate_enter(void);
void ps_fork_gate_leave(void);

/* In a child that no fork handler has seen. */
void ps_fork_gate_forget(void);

#endif
