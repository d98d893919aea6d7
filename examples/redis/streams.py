#!/usr/bin/env python3
"""Processes each message of a Redis stream once, although messages are sent again and consumers crash.

    pip install redis
    redis-cli XGROUP CREATE payments workers 0 MKSTREAM
    redis-cli APBF.RESERVE payments:seen 1e-9 0 SPAN 86400000
    redis-cli XADD payments '*' id pay-1 account alice cents 250
    python3 examples/redis/streams.py redis://127.0.0.1 worker-1
    redis-cli HGET balances alice

A producer that was not sure sends `pay-1` again, as another message of the stream; the filter knows its id for a day. A
consumer may crash at any moment: the server runs the script below as a whole or not at all. So a payment is booked and
acknowledged, or its message stays pending, and this program reads it first when it is started again.

If what you do is outside of Redis, it cannot be one step with the acknowledgement. Then ask APBF.EXISTS, do it, and send
APBF.ADDNX and XACK in one MULTI: after a crash, one message may be done twice, and none is lost.
"""

import sys

import redis

STREAM, GROUP, SEEN, BALANCES = "payments", "workers", "payments:seen", "balances"

# In a cluster, give the keys one hash tag, for example {payments}.
BOOK_ONCE = """
if redis.call('APBF.ADDNX', KEYS[1], ARGV[1]) == 1 then
    redis.call('HINCRBY', KEYS[2], ARGV[2], ARGV[3])
end
return redis.call('XACK', KEYS[3], ARGV[4], ARGV[5])
"""


def main(url, consumer):
    client = redis.Redis.from_url(url, decode_responses=True)
    book_once = client.register_script(BOOK_ONCE)
    # First what this consumer had read before it crashed (from 0 on), then new messages (">").
    position = "0"
    while True:
        replies = client.xreadgroup(GROUP, consumer, {STREAM: position}, count=100, block=1000)
        messages = [message for _, of_stream in replies or [] for message in of_stream]
        if not messages and position == "0":
            position = ">"
        for number, fields in messages:
            book_once([SEEN, BALANCES, STREAM], [fields["id"], fields["account"], fields["cents"], GROUP, number])


if __name__ == "__main__":
    main(*sys.argv[1:])
