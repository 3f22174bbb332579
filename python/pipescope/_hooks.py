"""Ranges around what a program does anyway: modules, batches, checkpoints, attention. PyTorch is imported when a hook is
put on, not before. Each hook can be taken off again; putting it on twice does nothing."""
import functools
import json

from pipescope import _library, _say
from pipescope import mstx as _mstx

_lock = _library.ForkLock()
_undo = {}  # name of a hook -> function that takes it off


class Hook:
    """What the functions below give back: `remove()` takes the hook off, and so does the end of a with statement."""

    def __init__(self, name):
        self._name = name

    def remove(self):
        _take_off(self._name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()
        return False


def _put_on(name, put):
    """put() puts a hook on and returns the function that takes it off. Never raises."""
    with _lock:
        if name not in _undo:
            try:
                _undo[name] = put()
            except Exception as error:
                _say.warn_once(("hook", name), "%s: %s: %s", name, type(error).__name__, error)
    return Hook(name)


def _take_off(name):
    with _lock:
        undo = _undo.pop(name, None)
    if undo is not None:
        undo()


def _replace(owner, attribute, make):
    """Replaces owner.attribute by make(its value); returns the function that puts it back, unless someone replaced it since."""
    own = vars(owner).get(attribute)
    before = getattr(owner, attribute)
    after = make(before)
    setattr(owner, attribute, after)

    def undo():
        if getattr(owner, attribute) is not after:
            _say.warn_once(("undo", attribute), "%s was replaced again after pipescope had: it is left as it is", attribute)
        elif own is None:
            delattr(owner, attribute)
        else:
            setattr(owner, attribute, own)

    return undo


# --- modules ----------------------------------------------------------------------------------------------------------


def hook_modules(include=None, domain="Module"):
    """A range named after its class around each call of an nn.Module, for `pipescope cluster -m module_statistic`.

    `include`: names of classes (or classes) to record, all when None. It may be called again with another list."""
    names = None if include is None else frozenset(getattr(c, "__name__", c) for c in include)
    _take_off("hook_modules")

    def put():
        import torch

        def make(call):
            start, end = _mstx.range_start, _mstx.range_end

            @functools.wraps(call)
            def __call__(self, *args, **kwargs):
                if not _mstx._word[0]:
                    return call(self, *args, **kwargs)
                name = type(self).__name__
                if names is not None and name not in names:
                    return call(self, *args, **kwargs)
                range_id = start(name, None, domain)
                try:
                    return call(self, *args, **kwargs)
                finally:
                    end(range_id, domain)

            return __call__

        return _replace(torch.nn.Module, "__call__", make)

    return _put_on("hook_modules", put)


def unhook():
    """Takes the hook of hook_modules off."""
    _take_off("hook_modules")


# --- batches and checkpoints ------------------------------------------------------------------------------------------


def patch_dataloader(message="dataloader", domain="default"):
    """A range around fetching each batch of a torch.utils.data.DataLoader."""

    def put():
        from torch.utils.data import dataloader

        return _replace(dataloader._BaseDataLoaderIter, "__next__",
                        lambda f: _mstx.wrap(f, message, stream=None, domain=domain))

    return _put_on("patch_dataloader", put)


def patch_save(message="save_checkpoint", domain="default"):
    """A range around each torch.save."""

    def put():
        import torch

        return _replace(torch, "save", lambda f: _mstx.wrap(f, message, stream=None, domain=domain))

    return _put_on("patch_save", put)


# --- attention --------------------------------------------------------------------------------------------------------

ATTENTION_DOMAIN = "flash_attn_args"

_CAUSAL, _FULL = '{"is_causal": true}', '{"is_causal": false}'


def mark_attention(is_causal):
    """What the accounting of FLOPs needs to know of a scaled_dot_product_attention: layout BNSD, causal or not."""
    _mstx.mark(_CAUSAL if is_causal else _FULL, None, ATTENTION_DOMAIN)


def mark_fused_attention(input_layout, sparse_mode=0, actual_seq_qlen=None, actual_seq_kvlen=None):
    """The same of a fused attention on Ascend: lengths are cumulative and matter for layout TND."""
    if not _mstx._word[0]:
        return
    try:
        message = json.dumps({"input_layout": str(input_layout), "sparse_mode": int(sparse_mode),
                              "actual_seq_qlen": _numbers(actual_seq_qlen),
                              "actual_seq_kvlen": _numbers(actual_seq_kvlen)})
    except (TypeError, ValueError) as error:
        _say.warn_once("attention", "arguments of an attention could not be read: %s", error)
        return
    _mstx.mark(message, None, ATTENTION_DOMAIN)


def _numbers(lengths):
    if lengths is None:
        return []
    lengths = lengths.tolist() if hasattr(lengths, "tolist") else lengths
    return [int(n) for n in lengths]


def patch_attention():
    """A mark before each torch.nn.functional.scaled_dot_product_attention. Whoever took the function's name before keeps the
    unmarked one: patch early."""

    def put():
        import torch.nn.functional

        def make(attention):
            @functools.wraps(attention)
            def scaled_dot_product_attention(*args, **kwargs):
                if _mstx._word[0]:
                    mark_attention(kwargs.get("is_causal", args[5] if len(args) > 5 else False))
                return attention(*args, **kwargs)

            scaled_dot_product_attention.pipescope_wraps = attention
            return scaled_dot_product_attention

        return _replace(torch.nn.functional, "scaled_dot_product_attention", make)

    return _put_on("patch_attention", put)
