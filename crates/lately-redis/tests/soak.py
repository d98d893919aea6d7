#!/usr/bin/env python3
"""Works on a server with a replica in every way for a while, and prints how much memory it takes.

    crates/lately-redis/tests/soak.py [minutes] [redis|valkey]

Each round makes filters of every kind and size, fills, ages, copies, saves and drops them, and ends with the same keys as
the round before. Fails if memory grows from round to round, or if the replica differs."""

import pathlib
import random
import sys
import tempfile
import time

import redis

from conftest import Server, eventually, items
from test_replication import caught_up, follow

# What stays from round to round.
LASTING = {
    "count": (1e-3, 200_000), "rows": (1e-3, 100_000, "LAYOUT", "ROWS"), "slices": (1e-3, 20_000, "LAYOUT", "SLICES"),
    "blocks": (1e-3, 20_000, "LAYOUT", "BLOCKS"), "time": (1e-3, 100_000, "SPAN", 2_000), "elastic": (1e-3, 0, "SPAN", 2_000),
}
# How much more the last rounds may take than the first: buffers of clients, and what the allocator rounds.
MOST_GROWTH = 1 << 20


def work(client, chosen, numbers):
    """A round."""
    pipeline = client.pipeline(transaction=False)
    small = [f"small-{number}" for number in range(500)]
    for key in small:
        pipeline.execute_command("APBF.RESERVE", key, 0.01, chosen.randrange(1, 3_000), *chosen.choice(((), ("SPAN", 1_000))))
    pipeline.execute()
    for _ in range(300):
        key = chosen.choice((*LASTING, chosen.choice(small)))
        command = chosen.choice(("APBF.MADD", "APBF.MADDNX", "APBF.MEXISTS"))
        # Bursts make the elastic window grow; it shrinks when they have left it.
        count = 10_000 if key == "elastic" and chosen.random() < 0.3 else 200
        first = chosen.randrange(next(numbers) * 1_000 + 1)
        client.execute_command(command, key, *items(first, count))
    for key in LASTING:
        client.copy(key, f"{key}-copy")
        client.restore(f"{key}-restored", 0, client.dump(key))
        cursor = 0
        while True:
            following, piece = client.execute_command("APBF.SNAPSHOT", f"{key}-copy", "CURSOR", cursor)
            client.execute_command("APBF.LOAD", f"{key}-loaded", "CURSOR", cursor, piece)
            if (cursor := following) == 0:
                break
    for command in (("APBF.LOAD", "bad", "nothing"), ("APBF.RESERVE", "bad", 0.01, 0), ("APBF.ADD", "text", "item")):
        client.set("text", "x")
        try:
            client.execute_command(*command)
        except redis.ResponseError:
            pass
    client.eval("for i = 1, 100 do redis.call('APBF.ADD', KEYS[1], ARGV[1] .. i) end", 1, "count", "script")
    client.execute_command("DEBUG", "RELOAD")
    left = [key for key in client.keys() if key.decode() not in LASTING]
    client.unlink(*left)


def settled(client):
    """The memory that is left when the elastic window has given back what the items of the round took."""
    def is_small():
        client.execute_command("APBF.ADD", "elastic", "item")
        return client.memory_usage("elastic") < 50_000 and client.info("memory")["lazyfree_pending_objects"] == 0

    eventually(is_small)
    return client.info("memory")


def soak(kind, minutes, directory):
    server, replica = (Server(kind, pathlib.Path(directory) / name, "--activedefrag", "no").start() for name in ("primary", "replica"))
    try:
        client, chosen = server.client, random.Random(1)
        follow(replica, server)
        for key, promise in LASTING.items():
            client.execute_command("APBF.RESERVE", key, *promise)
        begin, taken, numbers = time.monotonic(), [], iter(range(1 << 62))
        while len(taken) < 8 or time.monotonic() < begin + 60 * minutes:
            work(client, chosen, numbers)
            memory = settled(client)
            caught_up(server, replica)
            assert all(server.digest(key) == replica.digest(key) for key in LASTING), "the replica differs"
            assert client.info("apbf")["apbf_keys"] == len(LASTING)
            taken.append(memory["used_memory"])
            if len(taken) in (1, 2, 4) or len(taken) % 8 == 0:
                calls = sum(stats["calls"] for name, stats in client.info("commandstats").items() if "apbf" in name)
                print(f"{time.monotonic() - begin:6.0f} s  round {len(taken):4}  {calls:9} commands  used {memory['used_memory']:11}  "
                      f"of filters {client.info('apbf')['apbf_memory_bytes']:9}  resident {memory['used_memory_rss']:11}", flush=True)
        # The first rounds make what the server keeps: buffers, scripts, the plan.
        first, last = min(taken[2:5]), min(taken[-3:])
        print(f"{len(taken)} rounds: {first} bytes in rounds 3 to 5, {last} in the last three")
        assert last - first < MOST_GROWTH, taken
    finally:
        crashed = [each.log() for each in (server, replica) if each.has_crashed()]
        server.stop("kill")
        replica.stop("kill")
        assert not crashed, crashed[0]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        soak(sys.argv[2] if len(sys.argv) > 2 else "redis", float(sys.argv[1]) if len(sys.argv) > 1 else 60, scratch)
