"""A range around each call of a module, and a mark before each attention, as documented for module statistics."""
import json

import torch
import torch_npu

original_call = torch.nn.Module.__call__


def custom_call(self, *args, **kwargs):
    module_name = self.__class__.__name__
    mstx_id = torch_npu.npu.mstx.range_start(module_name, domain="Module")
    tmp = original_call(self, *args, **kwargs)
    torch_npu.npu.mstx.range_end(mstx_id, domain="Module")
    return tmp


torch.nn.Module.__call__ = custom_call
original_attention = torch.nn.functional.scaled_dot_product_attention


def attention(*args, **kwargs):
    torch_npu.npu.mstx.mark(json.dumps({"is_causal": kwargs.get("is_causal", False)}), domain="flash_attn_args")
    return original_attention(*args, **kwargs)


torch.nn.functional.scaled_dot_product_attention = attention


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(32, 96)

    def forward(self, x):
        q, k, v = (t.reshape(t.shape[0], t.shape[1], 4, 8).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return out.transpose(1, 2).reshape(x.shape)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()
        self.mlp = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 32))

    def forward(self, x):
        return x + self.mlp(x + self.attention(x))


model = torch.nn.Sequential(Block(), Block())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
experimental_config = torch_npu.profiler._ExperimentalConfig(
    profiler_level=torch_npu.profiler.ProfilerLevel.Level1,
    export_type=[torch_npu.profiler.ExportType.Db],
    mstx=True,
)
with torch_npu.profiler.profile(
    activities=[torch_npu.profiler.ProfilerActivity.NPU, torch_npu.profiler.ProfilerActivity.CPU],
    schedule=torch_npu.profiler.schedule(wait=0, warmup=1, active=1, repeat=1),
    on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("./profiling"),
    record_shapes=True,
    experimental_config=experimental_config,
) as prof:
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(2, 16, 32)).sum().backward()
        optimizer.step()
        prof.step()
