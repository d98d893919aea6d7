"""The shards of a window: their keys and promise, the commands to send, and the meaning of replies. Sends nothing."""

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, TypedDict

from lately._native import ConfigError, _grouped, item_bytes, plan, shard_of, shard_window
from lately._report import AgeRange
from lately._types import Item, Key, Layout, Nulls, Overload

ITEMS_PER_COMMAND = 500
"""A server executes one command at a time, so each command should be short."""

SHARDS_AT_ONCE = 8
"""Commands that a bulk call sends to a cluster at the same time."""

Command = tuple[object, ...]
"""The name of a command, and its arguments."""


class ShardedPromise(TypedDict, total=False):
    """The keywords of a filter with shards."""

    false_positive_rate: float
    window: int | None
    within: timedelta | None
    capacity: int | None
    max_slack: float | None
    layout: Layout | None
    shape: tuple[int, int] | None
    overload: Overload | None
    seed: int | None
    keyed: bool


class Window:
    """A window that is spread over shards."""

    def __init__(
        self,
        name: str,
        shards: int,
        *,
        false_positive_rate: float,
        window: int | None = None,
        within: timedelta | None = None,
        capacity: int | None = None,
        max_slack: float | None = None,
        layout: Layout | None = None,
        shape: tuple[int, int] | None = None,
        overload: Overload | None = None,
        seed: int | None = None,
        keyed: bool = False,
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f'name cannot be of type {type(name).__name__}: give a str, for example "hooks"')
        if "{" in name or "}" in name:
            raise ConfigError(f"name = {name!r} is not possible: braces decide where a cluster puts a key; leave them out")
        if keyed and seed is not None:
            raise ConfigError(
                "seed and keyed were both given: a seed is for the default hash, keyed for SipHash with a secret key; give only one"
            )
        whole = capacity if window is None else window
        share = None if whole is None else shard_window(operator.index(whole), shards)
        # Planning also validates the arguments, with the error messages of Filter, before any command is sent.
        self.plan = plan(
            window=share if window is not None else None,
            within=within,
            capacity=share if capacity is not None else None,
            false_positive_rate=false_positive_rate,
            max_slack=max_slack,
            layout=layout,
            shape=shape,
            overload=overload,
        )[0]
        self.name = name
        self.shards = operator.index(shards)
        self.keys = [f"{{{name}:{shard}}}" for shard in range(self.shards)]
        self._keyed = bool(keyed)
        self._rate = float(false_positive_rate)
        self._whole = whole
        # A window of 0 is one whose memory follows the traffic.
        self._options: list[object] = [repr(self._rate), 0 if self.plan.is_elastic else self.plan.window]
        if self.plan.span_ms is not None:
            self._options += ["SPAN", self.plan.span_ms]
            self._options += ["OVERLOAD", "RATE" if self.plan.overload == "keep_rate" else "WINDOW"]
        # Clients send only Python's own number types; numbers of numpy are converted.
        self._options += [] if max_slack is None else ["SLACK", repr(float(max_slack))]
        self._options += [] if layout is None else ["LAYOUT", layout]
        self._options += [] if seed is None else ["SEED", operator.index(seed)]
        self._options += [] if shape is None else ["SHAPE", *map(operator.index, shape)]
        # The server makes the keys, another one for each shard.
        self._options += ["KEYED"] if keyed else []

    def describe(self, class_name: str) -> str:
        span = "" if self.plan.span_ms is None else f"the last {self.plan.span_ms} ms, "
        room = "memory as needed" if self.plan.is_elastic else f"{'up to' if span else 'the last'} {self._whole} inserts"
        return f"<lately.redis.{class_name}: {span}{room}, rate {self._rate:.3e}, {self.shards} shards named {self.name!r}>"

    def reserve(self) -> list[Command]:
        """Commands that create the shards, with replies for `existing`."""
        return [("APBF.RESERVE", key, *self._options) for key in self.keys]

    def existing(self, replies: list[Any]) -> list[str]:
        """Returns the keys that exist already."""
        found = []
        for key, reply in zip(self.keys, replies, strict=True):
            if isinstance(reply, Exception):
                if "already exists" not in str(reply):
                    raise reply
                found.append(key)
        return found

    def info(self, keys: Iterable[str] | None = None) -> list[Command]:
        """Commands that ask shards about themselves, with replies for `read_info`."""
        return [("APBF.INFO", key) for key in (self.keys if keys is None else keys)]

    def check_promise(self, keys: list[str], replies: list[Any]) -> None:
        """Raises ConfigError if a shard exists with a promise that does not cover this one."""
        for key, found in zip(keys, map(read_info, replies), strict=True):
            is_elastic = "elastic" in _text(found["shape"])
            asked = (None if self.plan.is_elastic else self.plan.window, self.plan.span_ms)
            if (None if is_elastic else found["window"], found["span_ms"]) != asked:
                raise _another_promise(
                    key,
                    f"a window of {found['window']} and a span of {found['span_ms']} ms",
                    f"{self.plan.window} and {self.plan.span_ms} ms were",
                    "the window and the number of shards",
                )
            policy = None if found["overload"] is None else f"keep_{_text(found['overload'])}"
            if policy != self.plan.overload:
                raise _another_promise(key, f"overload={policy!r}", f"{self.plan.overload!r} was", "the policy")
            rate = float(found["error_rate"])
            # A lower rate keeps the promise, too. The tolerance is for the rounding in the server's reply.
            if rate > self._rate * (1 + 1e-9):
                raise _another_promise(key, f"a false positive rate of {rate}", f"{self._rate} was", "the rate")
            # A key that was not asked for keeps the promise, too.
            if self._keyed and _text(found["hash"]) != "siphash13":
                raise _another_promise(key, f"the hash {_text(found['hash'])}, which has no key", "keyed=True was", "the hash")

    def age(self, item: Item) -> Command:
        """The command for an item's age, with a reply for `read_age`."""
        data = item_bytes(item)
        return ("APBF.AGE", self.keys[shard_of(data, self.shards)], data)

    def call(
        self,
        word: Literal["contains", "check_and_add", "check_or_add"],
        items: Any,
        nulls: Nulls | None,
        key: Key | None,
    ) -> "Call":
        # A lost shard must not be replaced by a new one with another promise, so no command creates a shard.
        command = {
            "contains": ("APBF.MEXISTS",),
            "check_and_add": ("APBF.INSERT", "NOCREATE", "ITEMS"),
            "check_or_add": ("APBF.INSERT", "NX", "NOCREATE", "ITEMS"),
        }[word]
        count, missing, is_column, groups = _grouped(items, self.shards, nulls, key)
        answers = [False] * count
        for position in missing:
            answers[position] = nulls == "drop"
        return Call(self, command, word == "contains", is_column, groups, answers)


@dataclass
class Call:
    """A bulk call: the commands for each shard, and the answers from their replies."""

    window: Window
    command: tuple[str, ...]
    one_means_seen: bool
    is_column: bool
    groups: list[tuple[int, list[int], list[bytes]]]
    answers: list[bool]

    def commands(self) -> list[list[Command]]:
        """Commands per shard."""
        name, *options = self.command
        return [
            [
                (name, self.window.keys[shard], *options, *items[first : first + ITEMS_PER_COMMAND])
                for first in range(0, len(items), ITEMS_PER_COMMAND)
            ]
            for shard, _, items in self.groups
        ]

    def read(self, replies: Sequence[Sequence[Any]]) -> Any:
        """Returns the answers in the order of the items: as an array of numpy for a column, otherwise as a list."""
        for (_, positions, _), of_shard in zip(self.groups, replies, strict=True):
            for position, answer in zip(positions, (answer for reply in of_shard for answer in reply), strict=True):
                self.answers[position] = bool(answer) == self.one_means_seen
        if self.is_column:
            try:
                import numpy
            except ImportError:
                return self.answers
            return numpy.array(self.answers, dtype=bool)
        return self.answers


def read_info(reply: Any) -> dict[str, Any]:
    """Returns the fields of a reply of APBF.INFO."""
    if isinstance(reply, dict):
        return {_text(name): value for name, value in reply.items()}
    return {_text(name): value for name, value in zip(reply[::2], reply[1::2], strict=True)}


def read_age(reply: Sequence[int] | None) -> AgeRange | None:
    """Returns the age in a reply of APBF.AGE."""
    if reply is None:
        return None
    least, most, *millis = reply
    return AgeRange(inserts=range(least, most + 1), millis=range(millis[0], millis[1] + 1) if millis else None)


def _another_promise(key: str, found: str, asked: str, remedy: str) -> ConfigError:
    remedy = f"ask for {remedy} it was created with, or choose another name"
    return ConfigError(f"{key} exists with {found}, but {asked} asked for: {remedy}")


def _text(reply: str | bytes) -> str:
    """Decodes a reply, unless the client has already decoded it."""
    return reply.decode() if isinstance(reply, bytes) else reply
