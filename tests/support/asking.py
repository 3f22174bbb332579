"""Many statements of one capture, asked at the prompt of one `pipescope query PATH -i`: a start of the program for each takes most of a test's time."""
import json
import subprocess
import sys
import tempfile

NOTHING, PARTLY = 3, 4
END = ' {"end of the answer": 1}'


class Asking:
    def __init__(self, path):
        self.path = path
        self.errors = tempfile.TemporaryFile("w+", encoding="utf-8")
        self.prompt = subprocess.Popen(("pipescope", "query", path, "-i", "--as", "json", "--quiet"), stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=self.errors, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.prompt.stdin.close()
        status = self.prompt.wait()
        self.errors.seek(0)
        text = self.errors.read()
        self.errors.close()
        if status not in (0, NOTHING, PARTLY):
            sys.exit("exit %d: the prompt of %s\n%s" % (status, self.path, text))

    def rows(self, sql):
        """A list of dictionaries, or None where the capture has nothing of the kind."""
        self.prompt.stdin.write('%s\n;\nSELECT 1 "end of the answer";\n' % sql)
        self.prompt.stdin.flush()
        lines = []
        for line in self.prompt.stdout:
            if line.rstrip("\n") == END:
                self.prompt.stdout.readline()
                lines.pop()  # where the end's own list begins
                break
            lines.append(line)
        else:
            sys.exit("the prompt of %s ended at: %s" % (self.path, sql))
        return json.loads("".join(lines)) if lines else None
