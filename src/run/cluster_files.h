/* Ranks that are files of their own, recognised by content wherever they lie: traces of PyTorch, worker logs of Paddle,
 * exports of Nsight. For cluster.c only. */
#ifndef PS_RUN_CLUSTER_FILES_H
#define PS_RUN_CLUSTER_FILES_H

#include "run/cluster.h"

/* Adds a candidate; what is no file or cannot be looked at is counted. PS_NOMEM only. */
PS_MUST_USE ps_code ps_cluster_add(ps_cluster *c, ps_cluster_rank rank);

/* Adds the ranks in the file when a reader claims it (`wanted`: that one alone, NULL: any). What nobody claims is left out, unless it was `named` by the user:
 * reading it then says why. PS_NOMEM only. */
PS_MUST_USE ps_code ps_cluster_add_file(ps_cluster *c, const char *path, const ps_reader *wanted,
                                        bool named);

/* Adds the rank of a folder that holds tables of a profiler (`path` is one of them) and no timeline. PS_NOMEM only. */
PS_MUST_USE ps_code ps_cluster_add_tables(ps_cluster *c, const char *path, const ps_reader *wanted);

/* When all are found: numbers the workers of several machines through, and the files of a format that do not tell their
 * rank in the order of their names, 2 before 10. */
void ps_cluster_number(ps_cluster *c);

/* Place in the list of readers; a reader that is NULL comes last. */
size_t ps_cluster_reader_order(const ps_reader *reader);

/* Keeps a sentence that was made in each language; the texts are freed. False when memory is out. */
bool ps_cluster_say(ps_cluster *c, ps_buf texts[PS_N_LANGS], ps_said *out);

/* Adds a sentence to the notes. */
void ps_cluster_note(ps_cluster *c, const char *english, const char *chinese, ...)
    PS_PRINTF_SAID(2, 3, 4);

#endif
