"""Writes under faults, and what must be left of them."""

import contextlib
import random
import signal
import threading
import time

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from conftest import Server, eventually, items

# Items of the window of `last`. No run adds as many to the other two.
WINDOW = 20_000
KEYS = {"all": (1e-9, 1_000_000), "last": (1e-9, WINDOW), "time": (1e-9, 0, "SPAN", 3_600_000)}
BATCH = 50


def create(client):
    for key, promise in KEYS.items():
        client.execute_command("APBF.RESERVE", key, *promise)


class Writer:
    """Adds new items in a thread, to the primary that `find` names, and remembers which of them a primary and one replica
    have acknowledged."""

    def __init__(self, find, replicas=1):
        self.find = find
        self.replicas = replicas
        self.sent = 0
        # The first item of each batch that was acknowledged.
        self.acknowledged = []
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()

    def run(self):
        while not self.stopping.is_set():
            first, self.sent = self.sent, self.sent + BATCH
            try:
                if self.add(items(first, BATCH)):
                    self.acknowledged.append(first)
            except redis.RedisError:
                time.sleep(0.02)

    def add(self, some):
        """Returns true if enough replicas have acknowledged the items. They may be there if not, too."""
        with redis.Redis(port=self.find(), socket_timeout=1, retry=Retry(NoBackoff(), 0)) as client:
            pipeline = client.pipeline(transaction=False)
            for key in KEYS:
                pipeline.execute_command("APBF.MADD", key, *some)
            pipeline.execute_command("WAIT", self.replicas, 500)
            return pipeline.execute()[-1] >= self.replicas

    def wait_for(self, batches):
        target = len(self.acknowledged) + batches
        eventually(lambda: len(self.acknowledged) >= target)

    def check(self, client):
        """Everything that was acknowledged is in the windows, and nothing that was never sent."""
        assert self.sent + BATCH < KEYS["all"][1]
        for first in self.acknowledged:
            some = items(first, BATCH)
            for key in KEYS:
                # Every item that was sent may have been added.
                if key == "last" and self.sent - first > WINDOW:
                    continue
                found = client.execute_command("APBF.MEXISTS", key, *some)
                assert all(found), f"{key} has lost {some[found.index(0)]} of {self.sent} items"
        for key in KEYS:
            assert not any(client.execute_command("APBF.MEXISTS", key, *items(self.sent, 1000)))

    def lost(self, client):
        """The number of items that were not acknowledged and are not there."""
        kept = set(self.acknowledged)
        others = (first for first in range(0, self.sent, BATCH) if first not in kept)
        return sum(client.execute_command("APBF.MEXISTS", "all", *items(first, BATCH)).count(0) for first in others)


class Sentinel(Server):
    """Watches a primary, and makes its replica the primary when it is away for a second."""

    def __init__(self, kind, directory, primary):
        super().__init__(kind, directory)
        self.primary = primary

    def start(self, wait=True):
        self.file = self.directory / "sentinel.conf"
        if not self.file.exists():
            self.file.write_text("\n".join([
                f"port {self.port}", "bind 127.0.0.1", f"dir {self.directory}", f"logfile {self.directory / 'log'}",
                f"sentinel monitor pair 127.0.0.1 {self.primary.port} 2", "sentinel down-after-milliseconds pair 1000",
                "sentinel failover-timeout pair 2000", ""]))
        return self.run([self.file, "--sentinel"], wait)

    def primary_port(self):
        return int(self.client.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "pair")[1])


class Pair:
    """A primary and its replica, which three sentinels exchange."""

    def __init__(self, kind, directory):
        options = ("--appendonly", "yes", "--repl-timeout", 5, "--repl-ping-replica-period", 1)
        self.servers = [Server(kind, directory / f"server{number}", *options) for number in range(2)]
        self.sentinels = [Sentinel(kind, directory / f"sentinel{number}", self.servers[0]) for number in range(3)]

    def __enter__(self):
        for server in self.servers:
            server.start()
        self.servers[1].client.replicaof("127.0.0.1", self.servers[0].port)
        for sentinel in self.sentinels:
            sentinel.start()
        eventually(self.is_whole)
        return self

    def __exit__(self, *_):
        for server in (*self.servers, *self.sentinels):
            server.stop("kill")

    def is_whole(self):
        """Returns true if all sentinels know each other and agree on a primary that has a replica."""
        try:
            ports = {sentinel.primary_port() for sentinel in self.sentinels}
            known = [dict(zip(state[::2], state[1::2])) if isinstance(state, list) else state for state in (
                sentinel.client.execute_command("SENTINEL", "MASTER", "pair") for sentinel in self.sentinels)]
            replication = self.server(ports.pop()).client.info("replication")
            return not ports and replication["role"] == "master" and replication["connected_slaves"] == 1 \
                and replication["slave0"]["state"] == "online" \
                and all(int(state.get(b"num-other-sentinels") or state["num-other-sentinels"]) == 2 for state in known)
        except (redis.RedisError, StopIteration, KeyError):
            return False

    def server(self, port):
        return next(server for server in self.servers if server.port == port)

    def primary_port(self):
        """Asks the sentinels for the primary, as clients do."""
        for sentinel in random.sample(self.sentinels, 3):
            try:
                with sentinel.connect(socket_timeout=0.5) as client:
                    return int(client.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "pair")[1])
            except redis.RedisError:
                pass
        raise redis.ConnectionError("no sentinel answers")

    def switches(self):
        return max(sentinel.log().count("+switch-master pair") for sentinel in self.sentinels)


@contextlib.contextmanager
def stopped(server):
    """Cuts a server off: it keeps its connections, and neither reads nor writes."""
    server.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.process.send_signal(signal.SIGCONT)
