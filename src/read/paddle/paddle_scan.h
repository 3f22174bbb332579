/* Where in a log may something of the profiler stand? One pass over the bytes that counts lines on the way. */
#ifndef PS_READ_PADDLE_SCAN_H
#define PS_READ_PADDLE_SCAN_H

#include <stddef.h>
#include <stdint.h>

/* A place where one of the words "Profiler" or "NVTX" may begin: two of its bytes are there. */
typedef struct ps_paddle_hit {
    uint32_t at;   /* in the bytes */
    uint32_t line; /* newlines before it in the bytes */
} ps_paddle_hit;

/* Bytes behind the end that are read too, whatever they hold. */
#define PS_PADDLE_SCAN_PAD 64

#define PS_PADDLE_HITS 1024

typedef struct ps_paddle_hits {
    ps_paddle_hit at[PS_PADDLE_HITS]; /* in file order */
    size_t n;
    size_t n_bytes;   /* looked at; less than asked for when `at` is full */
    uint32_t n_lines; /* newlines in those */
} ps_paddle_hits;

/* Looks at bytes[0..n), n < 2^31; PS_PADDLE_SCAN_PAD more must be readable. */
void ps_paddle_scan(const unsigned char *bytes, size_t n, ps_paddle_hits *out);

/* The same without vector instructions, for tests. */
void ps_paddle_scan_plain(const unsigned char *bytes, size_t n, ps_paddle_hits *out);

#endif
