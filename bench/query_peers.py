"""Count and sum by name, from the file to the answer, beside what people have: query_peers.py PIPESCOPE FILE.json

The program; the Python package beside it (libpipescope.so.0, where it was built), to the same answer and to a DataFrame of all slices; pandas as HTA loads a
trace (json.load, a frame of the events), and Perfetto's trace_processor. What is not installed is named and left out; times are of all processors
together.
"""
import json
import os
import shutil
import subprocess
import sys

SQL = "SELECT name, count(*) AS n, sum(dur_ns) AS total_ns FROM slice WHERE dur_ns > 0 GROUP BY name"
PANDAS = """
import json, sys
import pandas
with open(sys.argv[1], encoding="utf-8") as file:
    frame = pandas.DataFrame(json.load(file)["traceEvents"])
frame = frame[(frame["ph"] == "X") & (frame["dur"] > 0)]
print(len(frame.groupby("name")["dur"].agg(["count", "sum"])))
"""
PACKAGE = """
import sys
import pipescope
print(len(pipescope.open(sys.argv[1]).sql(sys.argv[2])))
"""
FRAME = """
import sys, time
import pandas
import pipescope
table = pipescope.open(sys.argv[1]).table("slice", columns=["start_ns", "dur_ns", "track", "name"])
begin = time.process_time()
frame = table.to_pandas()
shared = sum(frame[n].to_numpy().__array_interface__["data"][0] == table.address(n) for n in ("start_ns", "dur_ns", "track"))
print("%d rows, %d of 3 columns of numbers without a copy, %.0f ms from columns to frame" % (len(frame), shared, 1e3 * (time.process_time() - begin)))
"""


def measured(words):
    """Seconds of processors, bytes of memory, output."""
    read, write = os.pipe()
    pid = os.posix_spawnp(words[0], words, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, write, 1)])
    os.close(write)
    with os.fdopen(read) as pipe:
        out = pipe.read()
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        sys.exit("%s ended with %d" % (words[0], status))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, out


def show(who, seconds, memory, base):
    times = " %6.1f x" % (seconds / base) if base else ""
    print("%10.2f s %8.0f MB%s  %s" % (seconds, memory / 1e6, times, who))


def main():
    program, path = sys.argv[1:3]
    print("%.0f MB: %s" % (os.path.getsize(path) / 1e6, os.path.basename(path)))
    seconds, memory, out = measured([program, "query", path, SQL, "--as", "json"])
    show("pipescope query, %d names" % len(json.loads(out)), seconds, memory, 0)
    python = os.environ.get("PIPESCOPE_PYTHON", sys.executable)
    has_pandas = subprocess.run([python, "-c", "import pandas"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    library = os.path.join(os.path.dirname(os.path.abspath(program)), "libpipescope.so.0")
    if os.path.exists(library):
        os.environ.update(PYTHONPATH=os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"), PIPESCOPE_QUIET="1",
                          PIPESCOPE_ANALYSIS_LIBRARY=library)
        of_package, memory, out = measured([python, "-c", PACKAGE, path, SQL])
        show("pipescope.open().sql(), %s names" % out.strip(), of_package, memory, seconds)
    if os.path.exists(library) and has_pandas:
        of_frame, memory, out = measured([python, "-c", FRAME, path])
        show("all slices as a DataFrame: %s" % out.strip(), of_frame, memory, seconds)
    if has_pandas:
        of_pandas, memory, out = measured([python, "-c", PANDAS, path])
        show("pandas, as HTA loads a trace, %s names" % out.strip(), of_pandas, memory, seconds)
    else:
        print("left out: pandas is not installed in %s" % python)
    processor = shutil.which("trace_processor_shell") or shutil.which("trace_processor")
    if processor:
        sql = SQL.replace("dur_ns", "dur").replace("total_ns", "total")
        with open(path + ".sql", "w", encoding="utf-8") as text:
            text.write(sql + ";\n")
        of_processor, memory, _ = measured([processor, "-q", path + ".sql", path])
        show("trace_processor", of_processor, memory, seconds)
    else:
        print("left out: Perfetto's trace_processor is not installed (its Python package fetches it from elsewhere)")


if __name__ == "__main__":
    main()
