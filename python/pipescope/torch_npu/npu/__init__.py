"""torch_npu.npu: the device of the machine. What is not here is that of torch.cuda."""
import contextlib
import sys

from pipescope.torch_npu.npu import mstx  # noqa: F401


class HostStream:
    """The stream of a machine without a device: ranges on it have a device row with the host's times."""

    npu_stream = 1
    device = "cpu"

    def synchronize(self):
        pass

    def wait_stream(self, stream):
        pass

    def wait_event(self, event):
        pass

    def query(self):
        return True

    def __repr__(self):
        return "<stream of the host>"


_host_stream = HostStream()


def _cuda():
    """torch.cuda when the program can use it, else None."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda if cuda is not None and cuda.is_available() else None


def is_available():
    return _cuda() is not None


def device_count():
    cuda = _cuda()
    return cuda.device_count() if cuda else 0


def current_device():
    cuda = _cuda()
    return cuda.current_device() if cuda else 0


def set_device(device):
    cuda = _cuda()
    if cuda:
        text = str(device)
        cuda.set_device(int(text.rpartition(":")[2]) if text.startswith("npu:") else device)


def current_stream(device=None):
    """PyTorch's current stream; without a CUDA device that of the host."""
    cuda = _cuda()
    return cuda.current_stream(device) if cuda else _host_stream


def default_stream(device=None):
    cuda = _cuda()
    return cuda.default_stream(device) if cuda else _host_stream


def synchronize(device=None):
    cuda = _cuda()
    if cuda:
        cuda.synchronize(device)


def stream(stream):
    """Context manager: `stream` is the current one inside."""
    cuda = _cuda()
    return contextlib.nullcontext() if cuda is None or stream is _host_stream else cuda.stream(stream)


def empty_cache():
    cuda = _cuda()
    if cuda:
        cuda.empty_cache()


def __getattr__(name):
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or name.startswith("__"):
        raise AttributeError("module 'torch_npu.npu' has no attribute %r" % name)
    return getattr(cuda, name)
