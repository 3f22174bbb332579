"""observer.cpp, built for the PyTorch of this process and loaded: PyTorch's operators without a dispatch mode in Python.

Built when it is first wanted, by the C++ compiler of this machine ($CXX, else c++) against the headers that PyTorch brings, and kept
in a folder of the user's own (PIPESCOPE_CACHE_DIR, else pipescope in XDG_CACHE_HOME, else ~/.cache/pipescope) under a name that
tells source, compiler flags and versions. Processes that want it at once wait for the one that builds; it appears whole.

PIPESCOPE_TORCH_OBSERVER=0 does without it; a path names a file that was built before.
"""
import ctypes
import hashlib
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile

from pipescope import _library, _metadata, _say, _streams

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "observer.cpp")
PATIENCE_S = 600

_NO = ("0", "false", "no", "off")


class Unavailable(Exception):
    """Why there is no observer, in words."""


# --- building ---------------------------------------------------------------------------------------------------------


def _flags(torch):
    """As PyTorch itself was built: the language its headers want, which strings of the C++ library, and NDEBUG, without which its classes
    have more members."""
    major, minor = (int(part) for part in torch.__version__.split(".")[:2])
    abi = int(torch.compiled_with_cxx11_abi()) if hasattr(torch, "compiled_with_cxx11_abi") else 1
    return ["-std=c++20" if (major, minor) >= (2, 10) else "-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-pthread", "-DNDEBUG",
            "-D_GLIBCXX_USE_CXX11_ABI=%d" % abi]


def _command(torch, flags, target):
    folder = os.path.dirname(os.path.abspath(torch.__file__))
    include, libraries = os.path.join(folder, "include"), os.path.join(folder, "lib")
    if not os.path.exists(os.path.join(include, "ATen", "record_function.h")):
        raise Unavailable("this PyTorch has no headers (%s)" % include)
    # The process has these two already; they are named so that the loader finds what is wanted of them.
    return (shlex.split(os.environ.get("CXX") or "c++") + flags
            + ["-isystem", include, "-isystem", os.path.join(include, "torch", "csrc", "api", "include"), "-shared", SOURCE, "-o", target,
               "-Wl,-z,nodelete", "-L" + libraries, "-ltorch_cpu", "-lc10"])


def _cache():
    """A folder that only this user can write: what lies there is loaded."""
    path = os.environ.get("PIPESCOPE_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "pipescope")
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        about = os.stat(path)
    except OSError as error:
        raise Unavailable("no folder to build it in (PIPESCOPE_CACHE_DIR): %s" % error)
    if about.st_uid != os.geteuid() or about.st_mode & 0o022:
        raise Unavailable("%s can be written by others (name another folder in PIPESCOPE_CACHE_DIR)" % path)
    return path


def _name(torch, flags):
    with open(SOURCE, "rb") as file:
        source = file.read()
    told = hashlib.sha256(source)
    told.update("\0".join([*flags, torch.__version__, torch.version.git_version or "", torch.__file__, platform.machine()]).encode())
    return "observer-torch%s-py%d.%d-%s.so" % (torch.__version__.replace(os.sep, "_"), *sys.version_info[:2], told.hexdigest()[:16])


class _Turn:
    """One process builds at a time, where the file system knows locks; elsewhere several do, which costs time alone. `has_waited`: another
    one had its turn before."""

    def __init__(self, path):
        self._path = path
        self.has_waited = False

    def __enter__(self):
        import fcntl
        self._file = open(self._path, "w", encoding="ascii")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.has_waited = True
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except OSError:
            pass
        return self

    def __exit__(self, *_):
        self._file.close()


def _compile(torch, flags, path):
    handle, part = tempfile.mkstemp(suffix=".part", dir=os.path.dirname(path))
    os.close(handle)
    try:
        command = _command(torch, flags, part)
        _say.tell("building the observer of PyTorch's operators for torch %s, once, with %s: half a minute", torch.__version__, command[0])
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=PATIENCE_S,
                              check=False)
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines() or ["no word"]
            raise Unavailable("%s ended with status %d: %s" % (command[0], done.returncode, errors[0][:300]))
        os.rename(part, path)
    except FileNotFoundError as error:
        raise Unavailable("there is no C++ compiler (%s; name one in CXX)" % error.filename)
    except subprocess.TimeoutExpired:
        raise Unavailable("building took more than %d s" % PATIENCE_S)
    finally:
        if os.path.exists(part):
            os.unlink(part)


def _built(torch):
    """Path of the observer for this PyTorch, built where it is not there."""
    named = os.environ.get("PIPESCOPE_TORCH_OBSERVER") or "1"
    if named.lower() in _NO:
        raise Unavailable("")
    if os.sep in named:
        return named
    try:
        flags = _flags(torch)
        cache = _cache()
        path = os.path.join(cache, _name(torch, flags))
        if not os.path.exists(path):
            with _Turn(os.path.join(cache, "observer.lock")) as turn:
                if not os.path.exists(path) and turn.has_waited:  # else all ranks of a job would fail one after the other
                    raise Unavailable("another process could not build it")
                if not os.path.exists(path):
                    _compile(torch, flags, path)
    except OSError as error:
        raise Unavailable("%s" % error)
    return path


# --- loading ----------------------------------------------------------------------------------------------------------

_HANDLE_OF = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_int64, ctypes.c_int64)


class _Library(ctypes.Structure):
    """ps_observer_library."""
    _fields_ = [(name, ctypes.c_void_p) for name in ("word", "op_begin", "op_begin_backward", "op_begin_host", "op_end")]
    _fields_ += [("stream_handle", _HANDLE_OF)]


@_HANDLE_OF
def _stream_handle(device, stream):
    """The driver's handle of a stream that PyTorch names by number; asked for once for each."""
    try:
        torch = sys.modules["torch"]
        return torch.cuda.Stream(stream_id=stream, device_index=device, device_type=1).cuda_stream
    except Exception as error:
        _say.warn_once("stream-handle", "a stream of PyTorch has no handle: %s", error)
        return 0


class Observer:
    """The observer as loaded. put() and remove() are called in turn."""

    def __init__(self, path, lib):
        try:
            self._lib = ctypes.PyDLL(path)  # quick, and never waits
            put, remove = self._lib.ps_observer_put, self._lib.ps_observer_remove
            self._cost = ctypes.CDLL(path).ps_observer_cost  # runs some operators: without the interpreter's lock
        except (OSError, AttributeError) as error:
            raise Unavailable("it could not be loaded: %s" % error)
        put.restype, put.argtypes = ctypes.c_int, (ctypes.c_int, ctypes.c_int, ctypes.c_uint64)
        remove.restype, remove.argtypes = None, (ctypes.c_int,)
        self._cost.restype, self._cost.argtypes = ctypes.c_double, (ctypes.c_int,)
        self._bound = _Library(*lib.operator_addresses(), _stream_handle)
        self._lib.ps_observer_bind(ctypes.byref(self._bound))
        self._is_measured = False
        lib.when_begun(self._lib.ps_observer_wake)

    def use_device(self):
        self._lib.ps_observer_use_device()

    def put(self, shapes, stream):
        """On this thread. `stream` as of a range. The first time it notes what it costs an operator, for what `pipescope record` says in the end."""
        if not self._is_measured:
            self._is_measured = True
            cost_ns = self._cost(bool(shapes))
            _metadata.add_default_json("record_ops", json.dumps({"by": "observer", "operator_ns": round(cost_ns, 1)}))
        current = isinstance(stream, str) and stream == "current"
        handle = 0 if current or stream is None else (_streams.handle_of(stream) or 0)
        if not self._lib.ps_observer_put(bool(shapes), current, handle):
            raise Unavailable("PyTorch did not take it")

    def remove(self, here):
        self._lib.ps_observer_remove(here)


_observer = None
_why = None


def observer():
    """The Observer of this process, built and loaded when first asked for; None where there is none, which is said once."""
    global _observer, _why
    if _observer is None and _why is None:
        import torch

        lib = _library.functions()
        try:
            if lib.op_begin_host is None:
                raise Unavailable("the recorder that this process has loaded is older")
            _observer = Observer(_built(torch), lib)
            getattr(torch.cuda, "_lazy_call", lambda call: None)(_observer.use_device)
        except Unavailable as error:
            _why = str(error)
            if _why:
                _say.warn("record_ops: the observer in C++ is left out, a dispatch mode in Python does its work at a higher cost: %s", _why)
    return _observer
