"""A real cluster of 3 primaries and 3 replicas under load: slots move, and a primary is killed and restarted."""

import json
import subprocess
import threading
import time
from collections import deque

import pytest
import redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.crc import key_slot
from redis.retry import Retry

from conftest import LATELY, Server, eventually, free_port, items
from shards import by_shard, shard_key, shard_of

# What the client raises while slots move or a server is down. RedisClusterException is not a RedisError.
UNREACHABLE = (redis.exceptions.RedisError, redis.exceptions.RedisClusterException)
SHARDS = 12
WINDOW = 20_000
# Number of slots that move back. Few slots move, so that each move takes only seconds.
LOW = 100


def slots_of(name):
    return [key_slot(shard_key(name, shard).encode()) for shard in range(SHARDS)]


def is_handy(name):
    """Returns true if exactly one of its shards moves, there and back, and every primary has at least 3 shards."""
    slots = slots_of(name)
    by_primary = [sum(slot * 3 // 16384 == primary for slot in slots) for primary in range(3)]
    return sum(slot < 200 for slot in slots) == 1 and min(slots) < LOW and 3 <= min(by_primary)


NAME = next(filter(is_handy, map("seen{}".format, range(10_000))))


def cli(port, *arguments):
    done = subprocess.run(["redis-cli", "-p", str(port), *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Cluster:
    def __init__(self, kind, directory):
        # On a busy machine, a server may answer late, and a replica may need several votes to take over.
        options = ("--cluster-enabled", "yes", "--cluster-node-timeout", 5000, "--cluster-replica-validity-factor", 0,
                   "--appendonly", "no", "--cluster-allow-replica-migration", "no")
        self.servers = [Server(kind, directory / f"node{number}", *options) for number in range(6)]

    def start(self):
        for server in self.servers:
            server.start(wait=False)
        for server in self.servers:
            server.wait_until_ready()
        addresses = [f"127.0.0.1:{server.port}" for server in self.servers]
        cli(self.servers[0].port, "--cluster", "create", *addresses, "--cluster-replicas", 1, "--cluster-yes")
        eventually(lambda: all(self.is_whole(server) for server in self.servers), seconds=120)

    @staticmethod
    def is_whole(server):
        """Returns true if the server has its partner: a primary its one replica, or a replica its primary."""
        if b"cluster_state:ok" not in server.client.execute_command("CLUSTER", "INFO"):
            return False
        replication = server.client.info("replication")
        if replication["role"] == "slave":
            return replication["master_link_status"] == "up"
        return replication["connected_slaves"] == 1 and replication["slave0"]["state"] == "online"

    def connect(self):
        nodes = [ClusterNode("127.0.0.1", server.port) for server in self.servers if server.process.poll() is None]
        return RedisCluster(startup_nodes=nodes, retry=Retry(NoBackoff(), 0))

    def primaries(self):
        return [server for server in self.servers
                if server.process.poll() is None and server.client.info("replication")["role"] == "master"]

    def owner(self, key):
        slot = self.servers[0].client.execute_command("CLUSTER", "KEYSLOT", key)
        for server in self.primaries():
            if server.client.execute_command("CLUSTER", "COUNTKEYSINSLOT", slot):
                return server
        raise AssertionError(f"no primary has {key}")

    def owner_of_slot(self, slot):
        replies = self.servers[0].connect(protocol=2).connection_pool.get_connection()
        replies.send_command("CLUSTER", "SLOTS")
        port = next(owner[1] for start, end, owner, *_ in replies.read_response() if start <= slot <= end)
        return next(server for server in self.servers if server.port == port)

    def reshard(self, source, target, slots):
        """Moves the source's lowest slots."""
        cli(source.port, "--cluster", "reshard", f"127.0.0.1:{source.port}", "--cluster-from", self.node_id(source),
            "--cluster-to", self.node_id(target), "--cluster-slots", slots, "--cluster-yes")

    def node_id(self, server):
        return server.client.execute_command("CLUSTER", "MYID").decode()

    def stop(self):
        # Pytest shows what a test prints only if the test fails.
        for server in self.servers:
            if server.process:
                print(server.describe(), end="\n\n")
        crashed = [server.log() for server in self.servers if server.has_crashed()]
        for server in self.servers:
            server.stop("kill")
        assert not crashed, crashed[0]


@pytest.fixture
def cluster(kind, tmp_path):
    cluster = Cluster(kind, tmp_path)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


class Load:
    """Adds numbered items to the sharded window, and retries until a replica has acknowledged each."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.client = cluster.connect()
        self.acknowledged = deque()
        self.attempts = [0] * SHARDS
        # For each item: its shard, and the attempts at that shard when the item was acknowledged.
        self.placed = {}
        self.retries = 0
        self.replicas = 1
        self.last_error = None
        self.stopping = threading.Event()
        self.failure = None
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()
        if self.failure:
            raise self.failure

    def run(self):
        try:
            number = 0
            while not self.stopping.is_set():
                batch = items(number, 200)
                for shard, some in by_shard(batch, SHARDS).items():
                    self.add(shard, some)
                number += len(batch)
        except BaseException as failure:
            self.failure = failure

    def add(self, shard, some):
        key, deadline = shard_key(NAME, shard), time.monotonic() + 120
        while True:
            assert time.monotonic() < deadline, f"{key} cannot be written: {self.last_error!r}"
            # The server may have executed an attempt that failed, so it counts against the window.
            self.attempts[shard] += len(some)
            if self.attempt(key, some):
                break
            self.retries += 1
            time.sleep(0.05)
        for item in some:
            self.placed[item] = (shard, self.attempts[shard])
        self.acknowledged.extend(some)

    def attempt(self, key, some, node=None, asking=False):
        """Adds the items. Returns true if they are on a primary and, while it has one, on its replica."""
        try:
            node = node or self.client.get_node_from_key(key)
            # Use one connection: WAIT is about the writes of its own connection.
            pipeline = redis.Redis(host=node.host, port=node.port).pipeline(transaction=False)
            if asking:
                pipeline.execute_command("ASKING")
            pipeline.execute_command("APBF.MADD", key, *some)
            pipeline.execute_command("WAIT", self.replicas, 2000)
            replies = pipeline.execute(raise_on_error=False)
            added = replies[1 if asking else 0]
            if isinstance(added, redis.exceptions.AskError):
                target = ClusterNode(added.host, added.port)
                return self.attempt(key, some, target, asking=True)
            acknowledged = replies[-1]
            for reply in (added, acknowledged):
                if isinstance(reply, Exception):
                    raise reply
            if acknowledged < self.replicas:
                self.last_error = f"{acknowledged} replicas of {node.name} have acknowledged, not {self.replicas}"
            return acknowledged >= self.replicas
        except UNREACHABLE as error:
            self.last_error = error
            try:
                self.client = self.cluster.connect()
            except UNREACHABLE:
                pass
            return False

    def wait_for(self, count):
        target = len(self.acknowledged) + count
        eventually(lambda: len(self.acknowledged) >= target or self.failure, seconds=120)
        if self.failure:
            raise self.failure

    def window(self, shard_window):
        """Returns the last acknowledged items, and those of them that must be reported: not too many inserts can have
        followed them in their shard."""
        last = list(self.acknowledged)[-WINDOW:]
        certain = [item for item in last
                   if self.attempts[self.placed[item][0]] - self.placed[item][1] < shard_window - 1000]
        return last, certain


def shard_window():
    planned = subprocess.run([LATELY, "plan", "--window", str(WINDOW), "--fp", "1e-6", "--shards", str(SHARDS), "--json"],
                             capture_output=True, text=True, check=True).stdout
    return json.loads(planned)["shard_window"]


def test_one_window_over_the_cluster_through_resharding_and_failover(cluster):
    client, window = cluster.connect(), shard_window()
    for shard in range(SHARDS):
        # Room for the items that a failed attempt may add.
        client.execute_command("APBF.RESERVE", shard_key(NAME, shard), 1e-6, window + 1000)
    owners = {cluster.owner(shard_key(NAME, shard)).port for shard in range(SHARDS)}
    assert len(owners) == 3, "a primary has no shards"

    with Load(cluster) as load:
        load.wait_for(WINDOW)

        # While items come in, move slots, one of which holds a filter. Then move some of them back.
        source, target = cluster.owner_of_slot(0), cluster.owner_of_slot(16383)
        before = source.client.dbsize()
        cluster.reshard(source, target, 200)
        eventually(lambda: source.client.dbsize() < before)
        load.wait_for(2000)
        cluster.reshard(target, source, LOW)
        eventually(lambda: source.client.dbsize() == before)
        load.wait_for(2000)

        # Kill -9 the primary with the most shards.
        victim = max(cluster.primaries(), key=lambda server: server.client.dbsize())
        held = victim.client.dbsize()
        acknowledged = list(load.acknowledged)[-1000:]
        victim.kill()
        # Its replica takes over. The new primary has no replica.
        load.replicas = 0
        eventually(lambda: len(cluster.primaries()) == 3, seconds=120)
        load.wait_for(2000)
        survivors = cluster.connect()
        spread = by_shard(acknowledged, SHARDS)
        for shard, some in spread.items():
            assert all(survivors.execute_command("APBF.MEXISTS", shard_key(NAME, shard), *some)), "lost by the failover"

        # The killed server comes back as a replica of the new primary.
        victim.start()
        eventually(lambda: victim.client.info("replication")["role"] == "slave"
                   and victim.client.info("replication")["master_link_status"] == "up", seconds=120)
        load.replicas = 1
        load.wait_for(2000)

    assert held > 0 and load.retries > 0, "no write failed during the failover"
    last, certain = load.window(window + 1000)
    print(f"{load.retries} retries, {len(load.acknowledged)} items acknowledged, {len(certain)} of the last {len(last)} certain")
    assert len(last) == WINDOW and len(certain) > 0.95 * WINDOW
    client = cluster.connect()
    for shard, some in by_shard(certain, SHARDS).items():
        assert all(client.execute_command("APBF.MEXISTS", shard_key(NAME, shard), *some)), f"shard {shard} has forgotten"
    # Primaries and replicas hold the same bits.
    for server in cluster.servers:
        replication = server.client.info("replication")
        if replication["role"] == "slave":
            primary = next(other for other in cluster.servers if other.port == replication["master_port"])
            eventually(lambda: primary.client.info("replication")["master_repl_offset"]
                       == server.client.info("replication")["slave_repl_offset"])
            assert primary.client.execute_command("DEBUG", "DIGEST") == server.client.execute_command("DEBUG", "DIGEST")


def test_shards_share_the_work_evenly(cluster):
    """Each primary does its share of the inserts, and the whole window is kept."""
    client, window, count = cluster.connect(), shard_window(), 2 * WINDOW
    for shard in range(SHARDS):
        client.execute_command("APBF.RESERVE", shard_key(NAME, shard), 1e-6, window)
    for first in range(0, count, 4000):
        for shard, some in by_shard(items(first, 4000), SHARDS).items():
            assert client.execute_command("APBF.MADD", shard_key(NAME, shard), *some) == [1] * len(some)
    for shard, some in by_shard(items(count - WINDOW, WINDOW), SHARDS).items():
        assert client.execute_command("APBF.MEXISTS", shard_key(NAME, shard), *some) == [1] * len(some)
    for server in cluster.primaries():
        section = server.client.info("apbf")
        shards, inserts = section["apbf_keys"], section["apbf_inserts"]
        expected = count * shards / SHARDS
        # Binomial distribution: allow six standard deviations.
        assert abs(inserts - expected) < 6 * (expected * (1 - shards / SHARDS)) ** 0.5, (shards, inserts)
        assert shards >= 3


def test_time_windows_move_between_nodes(cluster):
    client = cluster.connect()
    client.execute_command("APBF.RESERVE", "t", 1e-6, 1000, "SPAN", 3_600_000)
    client.execute_command("APBF.MADD", "t", *items(0, 500))
    # In the same slot: an elastic one that has grown.
    client.execute_command("APBF.RESERVE", "{t}grown", 1e-6, 0, "SPAN", 3_600_000)
    client.execute_command("APBF.MADD", "{t}grown", *items(0, 50_000))
    source = cluster.owner("t")
    digests = {key: source.digest(key) for key in ("t", "{t}grown")}
    target = next(server for server in cluster.primaries() if server is not source)
    slot = client.keyslot("t")
    if "MIGRATESLOTS" in str(source.client.execute_command("CLUSTER", "HELP")):
        # Valkey's newer way: all keys of a slot move at once.
        source.client.execute_command("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", cluster.node_id(target))
    else:
        for server, state, other in ((target, "IMPORTING", source), (source, "MIGRATING", target)):
            server.client.execute_command("CLUSTER", "SETSLOT", slot, state, cluster.node_id(other))
        source.client.execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *digests)
        for server in (target, source):
            server.client.execute_command("CLUSTER", "SETSLOT", slot, "NODE", cluster.node_id(target))
    eventually(lambda: target.client.execute_command("CLUSTER", "COUNTKEYSINSLOT", slot) == 2
               and cluster.owner("t") is target, seconds=120)
    assert {key: target.digest(key) for key in digests} == digests
    client = cluster.connect()
    assert all(client.execute_command("APBF.MEXISTS", "{t}grown", *items(0, 50_000)))
    assert client.execute_command("APBF.MADDNX", "t", *items(0, 501)) == [0] * 500 + [1]


def test_the_shard_of_an_item_is_as_documented():
    assert [shard_of(item, 12) for item in ("", "order-17", "item-0")] == [shard_of(item.encode(), 12) for item in ("", "order-17", "item-0")]
    assert shard_key("seen", 3) == "{seen:3}"
    assert set(by_shard(items(0, 1000), 7)) == set(range(7))


def test_servers_that_have_not_started_have_different_ports():
    assert len({free_port() for _ in range(100)}) == 100
