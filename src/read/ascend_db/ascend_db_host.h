/* The host side of the whole timeline: what a framework, CANN, the C library and Python's collector did on threads. */
#ifndef PS_READ_ASCEND_DB_HOST_H
#define PS_READ_ASCEND_DB_HOST_H

#include "read/ascend_db/ascend_db_marks.h"
#include "read/ascend_db/ascend_db_reading.h"

/* PYTORCH_API with its call chains. Rows of type mstx that repeat a row of MSTX_EVENTS are counted and left out. */
PS_MUST_USE ps_code ps_ascend_torch_read(ps_ascend *a, ps_ascend_marks *marks, ps_err *err);

/* CANN_API, OSRT_API and GC_RECORD. */
PS_MUST_USE ps_code ps_ascend_calls_read(ps_ascend *a, ps_err *err);

#endif
