"""What callers pass as a stream, as the address that the library takes.

None                                  host only
an int                                a handle; 0, the default stream of PyTorch, is the driver's 0x1
an object                             with an integer attribute cuda_stream, npu_stream or ptr
"current"                             PyTorch's current stream, asked for at each call; without a CUDA device 0x1

Handle 0x1 is the driver's name for the default stream (2: the default stream of each thread). Without a GPU it is the
host's own stream, on which ranges get a device row with the host's times.
"""
import ctypes
import sys

from pipescope import _say

LEGACY = 1
LEGACY_ADDRESS = ctypes.c_void_p(LEGACY)

_CURRENT = "current"  # literals of programs are this very object
_modules = sys.modules
_without_cuda = None  # the PyTorch that cannot have streams; while none is loaded, that
_seen = _modules  # the PyTorch whose ways are known, and its torch.cuda; nothing yet
_cuda = None

_addresses = {0: LEGACY_ADDRESS, LEGACY: LEGACY_ADDRESS}


def _address(handle):
    address = _addresses.get(handle)
    if address is None:
        if len(_addresses) > 4096:
            _addresses.clear()
            _addresses.update({0: LEGACY_ADDRESS, LEGACY: LEGACY_ADDRESS})
        address = _addresses[handle] = ctypes.c_void_p(handle)
    return address


def _raw_current(cuda):
    """PyTorch's own short way to the handle where it has one, as its compiled code uses it."""
    c = sys.modules["torch"]._C
    try:
        return c._cuda_getCurrentRawStream(c._cuda_getDevice())
    except AttributeError:
        return cuda.current_stream().cuda_stream


def current_handle():
    """Of PyTorch's current stream; LEGACY where there is no CUDA device, or nothing has used it yet. PyTorch need not be
    loaded, nor be ready: a program may ask while it is being imported."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    is_initialized = getattr(cuda, "is_initialized", None)
    if is_initialized is None or not is_initialized():
        return LEGACY
    return _raw_current(cuda) or LEGACY


def _look_at(torch):
    """Remembers what need not be asked again of this PyTorch; nothing before it is wholly loaded."""
    global _seen, _cuda, _without_cuda
    version, cuda = getattr(torch, "version", None), getattr(torch, "cuda", None)
    if (not hasattr(version, "cuda") or getattr(getattr(cuda, "is_initialized", None), "__module__", "") != "torch.cuda"
            or not isinstance(getattr(cuda, "_initialized", None), bool)):
        return
    _seen, _cuda = torch, cuda
    if version.cuda is None and getattr(version, "hip", None) is None:
        _without_cuda = torch  # built without: there will never be a stream


def _current_address(torch):
    if torch is not _seen:
        _look_at(torch)
    return _address(current_handle())


def device_address():
    """PyTorch's current stream of a CUDA device in use, for steps; None without one: steps of the host need no device row."""
    try:
        cuda = getattr(_modules.get("torch"), "cuda", None)
        is_initialized = getattr(cuda, "is_initialized", None)
        return _address(current_handle()) if is_initialized is not None and is_initialized() else None
    except Exception as error:
        _say.warn_once("current-stream", "the current stream cannot be asked for: %s", error)
        return None


def address_of(stream):
    """For anything but None. What is no stream is said once and taken as None."""
    if stream is _CURRENT:
        torch = _modules.get("torch")
        try:
            if torch is _without_cuda or (torch is _seen and _cuda._initialized is False):
                return LEGACY_ADDRESS
            return _current_address(torch)
        except Exception as error:  # whatever a version of PyTorch or the driver may say
            _say.warn_once("current-stream", "the current stream cannot be asked for: %s", error)
            return LEGACY_ADDRESS
    if type(stream) is int:
        known = _addresses.get(stream)
        if known is not None:
            return known
        if 0 <= stream < 1 << 64:
            return _address(stream)
    elif isinstance(stream, str) and stream == _CURRENT:
        return address_of(_CURRENT)
    elif stream is None:
        return None
    else:
        for name in ("cuda_stream", "npu_stream", "ptr"):
            handle = getattr(stream, name, None)
            if isinstance(handle, int):
                return _address(int(handle))
    _say.warn_once(("stream", type(stream).__name__), "%.80r is no stream (None, an int, \"current\", or an object with "
                   "cuda_stream, npu_stream or ptr): the range is recorded for the host only", stream)
    return None


def handle_of(stream):
    """The same as a number; None for the host alone."""
    address = address_of(stream)
    return None if address is None else address.value
