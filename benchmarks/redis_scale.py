#!/usr/bin/env python3
"""Spreads one logical window over N primaries on this machine, and prints what each N can take.
    benchmarks/redis_scale.sh [N ...]
The clients and all primaries share this machine, so its wall time says nothing about a cluster. The processor time of the
servers does: a primary with a core of its own takes items as fast as the busiest primary's processor time allows. ITEMS
sets the number of items (default 2 million), SPAN=1 makes time windows."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "crates/lately-redis/tests"))
from conftest import LATELY, Server  # noqa: E402
from shards import by_shard, shard_key  # noqa: E402

ITEMS = int(os.environ.get("ITEMS", 2_000_000))
SHARDS, BATCH = 48, 100


def cpu_seconds(server):
    spent = server.client.info("cpu")
    return spent["used_cpu_user"] + spent["used_cpu_sys"]


def shard_window():
    plan = [LATELY, "plan", "--window", str(ITEMS), "--fp", "1e-3", "--shards", str(SHARDS), "--json"]
    return json.loads(subprocess.run(plan, capture_output=True, text=True, check=True).stdout)["shard_window"]


def run(kind, count, directory):
    """Adds all items, and checks that all are found. Returns the figures of this number of primaries."""
    servers = [Server(kind, pathlib.Path(directory) / f"{count}-{number}").start() for number in range(count)]
    try:
        window, span = shard_window(), ("SPAN", 86_400_000) if os.environ.get("SPAN") else ()
        for shard in range(SHARDS):
            servers[shard % count].client.execute_command("APBF.RESERVE", shard_key("w", shard), 0.001, window, *span)
        before = [cpu_seconds(server) for server in servers]
        for first in range(0, ITEMS, 200_000):
            pipelines = [server.client.pipeline(transaction=False) for server in servers]
            for shard, some in by_shard([f"event-{number}" for number in range(first, min(first + 200_000, ITEMS))], SHARDS).items():
                for start in range(0, len(some), BATCH):
                    pipelines[shard % count].execute_command("APBF.MADD", shard_key("w", shard), *some[start:start + BATCH])
            for pipeline in pipelines:
                pipeline.execute()
        spent = [cpu_seconds(server) - earlier for server, earlier in zip(servers, before)]
        for shard, some in by_shard([f"event-{number}" for number in range(ITEMS - 10_000, ITEMS)], SHARDS).items():
            assert all(servers[shard % count].client.execute_command("APBF.MEXISTS", shard_key("w", shard), *some))
        sections = [server.client.info("apbf") for server in servers]
        return {
            "primaries": count,
            "microseconds_per_item": round(sum(spent) / ITEMS * 1e6, 3),
            "million_items_per_second": round(ITEMS / max(spent) / 1e6, 2),
            "busiest_over_mean": round(max(spent) / (sum(spent) / count), 2),
            "memory_mb": round(sum(section["apbf_memory_bytes"] for section in sections) / 1e6, 2),
        }
    finally:
        for server in servers:
            server.stop("kill")


def main():
    counts = [int(word) for word in sys.argv[1:]] or [1, 2, 4, 8]
    with tempfile.TemporaryDirectory() as directory:
        for count in counts:
            print(json.dumps(run("redis", count, directory)), flush=True)


if __name__ == "__main__":
    main()
