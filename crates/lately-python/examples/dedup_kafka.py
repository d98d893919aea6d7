"""Handles each event of a Kafka topic once, also if it was produced or delivered several times.

python dedup_kafka.py BOOTSTRAP_SERVERS GROUP TOPIC STATE_DIRECTORY

Producers use the id of an event as its key, so all events with one id are in one partition, and every partition has a
filter of its own. A checkpoint is one file per partition with the filter and the offset up to which it has seen the
partition. One file, because a crash must not come between the two: with a filter that is ahead of its offset, events
that were never handled would be dropped as seen. Kafka's own committed offsets are only a copy for monitoring.

After a crash the events since the last checkpoint are handled again; none is lost. If the partition moves to another
consumer of the group, it needs the same directory.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, TopicPartition

from lately import Filter

EVENTS_PER_CHECKPOINT = 10_000
SECONDS_PER_POLL = 0.2


class Partition:
    """What one partition has seen: a filter, and the offset of the next event."""

    def __init__(self, file: Path) -> None:
        self.file = file
        try:
            header, _, snapshot = file.read_bytes().partition(b"\n")
            self.offset: int = json.loads(header)["offset"]
            self.seen = Filter.from_bytes(snapshot)
        except FileNotFoundError:
            self.offset = OFFSET_BEGINNING
            self.seen = Filter(window=1_000_000, false_positive_rate=1e-6)

    def save(self) -> None:
        """Replaces the file in one step."""
        unfinished = self.file.with_suffix(".tmp")
        with open(unfinished, "wb") as file:
            file.write(json.dumps({"offset": self.offset}).encode() + b"\n")
            file.write(self.seen.to_bytes())
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, self.file)


class Deduplicator:
    """A consumer that passes each event on once."""

    def __init__(self, config: dict[str, Any], topic: str, directory: Path, handle: Callable[[Message], None]) -> None:
        # Nothing is committed behind our back.
        self.consumer = Consumer(config | {"enable.auto.commit": False, "enable.auto.offset.store": False})
        self.directory, self.handle = directory, handle
        self.partitions: dict[int, Partition] = {}
        self.since_checkpoint = 0
        directory.mkdir(exist_ok=True)
        self.consumer.subscribe([topic], on_assign=self.assigned, on_revoke=self.revoked)

    def assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            state = Partition(self.directory / f"{partition.topic}-{partition.partition}.state")
            self.partitions[partition.partition] = state
            partition.offset = state.offset
        consumer.assign(partitions)

    def revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.checkpoint()
        for partition in partitions:
            self.partitions.pop(partition.partition, None)

    def step(self) -> bool:
        """Handles the next events; returns False if there were none for a moment."""
        messages = self.consumer.consume(500, timeout=SECONDS_PER_POLL)
        for message in messages:
            if error := message.error():
                raise KafkaException(error)
            partition = self.partitions[message.partition()]
            if not partition.seen.check_and_add(message.key()):
                self.handle(message)
            partition.offset = message.offset() + 1
        self.since_checkpoint += len(messages)
        if self.since_checkpoint >= EVENTS_PER_CHECKPOINT:
            self.checkpoint()
        return bool(messages)

    def checkpoint(self) -> None:
        """What `handle` did has to be durable before this."""
        for partition in self.partitions.values():
            partition.save()
        self.since_checkpoint = 0
        self.commit()

    def commit(self) -> None:
        """Tells Kafka, so that its tools show how far the group is."""
        topic = self.consumer.assignment()[0].topic if self.partitions else ""
        known = {number: state.offset for number, state in self.partitions.items() if state.offset >= 0}
        offsets = [TopicPartition(topic, number, offset) for number, offset in known.items()]
        if offsets:
            self.consumer.commit(offsets=offsets, asynchronous=False)

    def close(self) -> None:
        """Saves what was seen, and leaves the group."""
        self.checkpoint()
        self.consumer.close()


def main(servers: str, group: str, topic: str, directory: str) -> None:
    def handle(message: Message) -> None:
        print((message.value() or b"").decode(), flush=True)

    stream = Deduplicator({"bootstrap.servers": servers, "group.id": group}, topic, Path(directory), handle)
    try:
        while True:
            stream.step()
    except KeyboardInterrupt:
        stream.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
