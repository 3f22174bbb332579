"""`pipescope serve` with one call of the operating system failing (faults.py), each route asked once, and once more. What must come out:

  the server        either says why it does not begin, with status 1, or goes on, and ends with status 0 when it is told to
  a reply           is that without the fault, or an error with a sentence, or the connection is closed
  the second time   all replies are those without the fault: no failure is kept. Where a rank could not be read, which /api/ranks says
                    with the reason, or the session, replies may lack that rank.
"""
import http.client
import json
import os
import sys
import urllib.parse

import faults

sys.path.insert(0, os.path.join(faults.ROOT, "tests", "serve"))
import serving  # noqa: E402 pylint: disable=wrong-import-position

NAMES = ("serve",)
CHANGES = ("/api/ranks", "/api/events", "/api/load")  # tell how far reading has come, and what memory it took

# Behind each address of GET; {key} is the first rank's. Bodies of POST.
ASKS = {
    "/api/align": "?by=clock", "/api/call_tree": "?rank={key}&by=callers", "/api/chart": "", "/api/counters": "?rank={key}&level=20&tile=0&lanes=0", "/api/events": "?after=0", "/api/folder": "",
    "/api/coverage": "?rank={key}&level=20&tile=0&lanes=0", "/api/export": "?rank={key}", "/api/flows/of": "?rank={key}&slice=0",
    "/api/flows/kinds": "?rank={key}", "/api/flows/window": "?rank={key}&kind=MsTx", "/api/lanes": "?rank={key}",
    "/api/mode": "?name=step_trace_time", "/api/outline": "?rank={key}", "/api/near": "?rank={key}&slice=0&to=next", "/api/ranks": "", "/api/search": "?q=step",
    "/api/search/list": "?q=step&sort=name", "/api/search/table": "?q=MatMulV2&row=kernel+type&format=csv&sort=name", "/api/search/step": "?q=step&n=0",
    "/api/session": "", "/api/slice": "?rank={key}&slice=0", "/api/slice_at": "?rank={key}&start=0&end=0",
    "/api/slices": "?rank={key}&lanes=0&sort=name", "/api/stats": "?rank={key}&lanes=0",
    "/api/summary": "", "/api/tiles": "?rank={key}&level=20&tile=0&lanes=0", "/api/views": "", "/api/view": "?rank={key}&name=overall",
    "/api/whatif": "", "/api/plan": "?layers=4,4", "/api/schema": "",
    "/api/query": "?format=csv&sql=SELECT+name,+count(*),+sum(self_ns)+FROM+slice+GROUP+BY+name",
}
BODIES = {
    "/api/merge": {"rank": "{key}", "lanes": [0, 1]}, "/api/names": {"rank": "{key}", "names": [0, 1]}, "/api/load": {"all": True},
    "/api/open": {"path": "nowhere"}, "/api/upload": {"no": "name"}, "/api/close": {"cluster": 1000},
    "/api/simulate": {"schedule": "1f1b", "stages": 2, "microbatches": 2},
}


def ask(server, method, path, key):
    """(status, body); status 0: the connection was closed."""
    try:
        if method == "GET":
            reply = server.get(path + ASKS[path].replace("{key}", urllib.parse.quote(key)))
        else:
            reply = server.post(path, json.loads(json.dumps(BODIES[path]).replace("{key}", key)))
        return reply.status, reply.body
    except (OSError, http.client.HTTPException):
        return 0, b""


def ask_all(server):
    """The replies by route, and what could not be read, as the session and the ranks say."""
    for _ in range(3):  # one of them may be what fails
        try:
            ranks = server.wait_for(["ready", "failed"])
            reply = server.get("/api/session")
            assert reply.status == 200, reply
            session = reply.json()
            break
        except (OSError, http.client.HTTPException, AssertionError):
            ranks = []
    if not ranks:
        return {}, ["/api/ranks or /api/session is not answered"]
    oddities = [str(o) for cluster in session["clusters"] for o in cluster["oddities"]]
    replies = {(method, path): ask(server, method, path, ranks[0]["key"]) for method, path in serving.routes()}
    return replies, oddities + [r["error"] for r in ranks if r["state"] == "failed"]


class Run:
    def __init__(self, capture, environment):
        self.first, self.second, self.failed, self.begins = {}, {}, [], True
        try:
            with serving.Server(capture, args=["-j", "1"], env={**os.environ, **environment}) as server:
                self.first, self.failed = ask_all(server)
                self.second, failed = ask_all(server)
                self.failed += failed
                self.status = server.stop()
                self.errors = server.messages()
        except AssertionError as error:
            self.begins, self.status, self.errors = False, 1, str(error).replace("no address: ''", "").strip()


def n_told(body):
    """How much a reply says of what it lacks: notes, and rows of the table of that."""
    reply = json.loads(body)
    return len(reply.get("notes", [])) + sum(len(t["rows"]) for t in reply.get("tables", []) if t["name"].endswith("lacks"))


def is_told(reply, whole):
    try:
        return n_told(reply) > n_told(whole)
    except (ValueError, AttributeError, KeyError, TypeError):
        return False


def other_content(body, whole):
    at = len(os.path.commonprefix([body, whole]))
    begin = max(0, at - 40)
    return "other content at byte %d: %r instead of %r" % (at, body[begin : at + 80], whole[begin : at + 80])


def fault_of_reply(route, reply, whole, failed, is_second):
    (status, body), (whole_status, whole_body) = reply, whole
    if (status, body) == (whole_status, whole_body) or (route[1] in CHANGES and status == whole_status):
        return None
    if status == whole_status == 200:
        return None if failed or is_told(body, whole_body) else other_content(body, whole_body)
    if is_second and not failed:
        return "status %d, the second time too: %s" % (status, body[:120])
    if status != 0 and b'"error"' not in body:
        return "status %d without a sentence" % status
    return None


def fault_of(run, whole):
    if not run.begins or (run.status == 1 and not run.first):
        return None if run.errors else "does not begin, without a word"
    if run.status != 0:
        return "ended with %s: %s" % (run.status, run.errors.strip()[-200:])
    if any(not reason for reason in run.failed):
        return "a rank failed without a reason"
    for replies, is_second in ((run.first, False), (run.second, True)):
        for route, reply in replies.items():
            # A route that was answered at first had its call fail the second time: it is asked once with the fault, too.
            was_wrong = run.first.get(route) != whole.first.get(route)
            fault = fault_of_reply(route, reply, whole.second[route], run.failed, is_second and was_wrong)
            if fault:
                return "%s %s: %s" % (*route, fault)
    return None
