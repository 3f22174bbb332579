/* Binary payloads of NVTX events, as NCCL writes them: NVTX_EVENTS.binaryData with its description in
 * NVTX_PAYLOAD_SCHEMAS and NVTX_PAYLOAD_SCHEMA_ENTRIES, names of values in NVTX_PAYLOAD_ENUMS and ..._ENUM_ENTRIES. */
#ifndef PS_READ_NSIGHT_PAYLOAD_H
#define PS_READ_NSIGHT_PAYLOAD_H

#include "read/nsight/nsight_file.h"

typedef struct ps_nsight_payloads ps_nsight_payloads;

/* Reads the four tables. *out is NULL when the file describes no payloads; else the caller frees it. */
PS_MUST_USE ps_code ps_nsight_payloads_load(ps_nsight *n, ps_nsight_payloads **out, ps_err *err);
void ps_nsight_payloads_free(ps_nsight_payloads *p); /* NULL is fine */

/* Adds the fields as arguments of the slice. A payload that does not fit its description is counted (`row`). */
void ps_nsight_payload_args(const ps_nsight_payloads *p, ps_nsight *n, uint32_t slice,
                            const void *data, size_t size_bytes, int64_t row);

#endif
