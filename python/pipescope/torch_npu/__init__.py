"""Scripts written for Ascend's PyTorch plugin and its profiler, on other machines:

    import pipescope.torch_npu as torch_npu         # was: import torch_npu

gives npu.mstx, npu.current_stream, npu.synchronize and the like, npu_fusion_attention, and profiler with all its names. What
is recorded is what the rest of pipescope records. Where PyTorch is loaded, tensors and modules get npu(), and torch.npu is
there, as the plugin does it: they mean the CUDA device where there is one, else nothing. Names of devices ("npu:0") are not
translated.
"""
import sys

from pipescope.torch_npu import npu, profiler
from pipescope.torch_npu._attention import npu_fusion_attention

__all__ = ["npu", "profiler", "npu_fusion_attention"]


def _give_torch_its_names():
    torch = sys.modules.get("torch")
    if torch is None or hasattr(torch, "npu"):
        return
    torch.npu = npu

    def to_device(self, device=None, **kwargs):
        if not npu.is_available():
            return self
        return self.cuda(device if isinstance(device, int) else None, **kwargs)

    for owner in (getattr(torch, "Tensor", None), getattr(getattr(torch, "nn", None), "Module", None)):
        if owner is not None and not hasattr(owner, "npu"):
            owner.npu = to_device


_give_torch_its_names()
