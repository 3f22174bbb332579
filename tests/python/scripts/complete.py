"""A whole training: data loader, model, loss, checkpoint, with profile, schedule and prof.step."""
import torch
import torch_npu
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cpu")
if torch_npu.npu.is_available():
    torch_npu.npu.set_device(0)

experimental_config = torch_npu.profiler._ExperimentalConfig(
    export_type=[torch_npu.profiler.ExportType.Text, torch_npu.profiler.ExportType.Db],
    profiler_level=torch_npu.profiler.ProfilerLevel.Level0,
    mstx=True,
    aic_metrics=torch_npu.profiler.AiCMetrics.AiCoreNone,
    l2_cache=False,
    op_attr=False,
    data_simplification=False,
    record_op_args=False,
    gc_detect_threshold=None,
)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))

    def forward(self, x):
        return self.layers(x)


def train_one_step(model, x, y, optimizer, loss_fn):
    mark_id = torch_npu.npu.mstx.range_start("train_one_step", torch_npu.npu.current_stream())
    optimizer.zero_grad()
    forward_id = torch_npu.npu.mstx.range_start("forward", torch_npu.npu.current_stream())
    loss = loss_fn(model(x), y)
    torch_npu.npu.mstx.range_end(forward_id)
    backward_id = torch_npu.npu.mstx.range_start("backward", torch_npu.npu.current_stream())
    loss.backward()
    torch_npu.npu.mstx.range_end(backward_id)
    optimizer.step()
    torch_npu.npu.mstx.range_end(mark_id)
    return loss


model = Net().npu().to(device)
loader = DataLoader(TensorDataset(torch.randn(64, 16), torch.randn(64, 1)), batch_size=8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
prof = torch_npu.profiler.profile(
    activities=[torch_npu.profiler.ProfilerActivity.CPU, torch_npu.profiler.ProfilerActivity.NPU],
    schedule=torch_npu.profiler.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=0),
    on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("./profiling"),
    record_shapes=False,
    profile_memory=False,
    with_stack=False,
    with_modules=False,
    with_flops=False,
    experimental_config=experimental_config,
)
prof.start()
for x, y in loader:
    train_one_step(model, x, y, optimizer, torch.nn.functional.mse_loss)
    prof.step()
prof.stop()
torch.npu.synchronize()
