"""Frameworks that are labelled without a line of code, under `pipescope record`: each function here gets a module of the framework that
was just imported (pipescope._startup.sitecustomize watches for it) and patches what the one-line calls patch. A program that makes
these calls too is not labelled twice.

Where the program counts no iterations itself (a profile, step(), a window), each whole step of the pipeline begins one."""
import functools
import inspect

from pipescope import _jobs, _library, _profile


def _begin():
    """The library is loaded now: as `pipescope record` told it, it records from here on."""
    _library.functions()
    _jobs.at_step(_profile.begin_step, _profile.leave_step)


# --- torch.distributed.pipelining ---------------------------------------------------------------------------------------


def _label_at_first_step(cls):
    step = vars(cls)["step"]

    @functools.wraps(step)
    def wrapper(self, *args, **kwargs):
        if "step" in vars(self):  # labelled
            return step(self, *args, **kwargs)
        from pipescope import pipelining as adapter
        adapter.record(self)
        labelled = vars(self).get("step")
        if labelled is not None and type(self).step is wrapper:
            return labelled(*args, **kwargs)  # which comes back here
        return step(self, *args, **kwargs)  # called by a step of the program's own class

    cls.step = wrapper


def pipelining(module):
    """Schedules label themselves when their first step begins: their stages are known then, and what the program asked for."""
    _begin()
    for cls in list(vars(module).values()):
        if inspect.isclass(cls) and issubclass(cls, module._PipelineSchedule) and cls is not module._PipelineSchedule:
            if "step" in vars(cls):
                _label_at_first_step(cls)


# --- Megatron-LM ----------------------------------------------------------------------------------------------------------


def megatron(module):
    _begin()
    from pipescope import megatron as adapter
    adapter.record(module)


# --- DeepSpeed ------------------------------------------------------------------------------------------------------------


def deepspeed(module):
    _begin()
    from pipescope import deepspeed as adapter
    adapter.record(module)


# --- Paddle's dynamic graph -----------------------------------------------------------------------------------------------


def paddle(module):
    _begin()
    from pipescope import paddle as adapter
    adapter.record(module)
