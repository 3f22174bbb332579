/* Whether a file is a database of an Ascend profiler. */
#ifndef PS_READ_ASCEND_DB_SNIFF_H
#define PS_READ_ASCEND_DB_SNIFF_H

#include <stdbool.h>
#include <stddef.h>

/* The score of ps_reader.sniff: 90 when tables are there that only Ascend's profilers write, whatever the name; 20 for
 * a database that is empty or cannot be opened; 20 for msMonitor's JSON lines, which are known but not read. */
int ps_ascend_sniff(const char *path, const unsigned char *head, size_t n);

/* Whether the file holds msMonitor's records as JSON, one a line. False also when it cannot be read. */
bool ps_ascend_is_json_lines(const char *path);

#endif
