#!/usr/bin/env python3
"""Handles each order once, with redis-py.

    pip install redis
    python3 examples/redis/client.py redis://127.0.0.1
    handle order-17
    handle order-18
    seen 1 order-17 again
"""

import sys

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

# Without retries: if a reply is lost, the second try would find the item that the first one has added.
client = redis.Redis.from_url(sys.argv[1], decode_responses=True, retry=Retry(NoBackoff(), 0))
try:
    # Ten minutes, and memory that follows the traffic.
    client.execute_command("APBF.RESERVE", "orders", "1e-9", 0, "SPAN", 600_000)
except redis.ResponseError as error:
    if "already exists" not in str(error):
        raise
seen = []
for order in ("order-17", "order-18", "order-17"):
    if client.execute_command("APBF.ADDNX", "orders", order):
        print("handle", order)
    else:
        seen.append(order)
print("seen", len(seen), *seen, "again")
