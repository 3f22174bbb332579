#!/usr/bin/env python3
"""Ranges, marks, nesting, domains, streams, threads: what is recorded, and that nothing raises."""
import json

import recording

HEAD = """
import json, os, sys, threading
import pipescope
from pipescope import mstx
"""


class Recorded(recording.Case):
    def record(self, body, **env):
        """What the program printed as JSON, after it recorded."""
        out, self.err = self.run_python(HEAD + "pipescope.start()\n" + body + "\npipescope.stop()\npipescope.export()\n", **env)
        return json.loads(out) if out.strip() else None

    def test_ranges_and_marks(self):
        self.record("""
a = mstx.range_start("outer")
b = mstx.range_start("on the device", 1, "pp")
mstx.mark("here")
mstx.mark("there", domain="pp")
mstx.range_end(b, "pp")
mstx.range_end(a)
assert 0 < a < b < 2**31
""")
        db = self.database()
        self.assertEqual([(r[0], r[1], r[4]) for r in db.ranges()],
                         [("outer", "default", 0), ("on the device", "pp", 1)])
        outer, inner = db.ranges()
        self.assertLessEqual(outer[2], inner[2])
        self.assertLessEqual(inner[3], outer[3])
        self.assertEqual(db.marks(), [("here", "default"), ("there", "pp")])

    def test_texts(self):
        messages = ["x", "\u00e9t\u00e9 \U0001f600", "a" * 300, "{'name': 'forward_step', 'current_microbatch': 3}", "a\tb"]
        self.record("for m in %r: mstx.range_end(mstx.range_start(m))" % messages)
        self.assertEqual(self.database().names(), messages)

    def test_push_and_pop(self):
        depths = self.record("""
got = [mstx.range_push("a"), mstx.range_push("b"), mstx.range_push("other", domain="d"), mstx.range_pop(),
       mstx.range_pop(), mstx.range_pop(), mstx.range_pop("d"), mstx.range_pop("d"), mstx.range_pop("never used")]
def other_thread():
    got.append(mstx.range_pop())
    got.append(mstx.range_push("c"))
mstx.range_push("kept")
t = threading.Thread(target=other_thread); t.start(); t.join()
got.append(mstx.range_pop())
print(json.dumps(got))
""")
        self.assertEqual(depths, [0, 1, 0, 1, 0, -1, 0, -1, -1, -1, 0, 0])
        self.assertEqual(sorted(self.database().names()), ["a", "b", "kept", "other"])

    def test_a_stack_does_not_outlive_its_recording(self):
        out, _ = self.run_python(HEAD + """
got = [mstx.range_push("off"), mstx.range_pop()]
pipescope.start()
got.append(mstx.range_push("open"))
pipescope.stop(); pipescope.export()
got.append(mstx.range_pop())
pipescope.start()
got += [mstx.range_pop(), mstx.range_push("new"), mstx.range_pop()]
pipescope.stop(); pipescope.export()
print(json.dumps(got))
""")
        self.assertEqual(json.loads(out), [-1, -1, 0, -1, -1, 0, 0])

    def test_decorators(self):
        self.record("""
@mstx.mstx_range("decorated")
def f(x):
    "doc"
    return x + 1
@mstx.annotate()
def named(): return 2
@mstx.annotate("said", domain="d")
def g(): raise KeyError
assert f(1) == 2 and f.__name__ == "f" and f.__doc__ == "doc" and named() == 2
try: g()
except KeyError: pass
with mstx.annotate("body") as a, mstx.annotate("inner"): pass
try:
    with mstx.annotate("broken"): raise ValueError
except ValueError: pass
def fails(): raise OSError
try: mstx.wrap(fails, "wrapped")()
except OSError: pass
assert mstx.wrap(lambda a, b=0: a + b, "args")(1, b=2) == 3
""")
        db = self.database()
        self.assertEqual(db.names(), ["decorated", "named", "said", "body", "inner", "broken", "wrapped", "args"])
        self.assertEqual([r[0] for r in db.ranges() if r[4]], ["wrapped", "args"], "wrap is on the current stream")

    def test_streams(self):
        self.record("""
class Cuda: cuda_stream = 0
class Npu: npu_stream = 7
class Ptr: ptr = 1 << 40
class No: cuda_stream = "x"
for s in (None, 0, 1, 2, Cuda(), Npu(), Ptr(), "current", No(), "other", 1.5, -1, True):
    mstx.range_end(mstx.range_start(repr(type(s)), s))
""")
        db = self.database()
        self.assertEqual([r[4] for r in db.ranges()], [0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0])
        by_stream = db.rows("SELECT COUNT(*) FROM TASK GROUP BY streamId ORDER BY COUNT(*) DESC")
        self.assertEqual([n for n, in by_stream], [4, 1, 1, 1], "0 and the current stream are the legacy one")
        self.assertIn("is no stream", self.err)

    def test_wrong_arguments(self):
        got = self.record("""
got = []
for m in ("", None, 3, b"x", ["l"], {}):
    got += [mstx.range_start(m), mstx.mark(m), mstx.range_push(m)]
for d in ("", None, 3, [], {}):
    got += [mstx.range_start("m", None, d), mstx.mark("m", None, d), mstx.range_push("m", None, d), mstx.range_pop(d)]
for i in (None, "1", 1.5, -1, 1 << 70, [], 0, 123456):
    got.append(mstx.range_end(i))
    mstx.range_end(i, [])
print(json.dumps(got))
""")
        self.assertEqual(set(map(repr, got)), {"0", "None", "-1"})
        self.assertEqual(got, [0, None, -1] * 6 + [0, None, -1, -1] * 5 + [None] * 8)
        self.assertIn("a message must be a str", self.err)
        self.assertIn("a domain must be a str", self.err)
        self.assertIn("is ended by the int", self.err)
        self.assertLess(len(self.err.splitlines()), 12, "each thing is said once")

    def test_threads(self):
        self.record("""
def work(n):
    for i in range(200):
        r = mstx.range_start("t%d" % n, 1)
        mstx.range_push("nested %d %d" % (n, i)); mstx.range_pop()
        mstx.range_end(r)
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for t in threads: t.start()
for t in threads: t.join()
early = []
t = threading.Thread(target=lambda: early.append(mstx.range_start("ended elsewhere")))
t.start(); t.join()
mstx.range_end(early[0])
""")
        db = self.database()
        self.assertEqual(len(db.ranges()), 8 * 200 * 2 + 1)
        tids = db.rows("SELECT COUNT(DISTINCT globalTid), SUM(globalTid != endGlobalTid) FROM MSTX_EVENTS")
        self.assertEqual(tids, [(9, 1)])

    def test_ids_past_31_bits(self):
        """They are passed whole, not as C ints."""
        self.record("""
from pipescope import _library
seen = []
lib = _library.functions()
mstx._c_end = lambda domain, i: seen.append(getattr(i, "value", i))
if mstx._extension is not None:
    import ctypes
    end = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64)(mstx._c_end)
    mstx._extension.bind(*lib.addresses()[:3], ctypes.cast(end, ctypes.c_void_p).value, *mstx._helpers)
for i in (1, 2**31 - 1, 2**31, 2**32 + 5, 2**63): mstx.range_end(i)
assert seen == [1, 2**31 - 1, 2**31, 2**32 + 5, 2**63], seen
mstx.mark("x")
""")

    def test_how_they_are_called(self):
        """Both ways have the same signatures, and refuse what is not of them also while nothing is recorded."""
        out, _ = self.run_python(HEAD + """
import inspect
assert (mstx._extension is None) == (os.environ["PIPESCOPE_PYTHON_EXTENSION"] == "0"), mstx._extension
names = ["mark", "range_start", "range_end", "range_push", "range_pop"]
if mstx._extension is None or sys.version_info >= (3, 10):  # before, Python drops the signatures of such types
    names.append("annotate")
print({name: str(inspect.signature(getattr(mstx, name))) for name in names})
wrong = [lambda f: f(), lambda f: f("m", None, "d", 4), lambda f: f("m", other=1), lambda f: f("m", message="again"),
         lambda f: f("m", stream=1, **{"domain": "d", "strean": 2})]
for f in (mstx.mark, mstx.range_start, mstx.range_push):
    for call in wrong:
        try: call(f)
        except TypeError: pass
        else: raise SystemExit("taken")
for call in (lambda: mstx.range_end(), lambda: mstx.range_end(1, "d", 3), lambda: mstx.range_pop("d", 1), lambda: mstx.range_pop(d=1),
             lambda: mstx.annotate("a", None, "d", 4), lambda: mstx.annotate(text="a"), lambda: mstx.annotate("a", message="b")):
    try: call()
    except TypeError: pass
    else: raise SystemExit("taken")
""")
        self.assertEqual(out.count("message, stream=None, domain='default'"), 3)
        if "annotate" in out:
            self.assertIn("'annotate': \"(message='', stream=None, domain='default')", out)
        self.assertIn("'range_end': \"(range_id, domain='default')", out)

    def test_keywords(self):
        self.record("""
a = mstx.range_start(message="a", domain="d", stream=1)
b = mstx.range_push("b", domain="e")
mstx.mark("m", domain="e")
assert mstx.range_pop(domain="e") == 0
mstx.range_end(domain="d", range_id=a)
with mstx.annotate("c", domain="d", stream="current"): pass
""")
        db = self.database()
        self.assertEqual([(r[0], r[1], r[4]) for r in db.ranges()], [("a", "d", 1), ("b", "e", 0), ("c", "d", 1)])
        self.assertEqual(db.marks(), [("m", "e")])

    def test_annotate_as_an_object(self):
        self.record("""
class Mine(mstx.annotate):
    def __init__(self, n): super().__init__("mine %d" % n, domain="d")
with Mine(1) as m: pass
a = mstx.annotate("again")
for i in range(9): a.__enter__()
a.message = "other"
with a: pass
for i in range(12): assert a.__exit__(None, None, None) is False
assert (m.message, m.stream, m.domain) == ("mine 1", None, "d")
class Stream:
    @property
    def ptr(self):
        own.message, own.stream, own.domain = "set", None, "default"
        raise ValueError
own = mstx.annotate("own", Stream(), "d")
with own: pass
import copy, pickle
for again in (copy.copy, copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))):
    b = again(mstx.annotate("copy", 1, "d"))
    assert (type(b), b.message, b.stream, b.domain) == (mstx.annotate, "copy", 1, "d")
    with b, b: pass
m.extra = 5
m = copy.deepcopy(m)
assert (type(m), m.message, m.extra) == (Mine, "mine 1", 5)
""")
        names = self.database().names()
        self.assertEqual(names, ["mine 1"] + ["again"] * 9 + ["other"] + ["copy"] * 6)
        self.assertEqual(self.database().rows("SELECT COUNT(*) FROM PIPESCOPE_OPEN_RANGES"), [(0,)])

    def test_nothing_is_kept(self):
        """Neither memory nor references, on the usual ways and the unusual ones."""
        self.record("""
import gc, logging
logging.getLogger("pipescope").disabled = True
class Stream: cuda_stream = 9
class Broken:
    @property
    def cuda_stream(self): raise ValueError
message, stream, broken, domain = "m" * 9 + str(os.getpid()), Stream(), Broken(), "d" * 9 + str(os.getpid())
text = "a \\udc80 b"
def once():
    mstx.range_end(mstx.range_start(message, stream, domain), domain)
    mstx.range_end(mstx.range_start(message, 1 << 40, domain=domain), domain)
    mstx.range_push(message, "current", domain); mstx.range_pop(domain)
    mstx.mark(message, broken, domain); mstx.range_start(message, broken); mstx.range_start(text); mstx.mark(text, -1)
    mstx.mark(3); mstx.mark(message, None, []); mstx.range_end("x"); mstx.range_end(1 << 70); mstx.range_pop([]); mstx.range_pop("none")
    for bad in (lambda: mstx.mark(), lambda: mstx.mark(message, strean=stream), lambda: mstx.annotate(message, message=stream)):
        try: bad()
        except TypeError: pass
    with mstx.annotate(message, stream, domain) as a:
        for i in range(9): a.__enter__()
        for i in range(9): a.__exit__(None, None, None)
    mstx.annotate(stream=stream, domain=domain)(once)
    with pipescope.job(text, 3, stream) as a, pipescope.job(message, stream=stream, message=message): pass
    for bad in (lambda: pipescope.job([], 3).__enter__(), lambda: pipescope.job(text, kind=text)):
        try: bad()
        except TypeError: pass
def count(): gc.collect(); return [sys.getrefcount(o) for o in (message, stream, broken, domain, text, None)][:5], sys.getallocatedblocks()
for i in range(50): once()
refs, blocks = count()
for i in range(500): once()
refs_after, blocks_after = count()
assert refs == refs_after, (refs, refs_after)
assert abs(blocks_after - blocks) < 100, (blocks, blocks_after)
cycle = mstx.annotate("x", Stream())
cycle.stream.back = cycle
import weakref
gone = weakref.ref(cycle.stream)
del cycle; gc.collect()
assert gone() is None
""")

    def test_another_interpreter(self):
        """It has ranges of its own, through ctypes; the first one goes on with what it has."""
        out, _ = self.run_python(HEAD + """
try:
    import _xxsubinterpreters as interpreters
    other = interpreters.create(isolated=False)
except (ImportError, TypeError):
    print("none")
    raise SystemExit
pipescope.start()
mstx.mark("first")
interpreters.run_string(other, "from pipescope import mstx; assert mstx._extension is None; mstx.mark('other', 1, 'd')")
interpreters.destroy(other)
mstx.range_end(mstx.range_start("again", 1, "d"), "d")
pipescope.stop(); pipescope.export()
""")
        if out.strip() == "none":
            self.skipTest("this Python makes no interpreters that share its lock")
        self.assertEqual(self.database().marks(), [("first", "default"), ("other", "d")])
        self.assertEqual(self.database().names(), ["again"])

    def test_domains_that_are_left_out(self):
        self.record("""
for d in ("default", "a", "b"): mstx.range_end(mstx.range_start("in " + d, None, d), d)
""", PIPESCOPE_DOMAIN_INCLUDE="a")
        self.assertEqual(self.database().names(), ["in a"])

    def test_ops(self):
        self.record("""
with pipescope.op("aten::mm", "64,128;128,32"):
    pass
""")
        db = self.database()
        self.assertEqual(db.rows("SELECT s.value FROM PYTORCH_API p JOIN STRING_IDS s ON s.id = p.name"), [("aten::mm",)])

    def test_tool_and_library(self):
        got = self.record("""
print(json.dumps([mstx.get_tool_id(), pipescope.available(), pipescope.is_recording(), pipescope.__version__]))
mstx.mark("x")
""")
        self.assertGreater(got[0], 0x1003)
        self.assertEqual(got[1:3], [True, True])
        self.assertRegex(got[3], r"^\d+\.\d+")

    def test_fork(self):
        self.record("""
mstx.mark("parent")
pid = os.fork()
if pid == 0:
    ok = mstx.range_start("child") == 0 and not pipescope.is_recording()
    os._exit(0 if ok else 1)
assert os.waitpid(pid, 0)[1] == 0
""")
        self.assertEqual(self.database().marks(), [("parent", "default")])


FAKE_TORCH = """
import types
class Event:
    clock = 0
    def __init__(self, enable_timing=False): assert enable_timing
    def record(self): Event.clock += 1; self.at = Event.clock
    def synchronize(self): pass
    def elapsed_time(self, later): return float(later.at - self.at)
torch = types.ModuleType("torch")
torch.cuda = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: READY, Event=Event,
                                   synchronize=lambda: None)
torch._C = types.SimpleNamespace(_cuda_getDevice=lambda: 2, _cuda_getCurrentRawStream=lambda device: HANDLE + (device != 2))
READY, HANDLE = False, 0
sys.modules["torch"] = torch
"""


class Streams(recording.Case):
    """What PyTorch says of its streams, by a stand-in: the real one is not needed for this, nor a GPU."""

    def test_current(self):
        out, _ = self.run_python(HEAD + FAKE_TORCH + """
from pipescope import _streams
def current(): return _streams.address_of("current").value
got = [current()]
READY = True
got.append(current())
HANDLE = 0x7f0000001230
got.append(current())
del torch._C._cuda_getCurrentRawStream
torch.cuda.current_stream = lambda: types.SimpleNamespace(cuda_stream=77)
got.append(current())
torch.cuda.current_stream = lambda: 1 / 0
got.append(current())
print(json.dumps(got))
""")
        self.assertEqual(json.loads(out), [1, 1, 0x7f0000001230, 77, 1])

    def test_steps(self):
        """A step is on PyTorch's current stream where there is a device, and of the host alone where there is none."""
        self.run_python(HEAD + FAKE_TORCH + """
pipescope.start()
pipescope.step()
READY, HANDLE = True, 0x7f0000001230
pipescope.step()
torch._C._cuda_getDevice = lambda: 1 / 0
pipescope.step()
pipescope.stop()
pipescope.export()
""")
        rows = self.database().db.execute(
            "SELECT value, streamId FROM MSTX_EVENTS JOIN STRING_IDS ON id = message LEFT JOIN TASK USING (connectionId) "
            "WHERE value LIKE 'ProfilerStep#%' ORDER BY 1").fetchall()
        self.assertEqual(rows, [("ProfilerStep#0", None), ("ProfilerStep#1", 1), ("ProfilerStep#2", None)])

    def test_current_is_asked_once(self):
        """Of a PyTorch without CUDA; of one with it the context is looked for until there is one."""
        out, _ = self.run_python(HEAD + FAKE_TORCH + """
from pipescope import _streams
def current(): return _streams.address_of("current").value
got = [current()]
torch.cuda.is_initialized.__module__ = "torch.cuda"
torch.version = types.SimpleNamespace(cuda="12.8", hip=None)
torch.cuda._initialized, HANDLE = False, 0x7f0000001230
got.append(current())
assert _streams._seen is torch and _streams._without_cuda is None
READY = True
got.append(current())
torch.cuda._initialized = True
got.append(current())
_streams._seen, torch.version.cuda = None, None
got += [current(), current()]
print(json.dumps(got))
""")
        self.assertEqual(json.loads(out), [1, 1, 1, 0x7f0000001230, 0x7f0000001230, 1])

    def test_jobs(self):
        """In C as in Python: messages, nesting, exceptions, the log as each recording finds it, and nothing outside of one."""
        out, err = self.run_python(HEAD + """
import gc
class Mine(pipescope.job):
    def __init__(self, number): super().__init__("forward", number, stream=None)
with pipescope.job("before", 0): pass
with pipescope.job([], 0): pass             # not looked at
pipescope.start()
outer = pipescope.job("forward", 3)
with outer as given:
    assert given is outer and (outer.kind, outer.microbatch, outer.stream) == ("forward", 3, "current")
    with pipescope.job("backward", 3, None), pipescope.job(microbatch=4, kind="backward_w"): pass
try:
    with pipescope.job("optimizer"): raise ValueError
except ValueError: pass
with pipescope.job("forward", 0, message="PP:0F0"), Mine(1): pass
for wrong in (lambda: pipescope.job(), lambda: pipescope.job("a", 1, None, "m", 5), lambda: pipescope.job("a", kind="b"),
              lambda: pipescope.job("a", other=1), lambda: pipescope.job([], 0).__enter__()):
    try: wrong()
    except TypeError: continue
    raise AssertionError
pipescope.stop(); pipescope.export()
os.environ["PIPESCOPE_PADDLE_LOG"] = "1"
pipescope.start()
with pipescope.job("backward", 5): pass
pipescope.stop(); pipescope.export()
del outer; gc.collect()
""")
        first, second = self.databases()
        self.assertEqual(first.names(), ["{'name': 'forward', 'current_microbatch': 3}", "{'name': 'backward', 'current_microbatch': 3}",
                                         "{'name': 'backward_w', 'current_microbatch': 4}", "{'name': 'optimizer'}", "PP:0F0",
                                         "{'name': 'forward', 'current_microbatch': 1}"])
        self.assertEqual([on_device for *_, on_device in first.ranges()], [1, 0, 1, 1, 1, 0])
        self.assertEqual(second.names(), ["{'name': 'backward', 'current_microbatch': 5}"])
        lines = [line.split(", job_start")[0] for line in err.splitlines() if line.startswith("Profiler Info")]
        self.assertEqual(lines, ["Profiler Info: Job (5), type = backward, micro_batch_id = 5"], err)

    def test_times_of_the_log(self):
        """Events of the stream, placed in time when the step is over."""
        _, err = self.run_python(HEAD + FAKE_TORCH + """
READY = True
for i in range(2):
    with pipescope.job_schedule_profiler_range(i, 0, 1, False):
        for kind in ("forward", "backward"):
            with pipescope.job(kind, 0): pass
""", PIPESCOPE_PADDLE_LOG="1", PIPESCOPE_LIBRARY="/nonexistent", PIPESCOPE_QUIET="1")
        lines = [line for line in err.splitlines() if line.startswith("Profiler Info")]
        times = [float(line.split(" = ")[n].split(",")[0]) for line in lines for n in (3, 4)]
        self.assertEqual([round(t - times[0]) for t in times], [0, 1, 2, 3], err)


class Forks(recording.Case):
    def test_child_of_a_profile(self):
        """It has a copy of the object, not of the recording: nothing happens, nothing is said."""
        _, err = self.run_python(HEAD + """
import gc
prof = pipescope.profile(schedule=pipescope.schedule(wait=0, warmup=0, active=9), on_trace_ready=lambda p: print("ready"))
prof.start()
mstx.mark("parent")
pid = os.fork()
if pid == 0:
    prof.step(); prof.stop(); mstx.mark("child", domain="new one"); del prof; gc.collect()
    raise SystemExit(0)
assert os.waitpid(pid, 0)[1] == 0
prof.stop()
""")
        self.assertNotIn("could not", err)
        self.assertEqual(self.database().marks(), [("parent", "default")])

    def test_child_that_records(self):
        self.run_python(HEAD + """
pipescope.start()
mstx.range_push("parent")
pid = os.fork()
if pid == 0:
    pipescope.start()
    assert mstx.range_push("child") == 0, "the stack of the parent is not the child's"
    mstx.range_pop()
    raise SystemExit(0)
assert os.waitpid(pid, 0)[1] == 0
mstx.range_pop()
""")
        self.assertEqual(sorted(db.names() for db in self.databases()), [["child"], ["parent"]])


class Off(recording.Case):
    def test_nothing_is_recorded(self):
        out, err = self.run_python(HEAD + """
got = [mstx.range_start("a"), mstx.range_end(5), mstx.mark("m"), mstx.range_push("p"), mstx.range_pop(),
       mstx.range_start(None, [], {}), mstx.range_end("x")]
with mstx.annotate("x"): pass
print(json.dumps(got))
""")
        self.assertEqual(json.loads(out), [0, None, None, -1, -1, 0, None])
        self.assertEqual((err, self.folders()), ("", []))

    def test_without_the_library(self):
        for library in (self.path("none.so"), __file__):
            out, err = self.run_python(HEAD + """
import pipescope.torch_npu as torch_npu
got = [pipescope.available(), pipescope.start(), mstx.range_start("a"), mstx.range_end(5), mstx.range_push("p"),
       mstx.range_pop(), mstx.get_tool_id(), pipescope.stop(), pipescope.export(), pipescope.stats(), pipescope.directory()]
with pipescope.profile(schedule=pipescope.schedule(wait=0, warmup=1, active=1)) as prof:
    prof.add_metadata_json("pp_info", "{}")
    for i in range(4): prof.step()
with pipescope.job_schedule_profiler_range(0, 0, 1, False) as status: assert status
pipescope.step()
with pipescope.op("x"): pass
torch_npu.profiler.analyse()
print(json.dumps(got))
""", PIPESCOPE_LIBRARY=library)
            self.assertEqual(json.loads(out), [False, False, 0, None, -1, -1, 0, False, False, {}, ""])
            self.assertEqual(err.count("was not found, so nothing will be recorded"), 1, err)
            self.assertEqual(self.folders(), [])

    def test_one_copy_of_the_library(self):
        """A copy that the process has loaded is used, whatever the environment names."""
        out, _ = self.run_python("""
import ctypes, os, json
first = os.environ["REAL_LIBRARY"]
ctypes.CDLL(first)
import pipescope
from pipescope import _library
print(json.dumps([os.path.realpath(_library.functions().path), os.path.realpath(first)]))
""", REAL_LIBRARY=recording.LIBRARY, PIPESCOPE_LIBRARY="/nonexistent.so")
        used, first = json.loads(out)
        self.assertEqual(used, first)


if __name__ == "__main__":
    recording.main()
