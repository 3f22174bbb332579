"""pipescope.sync(): how far the clock of this rank's machine lies from that of rank 0's.

A collective call: every rank makes it, as often and in the same order as the others. It takes a few milliseconds, changes no time
and waits for the others as a barrier does, so nothing here calls it unless it was asked for.

    rank r -> store   which machine it runs on
    rank 0 -> store   the plan: for each rank the one that measures for its machine, and where rank 0 listens
    those that measure exchange messages with rank 0, one machine after the other:

        rank r    t0 ---------->          t3
        rank 0          t1 -> t2 --------->

    and store what they found, for the other ranks of their machine

A message cannot arrive before it was sent, so clock(r) - clock(0) lies between t0 - t1 and t3 - t2. All round trips but the
slowest tenth together give an interval: its middle is the offset, half its width the uncertainty, whatever the ways back and
forth take. The messages go over a connection of their own, over the store where none can be made.

Ranks of rank 0's machine (by the kernel's boot id, which containers share) have its clock: offset 0.
"""
import binascii
import collections
import datetime
import json
import os
import socket
import struct
import threading
import time
import urllib.parse

from pipescope import _groups, _library, _say

REFERENCE = 0
SLOWEST = 0.1  # of the round trips, left out
ROUNDS, STORE_ROUNDS = 64, 16
CONNECT_S = 2.0  # for one address
LAST_PATIENCE_S = 10  # at the end of a profile
_SIZES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")
_STAMPS = struct.Struct("<qq")

ClockOffset = collections.namedtuple("ClockOffset", "offset_ns uncertainty_ns drift_ppm method reference at_ns")
ClockOffset.__doc__ = """What sync() found: clock here less clock of rank `reference`, at `at_ns` (Unix time here); the truth differs by at
most `uncertainty_ns`. `drift_ppm`: against the first call of this process, None in that. `method`: "exchange", "store" (an exchange
over the store), "same_host", or "reference" on that rank itself."""

_rounds = collections.Counter()  # calls by store
_first = None  # ClockOffset of the first call
_old_keys = collections.defaultdict(list)  # of rank 0, by store


def _machine():
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return socket.gethostname()


# --- stores ------------------------------------------------------------------------------------------------------------

class FolderStore:
    """set, get and wait over a folder that all ranks see, for programs without torch.distributed. The folder must be one of this
    run alone: what an earlier run left there would be taken for this one's."""

    def __init__(self, folder, timeout_s=300):
        self.folder, self.timeout_s = os.fspath(folder), timeout_s
        os.makedirs(self.folder, exist_ok=True)

    def _path(self, key):
        return os.path.join(self.folder, urllib.parse.quote(key, safe=""))

    def set(self, key, value):
        path = self._path(key)
        with open("%s.%d.tmp" % (path, os.getpid()), "wb") as file:
            file.write(value if isinstance(value, bytes) else value.encode())
        os.replace(file.name, path)

    def wait(self, keys, timeout=None):
        """timeout: a timedelta."""
        until = time.monotonic() + (self.timeout_s if timeout is None else timeout.total_seconds())
        pause = 0.0005
        for key in keys:
            while not os.path.exists(self._path(key)):
                if time.monotonic() > until:
                    raise TimeoutError("nobody has set %s in %s" % (key, self.folder))
                time.sleep(pause)
                pause = min(2 * pause, 0.02)

    def get(self, key):
        self.wait([key])
        with open(self._path(key), "rb") as file:
            return file.read()

    def delete_key(self, key):
        try:
            os.remove(self._path(key))
            return True
        except OSError:
            return False


def _number(names, what):
    for name in names:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    raise ValueError("sync() does not know the %s: give it as an argument, or set %s" % (what, names[0]))


def _settle(store, rank, world_size):
    """The store, the rank and the number of ranks."""
    distributed = _groups._distributed()
    if store is None:
        if distributed is None:
            raise ValueError("sync() needs torch.distributed to be initialised, or a store (pipescope.FolderStore)")
        store = distributed.distributed_c10d._get_default_store()
    if rank is None:
        rank = distributed.get_rank() if distributed is not None else _number(_groups.RANK_VARIABLES, "rank")
    if world_size is None:
        world_size = distributed.get_world_size() if distributed is not None else _number(_SIZES, "number of ranks")
    if not 0 <= rank < world_size:
        raise ValueError("rank %d of %d" % (rank, world_size))
    return store, rank, world_size


class _Keys:
    """The store during one call: keys of this call, and one deadline for all that is waited for."""

    def __init__(self, store, prefix, timeout_s):
        self.store, self.prefix = store, prefix
        self.deadline = time.monotonic() + timeout_s
        self.used = []

    def left_s(self):
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the other ranks did not come")
        return left

    def set(self, key, value):
        self.used.append(self.prefix + key)
        self.store.set(self.prefix + key, value)

    def get(self, key):
        self.used.append(self.prefix + key)
        if hasattr(self.store, "wait"):
            self.store.wait([self.prefix + key], datetime.timedelta(seconds=self.left_s()))
        value = self.store.get(self.prefix + key)
        return value if isinstance(value, bytes) else str(value).encode()

    def json(self, key):
        return json.loads(self.get(key).decode())


def _forget_old(store, name, used):
    """Keys of the call before the last: nobody can be reading them any more."""
    for key in _old_keys[name]:
        try:
            store.delete_key(key)
        except Exception:  # not every store can
            break
    _old_keys[name] = used


# --- measuring ---------------------------------------------------------------------------------------------------------

def estimate(trips):
    """(offset, uncertainty, moment) of round trips (t0, t1, t2, t3)."""
    if not trips:
        raise ValueError("no round trip came through")
    by_length = sorted(trips, key=lambda t: (t[3] - t[0]) - (t[2] - t[1]))
    kept = by_length[:max(1, len(trips) - round(len(trips) * SLOWEST))]
    low, high = max(t[0] - t[1] for t in kept), min(t[3] - t[2] for t in kept)
    best = kept[0]
    if low > high:  # a clock was set meanwhile: one trip says what was so then
        low, high = best[0] - best[1], best[3] - best[2]
    middle = (low + high) // 2
    return middle, max(high - middle, middle - low), (best[0] + best[3]) // 2


def _receive(connection, n):
    data = b""
    while len(data) < n:
        part = connection.recv(n - len(data))
        if not part:
            return None
        data += part
    return data


def _addresses():
    """Where rank 0 may be reached, the likely ones first."""
    found = []

    def add(address):
        if address and address not in found:
            found.append(address)

    add(os.environ.get("MASTER_ADDR"))
    for family, far in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:  # nothing is sent: which interface would be taken
                probe.connect((far, 9))
                add(probe.getsockname()[0])
        except OSError:
            pass
    add(socket.gethostname())
    try:
        for entry in socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM):
            add(entry[4][0])
    except OSError:
        pass
    add("127.0.0.1")
    return found[:8]


def _listen():
    """A socket of all interfaces, IPv4 too; None when there is none."""
    for family, address in ((socket.AF_INET6, "::"), (socket.AF_INET, "0.0.0.0")):
        server = None
        try:
            server = socket.socket(family, socket.SOCK_STREAM)
            if family == socket.AF_INET6:
                server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            server.bind((address, 0))
            server.listen(128)
            return server
        except OSError:
            if server is not None:
                server.close()
    return None


def _random():
    return binascii.hexlify(os.urandom(16)).decode()


# --- rank 0 --------------------------------------------------------------------------------------------------------------

class _Door(threading.Thread):
    """Takes connections while rank 0 is busy with one: who knocks must know in time whether somebody is there."""

    def __init__(self, server):
        super().__init__(name="pipescope-clock", daemon=True)
        self.server, self.ask, self.answer = server, _random(), _random()
        self._inside = {}  # connections by rank
        self._came = threading.Condition()
        self._is_open = True

    def run(self):
        while self._is_open:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return  # closed
            try:
                self._let_in(connection)
            except (OSError, ValueError):
                connection.close()

    def _let_in(self, connection):
        connection.settimeout(CONNECT_S)
        hello = _receive(connection, 40)
        if hello is None or hello[:32] != self.ask.encode():
            connection.close()  # somebody else's
            return
        connection.sendall(self.answer.encode())
        with self._came:
            self._inside[int(hello[32:])] = connection
            self._came.notify_all()

    def connection_of(self, rank, keys):
        with self._came:
            if not self._came.wait_for(lambda: rank in self._inside, keys.left_s()):
                raise TimeoutError("rank %d did not come" % rank)
            return self._inside.pop(rank)

    def close(self):
        self._is_open = False
        try:
            self.server.shutdown(socket.SHUT_RDWR)  # ends the accept that waits
        except OSError:
            pass
        self.server.close()
        if self.ident is not None:
            self.join()
        for connection in self._inside.values():
            connection.close()


def _serve(connection, keys):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.settimeout(keys.left_s())
    with connection:
        while connection.recv(1):
            came = time.time_ns()
            connection.sendall(_STAMPS.pack(came, time.time_ns()))


def _serve_store(rank, keys):
    for i in range(STORE_ROUNDS):
        keys.get("ping/%d/%d" % (rank, i))
        came = time.time_ns()
        keys.set("pong/%d/%d" % (rank, i), "%d %d" % (came, time.time_ns()))


def _be_reference(keys, world_size):
    machines = [_machine()] + [keys.json("machine/%d" % r) for r in range(1, world_size)]
    measures = [machines.index(machine) for machine in machines]
    others = sorted(set(measures) - {REFERENCE})
    server = _listen() if others else None
    door = _Door(server) if server else None
    plan = {"measures": measures, "addresses": []}
    if door:
        plan.update(addresses=_addresses(), port=server.getsockname()[1], ask=door.ask, answer=door.answer)
    try:
        if door:
            door.start()
        keys.set("plan", json.dumps(plan))
        for rank in others:
            if keys.get("way/%d" % rank) == b"exchange":
                _serve(door.connection_of(rank, keys), keys)
            else:
                _serve_store(rank, keys)
            keys.get("found/%d" % rank)
    finally:
        if door:
            door.close()
    return 0, 0, time.time_ns(), "reference"


# --- the others ----------------------------------------------------------------------------------------------------------

def _connect(plan, rank, keys):
    """A connection to rank 0, None when there is no way."""
    for address in plan["addresses"]:
        connection = None
        try:
            connection = socket.create_connection((address, plan["port"]), min(CONNECT_S, keys.left_s()))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(plan["ask"].encode() + b"%8d" % rank)
            if _receive(connection, 32) == plan["answer"].encode():
                return connection
        except OSError:
            pass
        if connection is not None:
            connection.close()
    return None


def _exchange(connection, rounds, keys):
    trips = []
    connection.settimeout(keys.left_s())
    with connection:
        for _ in range(rounds):
            sent = time.time_ns()
            connection.sendall(b"?")
            answer = _receive(connection, _STAMPS.size)
            came = time.time_ns()
            if answer is None:
                break
            trips.append((sent, *_STAMPS.unpack(answer), came))
    return trips


def _exchange_store(rank, keys):
    trips = []
    for i in range(STORE_ROUNDS):
        sent = time.time_ns()
        keys.set("ping/%d/%d" % (rank, i), "?")
        answer = keys.get("pong/%d/%d" % (rank, i))
        came = time.time_ns()
        trips.append((sent, *(int(n) for n in answer.split()), came))
    return trips


def _measure(plan, rank, rounds, keys):
    connection = _connect(plan, rank, keys)
    method = "exchange" if connection is not None else "store"
    keys.set("way/%d" % rank, method)
    trips = _exchange(connection, rounds, keys) if connection is not None else _exchange_store(rank, keys)
    found = estimate(trips) + (method,)
    keys.set("found/%d" % rank, json.dumps(found))
    return found


def _be_other(keys, rank, rounds):
    keys.set("machine/%d" % rank, json.dumps(_machine()))
    plan = keys.json("plan")
    measures = plan["measures"][rank]
    if measures == REFERENCE:
        return 0, 0, time.time_ns(), "same_host"
    if measures == rank:
        return _measure(plan, rank, rounds, keys)
    return tuple(keys.json("found/%d" % measures))


# --- the call --------------------------------------------------------------------------------------------------------------

def _note(found):
    """Into the recording."""
    lib = _library.functions()
    tell = getattr(lib, "clock_offset", None)
    if tell is not None:
        code = tell(REFERENCE, found.at_ns, found.offset_ns, found.uncertainty_ns, found.method.encode())
        if code != _library.OK:
            _say.warn_once(("clock", code), "the offset of the clock was not noted: %s", _library.error_text(code))


def _with_drift(offset, uncertainty, at, method):
    global _first
    found = ClockOffset(offset, uncertainty, None, method, REFERENCE, at)
    if _first is None:
        _first = found
    elif at - _first.at_ns >= 1000000:
        found = found._replace(drift_ppm=(offset - _first.offset_ns) / (at - _first.at_ns) * 1e6)
    return found


def sync(store=None, *, rank=None, world_size=None, rounds=ROUNDS, timeout_s=60):
    """Measures how far the clock of this machine lies from that of rank 0's, and notes it in the recording (META_DATA collector.clock),
    for analyses that read the ranks together. Every rank must call it, after start; again before stop it tells the drift too.

    store: of torch.distributed, or anything with set, get and wait as its stores have them; None for the default one.
    rank, world_size: None for those of torch.distributed, else of the environment.
    Returns a ClockOffset; None when it could not be measured, which is said. Never raises."""
    try:
        store, rank, world_size = _settle(store, rank, world_size)
        name = getattr(store, "folder", "") or type(store).__name__
        keys = _Keys(store, "pipescope/clock/%d/" % _rounds[name], timeout_s)
        _rounds[name] += 1
        if rank == REFERENCE:
            found = _be_reference(keys, world_size)
            _forget_old(store, name, keys.used)
        else:
            found = _be_other(keys, rank, max(1, int(rounds)))
        found = _with_drift(*found)
        _note(found)
        return found
    except Exception as error:
        _say.warn_once(("sync", type(error)), "the clocks were not compared: %s: %s", type(error).__name__, error)
        return None
