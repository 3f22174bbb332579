#!/usr/bin/env python3
"""Frameworks that look otherwise than the ones the adapters were written for: what they do goes on as without us, and it is said once."""
import recording

HEAD = """
import types, pipescope
class Odd:
    '''Answers nothing that an adapter may ask.'''
    __slots__ = ()
    def __getattr__(self, name): raise RuntimeError("asked for " + name)
    def __iter__(self): raise RuntimeError("walked through")
    def __len__(self): raise RuntimeError("counted")
    __hash__ = None
    def __eq__(self, other): raise RuntimeError("compared")
odd, calls = Odd(), []
"""
TAIL = """
assert calls == expected, calls
pipescope.stop(); pipescope.export()
"""


class Otherwise(recording.Case):
    def check(self, body):
        _, err = self.run_python(HEAD + body + TAIL)
        self.assertEqual(err.count("it looks otherwise than expected"), 1, err)

    def test_pipelining(self):
        self.check("""
class Stage:
    stage_index = 1
    def forward_one_chunk(self, *args, **kwargs): calls.append("F")
    def backward_one_chunk(self, *args, **kwargs): calls.append("B")
class Schedule:
    _stage, _n_microbatches = Stage(), 2
    _comp_type_to_function_map = {Odd: print, 3: print}
    def step(self):
        self._stage.forward_one_chunk(odd)
        self._stage.backward_one_chunk(odd, odd)
schedule = Schedule()
pipescope.pipelining.record(schedule)
pipescope.start()
schedule.step()
expected = ["F", "B"]
""")

    def test_megatron(self):
        self.check("""
module = types.ModuleType("schedules")
def forward_step(*args, **kwargs):
    calls.append("F")
    return ()
def backward_step(*args, **kwargs): calls.append("B")
def whole(*args, **kwargs):
    module.forward_step(odd, odd, model=odd, current_microbatch=odd, vp_stage=odd)
    module.backward_step(odd, output_tensor=[odd])
class WeightGradStore:
    cache = odd
    @classmethod
    def pop(cls): calls.append("W")
module.forward_step, module.backward_step, module.WeightGradStore = forward_step, backward_step, WeightGradStore
module.forward_backward_pipelining_without_interleaving = whole
pipescope.megatron.record(module)
pipescope.start()
module.forward_backward_pipelining_without_interleaving(model=odd, num_microbatches=odd)
WeightGradStore.pop()
expected = ["F", "B", "W"]
""")

    def test_deepspeed(self):
        self.check("""
class ForwardPass: pass
class BackwardPass: pass
class PipelineEngine:
    __slots__ = ()  # takes no attributes
    def _forward(self): calls.append("F")
    def _backward(self, buffers, more): calls.append("B")
    _INSTRUCTION_MAP = {ForwardPass: _forward, BackwardPass: _backward}
    def _exec_schedule(self):
        self._INSTRUCTION_MAP[ForwardPass](self)
        self._INSTRUCTION_MAP[BackwardPass](self, odd, more=1)
    def train_batch(self): self._exec_schedule()
    def eval_batch(self): calls.append("E")
pipescope.deepspeed.record(types.SimpleNamespace(PipelineEngine=PipelineEngine))
pipescope.start()
PipelineEngine().train_batch()
PipelineEngine().eval_batch()
expected = ["F", "B", "E"]
""")

    def test_paddle(self):
        self.check("""
class PipelineParallel:
    __slots__ = ()
    def _forward_step(self, *args, **kwargs):
        calls.append("F")
        return [odd]
    def _backward_step(self, *args, **kwargs): calls.append("B")
    def train_batch(self):
        self._forward_step(odd, odd, chunk_id=odd)
        self._backward_step(odd, odd)
        return "loss"
    def eval_batch(self): calls.append("E")
module = types.ModuleType("pipeline_parallel")
module.PipelineParallel = PipelineParallel
pipescope.paddle.record(module)
pipescope.start()
assert PipelineParallel().train_batch() == "loss"
PipelineParallel().eval_batch()
expected = ["F", "B", "E"]
""")

    def test_errors_of_the_program_are_its_own(self):
        self.run_python(HEAD + """
class Stage:
    stage_index = 0
    def forward_one_chunk(self, *args): raise KeyError("mine")
stage = Stage()
pipescope.pipelining.record(stage)
pipescope.start()
try:
    stage.forward_one_chunk(0)
except KeyError as error:
    assert error.args == ("mine",)
else:
    raise AssertionError("swallowed")
pipescope.stop(); pipescope.export()
""")
        self.assertEqual(self.database().names(), ["PP:0F0"])


class Locks(recording.Case):
    def test_what_may_wait_gives_up_the_interpreter(self):
        """Whatever takes a lock that a start or a stop may hold while the disk makes it wait."""
        out, _ = self.run_python("""
import ctypes
from pipescope import _library
lib, KEEPS = _library.functions(), 0x4  # FUNCFLAG_PYTHONAPI
for name in ("set", "last", "directory", "domain_named", "add_metadata", "name_stream", "clock_offset", "get_stats"):
    assert not getattr(lib, name)._flags_ & KEEPS, name
assert lib.enabled._flags_ & KEEPS
print("ok")
""")
        self.assertEqual(out.strip(), "ok")


if __name__ == "__main__":
    recording.main()
