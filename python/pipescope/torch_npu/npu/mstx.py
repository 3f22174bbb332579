"""torch_npu.npu.mstx"""
from pipescope.mstx import (annotate, get_tool_id, mark, mstx_range, range_end, range_pop, range_push,  # noqa: F401
                            range_start)

__all__ = ["mark", "range_start", "range_end", "range_push", "range_pop", "mstx_range", "annotate", "get_tool_id"]
