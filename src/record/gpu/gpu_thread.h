/* The thread on which device backends do what may take long or block inside of a driver: making events, asking for times,
 * flushing CUPTI. The program's threads and the writer thread only ask for it. Where the driver does not come back, the thread
 * is left to itself and the caller goes on. One at a time. */
#ifndef PS_RECORD_GPU_THREAD_H
#define PS_RECORD_GPU_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* Starts it. `work` gets the wishes that came in since its last call (bits of the caller's choice); a thread that was given up
 * calls it once more with `let_go`, when the driver has come back and the thread ends. It blocks all signals. */
bool ps_gpu_thread_start(void (*work)(uint32_t wishes), uint32_t let_go);

/* From any thread, also inside of an event: no lock, and a system call only when the wish is new. */
void ps_gpu_thread_ask(uint32_t wishes);

/* Asks and waits until `work` has returned. False after `timeout_ms`: it is stuck, and given up for good: ps_gpu_thread_given_up
 * is true on that thread from then on, and it ends when the driver comes back. */
bool ps_gpu_thread_do(uint32_t wishes, unsigned timeout_ms);

/* For `work`: its owner no longer waits; nothing shared may be touched. */
bool ps_gpu_thread_given_up(void);

bool ps_gpu_thread_running(void);

/* Waits for it to end, as above; true also when there is none. */
bool ps_gpu_thread_stop(unsigned timeout_ms);

void ps_gpu_thread_forget(void); /* in a forked child */

#endif
