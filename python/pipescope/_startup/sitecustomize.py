"""Run by Python as it starts, where `pipescope record` has put this folder first into PYTHONPATH.

A sitecustomize, and no file of another kind: Python runs it in virtual environments too (where there is no usercustomize), nothing
need be installed into the program's Python (as a .pth file must be), and child processes have it as they have the variable. The one
that would have run without it runs first; this folder leaves sys.path, so that nothing else is found differently.

It only watches for the modules below. When one was imported, its framework is patched (pipescope._frameworks): until then nothing of
pipescope is imported, and a process without a framework pays for a look at a dict at each first import of a module. What goes wrong is
said in a line and leaves the program alone.
"""
import sys

# Module -> the function of pipescope._frameworks that patches it.
WATCHED = {
    "torch.distributed.pipelining.schedules": "pipelining",
    "megatron.core.pipeline_parallel.schedules": "megatron",
    "mindspeed.core.pipeline_parallel.dualpipev.dualpipev_schedules": "megatron",
    "mindspeed_llm.core.pipeline_parallel.dualpipe.dualpipev_schedules": "megatron",
    "deepspeed.runtime.pipe.engine": "deepspeed",
    "paddle.distributed.fleet.meta_parallel.pipeline_parallel": "paddle",
    "paddle.distributed.fleet.meta_parallel.dualpipev": "paddle",
}


def _hand_on():
    """Takes this folder out of sys.path and runs the next sitecustomize there, as if this one were not."""
    import importlib.machinery
    import importlib.util
    import os

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [place for place in sys.path if os.path.abspath(place or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)  # what it raises, Python tells as it always does


def _package():
    """Makes `pipescope` importable: the program's own, else the one that this file is part of."""
    import importlib.util
    import os

    if "pipescope" in sys.modules or importlib.util.find_spec("pipescope") is not None:
        return
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    spec = importlib.util.spec_from_file_location("pipescope", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
    module = importlib.util.module_from_spec(spec)
    sys.modules["pipescope"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules["pipescope"]
        raise


def _patch(module, adapter):
    try:
        _package()
        from pipescope import _frameworks
        getattr(_frameworks, adapter)(module)
    except Exception as error:
        sys.stderr.write("pipescope: %s is not labelled: %s: %s\n" % (module.__name__, type(error).__name__, error))


class _Loader:
    """The loader of a watched module, with one thing more to do. Gone when the module is there."""

    def __init__(self, loader, adapter):
        self._loader, self._adapter = loader, adapter

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        _patch(module, self._adapter)


class _Finder:
    """Asks the others where a watched module is."""

    def find_spec(self, name, path=None, target=None):
        adapter = WATCHED.get(name)
        if adapter is None:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, adapter)
                return spec
        return None


if sys.version_info >= (3, 8):
    sys.meta_path.insert(0, _Finder())
    _hand_on()
