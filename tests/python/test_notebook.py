#!/usr/bin/env python3
"""A notebook that looks at captures: it runs, shows tables, chart, findings and the map of workers, and a browser draws them. Skipped by name
without nbclient; the picture without Chromium. PIPESCOPE_KEEP=FOLDER keeps the page and the picture to look at."""
import os
import shutil
import subprocess
import xml.dom.minidom
import zlib

import recording

if __name__ == "__main__":
    recording.go_on_in_frames_python()

import nbclient
import nbformat

DATA = os.path.join(recording.ROOT, "tests", "data")
CELLS = ("""import pipescope
capture = pipescope.open(%r)
capture""" % os.path.join(DATA, "torch_pipeline", "gpipe"),
         """capture.sql("SELECT name, count(*) AS n, sum(dur_ns) AS total_ns FROM slice GROUP BY name ORDER BY total_ns DESC LIMIT 5")""",
         "capture.chart()",
         "capture.report()",
         "pipescope.open(%r).whatif()" % os.path.join(DATA, "ndtimeline", "two-by-two.json"),
         """capture.table("slice").to_pandas().groupby("kind")["dur_ns"].sum()""")


def browser():
    for name in ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    return None


def drawn_bytes(path):
    """How many different bytes the pixels of a PNG have: of an empty page one or two."""
    with open(path, "rb") as file:
        data = file.read()
    at, packed = 8, b""
    while at < len(data):
        n = int.from_bytes(data[at:at + 4], "big")
        if data[at + 4:at + 8] == b"IDAT":
            packed += data[at + 8:at + 8 + n]
        at += 12 + n
    return len(set(zlib.decompress(packed)))


class Notebook(recording.Case):
    def test_it_runs_and_shows(self):
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
        environment = recording.clean_environment(HOME=self.folder, IPYTHONDIR=self.path("ipython"), JUPYTER_CONFIG_DIR=self.path("jupyter"))
        client = nbclient.NotebookClient(book, timeout=recording.PATIENCE, resources={"metadata": {"path": self.folder}})
        client.execute(env=environment)
        shown = [cell.outputs[-1].data for cell in book.cells]
        for data, wanted in zip(shown, ("text/html", "text/html", "image/svg+xml", "text/html", "text/html", "text/plain")):
            self.assertIn(wanted, data)
        self.assertIn("rank", shown[0]["text/html"])
        self.assertIn("total_ns", shown[1]["text/html"])
        xml.dom.minidom.parseString(shown[2]["image/svg+xml"])
        self.assertIn("at most ", shown[3]["text/html"])
        self.assertIn("<svg", shown[4]["text/html"])
        self.assertIn("annotation", shown[5]["text/plain"])
        self.draw(shown)

    def draw(self, shown):
        page = "<!doctype html><meta charset=utf-8><body style='font: 13px sans-serif'>" + "<hr>".join(
            data.get("text/html") or data.get("image/svg+xml") or "<pre>%s</pre>" % data["text/plain"] for data in shown)
        folder = os.environ.get("PIPESCOPE_KEEP") or self.folder
        with open(os.path.join(folder, "notebook.html"), "w", encoding="utf-8") as file:
            file.write(page)
        if browser() is None:
            print("the picture is left out: no Chromium")
            return
        picture = os.path.join(folder, "notebook.png")
        subprocess.run([browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1300,2600",
                        "--user-data-dir=" + self.path("browser"), "--screenshot=" + picture, "file://" + os.path.join(folder, "notebook.html")],
                       check=True, capture_output=True, timeout=recording.PATIENCE)
        self.assertGreater(drawn_bytes(picture), 60)


if __name__ == "__main__":
    recording.main()
