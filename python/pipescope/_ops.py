"""PyTorch's operators, for machines where no profiler knows of them: each operator that computes becomes a row of the
operators and one of the device (ps_record_op_begin), which module statistics need. Those of a backward pass are tied to the
operator of the forward pass whose gradient they compute.

Seen through a dispatch mode of this thread and of the backward passes it starts: operators below autograd, as the device
gets them. Views compute nothing and are left out, as is communication, whose time is waiting for the most part. A dispatch mode keeps torch.compile from compiling what it sees, and costs
some microseconds an operator: it is put on only when asked for.
"""
from pipescope import _hooks, _library, _metadata, _say, _streams
from pipescope import mstx as _mstx

_NO_COMPUTATION = ("profiler::", "c10d::", "c10d_functional::", "_c10d_functional::", "_c10d_functional_autograd::")


def _shapes(args):
    """Input shapes of the tensors among the arguments: "64,128;128,32"."""
    parts = []
    for arg in args:
        shape = getattr(arg, "shape", None)
        if shape is not None:
            parts.append(",".join(map(str, shape)))
        elif isinstance(arg, (list, tuple)):
            parts.extend(",".join(map(str, a.shape)) for a in arg if hasattr(a, "shape"))
    return ";".join(parts).encode()


class _Pairs:
    """Which operator of a forward pass an operator of a backward pass belongs to. Autograd numbers the nodes it makes: the
    operator after whose call the number has grown made the node that its gradient runs in."""

    MAX = 1 << 20

    def __init__(self):
        import torch

        self._node = getattr(torch._C, "_current_autograd_node", lambda: None)
        self._next = getattr(torch.autograd, "_get_sequence_nr", lambda: 0)
        self._last = self._next()
        self._ops = {}  # number of a node -> operator

    def forward_of(self):
        """In a backward pass the operator it is for (0 unknown); None in a forward pass."""
        node = self._node()
        return None if node is None else self._ops.get(node._sequence_nr(), 0)

    def note(self, op):
        """An operator of a forward pass, 0 for one that is not recorded."""
        number = self._next()
        if number != self._last:
            self._last = number
            if op:
                if len(self._ops) >= self.MAX:
                    self._ops.clear()
                self._ops[number - 1] = op


def _make_mode(shapes, stream):
    from torch.utils._python_dispatch import TorchDispatchMode

    lib = _library.functions()
    names = {}  # operator -> its name, None for what computes nothing
    pairs = _Pairs()

    def name_of(func):
        schema = getattr(func, "_schema", None)
        name = schema.name if schema is not None else str(func)
        return None if getattr(func, "is_view", False) or name.startswith(_NO_COMPUTATION) else name.encode()

    def begin(func, args):
        name = names[func] if func in names else names.setdefault(func, name_of(func))
        forward = pairs.forward_of()
        op = 0
        if name is not None:
            what = (name, _shapes(args) if shapes else None, _streams.address_of(stream))
            op = lib.op_begin_backward(*what, forward) if forward else lib.op_begin(*what)
        if forward is None:
            pairs.note(op)
        return op

    class Operators(TorchDispatchMode):
        is_on = True

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            op = 0
            if self.is_on and _mstx._word[0]:
                try:
                    op = begin(func, args)
                except Exception as error:
                    _say.warn_once("ops", "an operator could not be recorded: %s: %s", type(error).__name__, error)
            try:
                return func(*args, **(kwargs or {}))
            finally:
                if op:
                    lib.op_end(op)

    return Operators()


def record_ops(shapes=True, stream="current"):
    """Records PyTorch's operators from now on, on this thread and in its backward passes; remove() of what it gives ends it, and
    so does the end of a with statement. `shapes`: also the shapes of their inputs, from which FLOPs are worked out."""

    def put():
        import threading

        from pipescope import _observer

        seen_by = _observer.observer()
        if seen_by is not None:
            seen_by.put(shapes, stream)
            thread = threading.get_ident()
            return lambda: seen_by.remove(threading.get_ident() == thread)
        mode = _make_mode(shapes, stream)
        mode.__enter__()
        _metadata.add_default_json("record_ops", '{"by": "mode"}')

        def undo():
            from torch.utils import _python_dispatch

            mode.is_on = False
            current = getattr(_python_dispatch, "_get_current_dispatch_mode", lambda: mode)()
            if current is mode:
                mode.__exit__(None, None, None)
            else:
                _say.warn_once("ops-order", "another dispatch mode was entered since: that of pipescope stays, and does nothing")

        return undo

    return _hooks._put_on("record_ops", put if _library.available() else lambda: (lambda: None))
