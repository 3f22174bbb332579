"""Two stages of a pipeline in two processes that exchange over a folder, each believing what it is told of its clock.

    clocks.py RANK FOLDER OUTPUT [PAUSE_S]"""
import json
import sys
import time

import pipescope
from pipescope import mstx

rank, folder, output = int(sys.argv[1]), sys.argv[2], sys.argv[3]
pause_s = float(sys.argv[4]) if len(sys.argv) > 4 else 0
store = pipescope.FolderStore(folder, timeout_s=60)


def run(what, microbatch):
    with mstx.annotate("{'name': '%s_step', 'current_microbatch': %d}" % (what, microbatch), stream=1):
        time.sleep(0.004)


pipescope.set_option("output_dir", output)
pipescope.set_option("rank", rank)
pipescope.add_metadata_json("pp_info", json.dumps({"pp_type": "1f1b", "microbatch_num": 4}))
pipescope.add_metadata_json("distributed_args", json.dumps({"pipeline_model_parallel_size": 2}))
pipescope.start()
first = pipescope.sync(store, rank=rank, world_size=2, timeout_s=30)
for i in range(4):
    if rank == 0:
        run("forward", i)
        store.set("forward %d" % i, "")
    else:
        store.get("forward %d" % i)
        run("forward", i)
        run("backward", i)
        store.set("backward %d" % i, "")
for i in range(4):
    if rank == 0:
        store.get("backward %d" % i)
        run("backward", i)
time.sleep(pause_s)
last = pipescope.sync(store, rank=rank, world_size=2, timeout_s=30)
pipescope.stop()
assert pipescope.export()
print(json.dumps([first and first._asdict(), last and last._asdict()]))
