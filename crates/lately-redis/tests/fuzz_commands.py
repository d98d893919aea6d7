#!/usr/bin/env python3
"""Sends random hostile commands to a server with a replica, and compares every filter with an exact window.

    crates/lately-redis/tests/fuzz_commands.py [seconds] [redis|valkey] [seed]

Fails if an item of a window is forgotten, if primary and replica differ, if a reload or a replay changes anything, if a
command ends in an internal error, if a server ends, or if memory is not given back. `test_fuzz.py` runs some steps in every
test."""

import collections
import pathlib
import random
import sys
import tempfile
import time

import redis

from conftest import Server, eventually, info, items, most_successes
from forgery import as_dump, blueprint_of, forged, head_length, mend, parts_of, type_number
from test_replication import caught_up, follow

# Filters whose items are known.
TRACKED = [f"known-{number}" for number in range(12)]
# Filters to which everything is done, and the other types.
HOSTILE = [f"any-{number}" for number in range(8)]
OTHERS = {"text": ("SET", "x"), "list": ("RPUSH", "x"), "set": ("SADD", "x"), "hash": ("HSET", "x", "y"), "stream": ("XADD", "*", "x", "y")}
LARGEST = 4 << 20
CONFIGS = {
    "apbf.max-bytes-per-key": LARGEST, "apbf.default-window": 500, "apbf.default-error-rate": "0.01", "apbf.default-slack": "auto",
    "apbf.default-layout": "auto", "apbf.default-keyed": "no", "apbf.template": "", "apbf.auto-create": "yes",
}  # fmt: skip

INTEGERS = (0, 1, 2, 7, 8, 100, 1000, -1, 2**16, 2**31, 2**32 - 1, 2**32, 2**48, 2**48 + 1, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1,
            2**64, 10**40, "1e3", "1.5", "", " 1", "+1", "-0", "0x10", "1_000", "٣", b"\xff", "1" * 300)  # fmt: skip
REALS = (0.01, 0.001, 0.1, 0.5, 1e-6, 0, 1, -0.5, 1e-15, 9e-16, 1e-300, 1e-320, 1e300, "nan", "-NaN", "inf", "-inf", "infinity", "1e-400",
         "1e400", ".5", "5.", "0x1p-3", "", " 0.1", "0,1", b"\xff\x00", "0." + "0" * 400 + "1")  # fmt: skip
WORDS = ("SPAN", "OVERLOAD", "SLACK", "LAYOUT", "SHAPE", "SEED", "KEYED", "RATE", "WINDOW", "ERROR", "NX", "NOCREATE", "ITEMS", "CURSOR", "EVERY",
         "FIRST", "bins", "Rows", "SLICES", "blocks", "inserts", "window", "x" * 100, b"\r\n", b"\0", "")  # fmt: skip
COMMANDS = ("RESERVE", "ADD", "ADDNX", "MADD", "MADDNX", "INSERT", "EXISTS", "MEXISTS", "AGE", "INFO", "CARD", "PLAN", "SNAPSHOT", "LOAD",
            "CREATE", "PATCH", "APPLY", "NOTHING")  # fmt: skip
READS = ("EXISTS", "MEXISTS", "AGE", "INFO", "CARD", "PLAN", "SNAPSHOT")

# Runs commands one after the other, each after its number of words.
SCRIPT = """local replies, at = {}, 1
while at <= #ARGV do
  local words = tonumber(ARGV[at])
  replies[#replies + 1] = redis.pcall(unpack(ARGV, at + 1, at + words))
  at = at + words + 1
end
return replies"""


def milliseconds():
    return int(time.time() * 1000)


class Window:
    """What a filter must still know, computed from what was asked for."""

    def __init__(self, rate, window, span=None, overload="WINDOW"):
        self.rate, self.window, self.span, self.overload = rate, window, span, overload
        self.inserts = 0
        # Each item's latest insert: its number, and the least that the filter's clock can have been.
        self.latest = {}
        self.least_clock = 0
        # The latest time that APPLY has set: the filter's clock, where the server's is behind it.
        self.told = 0

    def copy(self):
        other = Window(self.rate, self.window, self.span, self.overload)
        other.__dict__.update(self.__dict__)
        other.latest = dict(self.latest)
        return other

    def advance(self, least, told=0):
        self.least_clock = max(self.least_clock, least)
        self.told = max(self.told, told)

    def insert(self, item):
        self.inserts += 1
        self.latest[item] = (self.inserts, self.least_clock)

    def holds(self, item, now=None):
        """Returns true if the filter must know the item, whenever it was asked until now."""
        if item not in self.latest:
            return False
        number, at = self.latest[item]
        if self.span is None:
            return self.inserts - number < self.window
        # With OVERLOAD RATE, a burst shortens the window, by as much as generations are short.
        clock = max(self.told, milliseconds() if now is None else now)
        return self.overload == "WINDOW" and clock - at + 1 < self.span

    def describe(self, item):
        return {**self.__dict__, "latest": self.latest.get(item)}

    def held(self):
        return [item for item in self.latest if self.holds(item)]


class Fuzz:
    def __init__(self, primary, replica, seed):
        self.primary, self.replica = primary, replica
        self.client = primary.client
        self.chosen = random.Random(seed)
        self.windows = {}
        # The pieces that are left of a snapshot that is being loaded, and its window.
        self.incoming = {}
        self.is_limited = False
        self.strangers = 0
        self.counts = collections.Counter()
        self.recent = collections.deque(maxlen=40)
        # Questions about items that were never added, and how many of them were mistaken, by the promised rate.
        self.questions = collections.Counter()
        self.mistaken = collections.Counter()

    # Sending.

    def send(self, *command, to=None):
        """Returns the reply, or the error."""
        self.recent.append(command)
        try:
            return self.checked((to or self.client).execute_command(*command))
        except redis.ConnectionError:
            raise
        except redis.RedisError as error:
            return self.checked(error)

    def send_all(self, commands):
        """Sends commands one by one, in a transaction or in a script, and returns their replies."""
        way = self.chosen.choice(("single", "single", "transaction", "script"))
        self.counts[way] += len(commands)
        if way == "single" or sum(map(len, commands)) > 5_000:
            return [self.send(*command) for command in commands]
        self.recent.append((way, *commands))
        try:
            if way == "script":
                words = [word for command in commands for word in (len(command), *command)]
                replies = self.client.eval(SCRIPT, 0, *words)
            else:
                transaction = self.client.pipeline(transaction=True)
                for command in commands:
                    transaction.execute_command(*command)
                replies = transaction.execute(raise_on_error=False)
        except redis.ConnectionError:
            raise
        except redis.RedisError as error:
            # The server has refused all of them.
            replies = [error] * len(commands)
        return [self.checked(reply) for reply in replies]

    def checked(self, reply):
        if is_error(reply):
            message = str(reply)
            assert "internal error" not in message, message
            assert len(message) < 600, message
            self.counts["refused"] += 1
        return reply

    def number(self):
        return self.chosen.choice(INTEGERS) if self.chosen.random() < 0.8 else self.chosen.randrange(-3, 1 << self.chosen.randrange(1, 64))

    def item(self):
        return self.chosen.choice((b"", b"\0", "item", "x" * 5_000, self.chosen.randbytes(self.chosen.randrange(20)), self.number()))

    # Filters whose items are known.

    def promise(self):
        """Returns the arguments of a new filter, and its window."""
        rate, window = self.chosen.choice((0.1, 0.01, 1e-4)), self.chosen.choice((1, 2, 10, 100, 701, 3_000))
        seed = self.chosen.choice(((), ("KEYED",), ("SEED", self.chosen.randrange(1 << 64))))
        layout = self.chosen.choice(((), ("LAYOUT", "BINS"), ("LAYOUT", "ROWS"), ("LAYOUT", "SLICES"), ("LAYOUT", "BLOCKS")))
        match self.chosen.randrange(10):
            case 0 | 1:
                span = self.chosen.choice((60, 400, 3_600_000))
                return (rate, 0, "SPAN", span, *seed), Window(rate, 0, span)
            case 2 | 3 | 4:
                span = self.chosen.choice((60, 400, 3_600_000))
                overload = self.chosen.choice(("WINDOW", "RATE"))
                return (rate, window, "SPAN", span, "OVERLOAD", overload, *layout, *seed), Window(rate, window, span, overload)
            case 5 if self.chosen.random() < 0.2:
                return (1e-3, 600_000, *layout, *seed), Window(1e-3, 600_000)
            case _:
                return (rate, window, *layout, *seed), Window(rate, window)

    def some_known(self):
        return self.chosen.choice(list(self.windows)) if self.windows else None

    def free_name(self):
        """Deletes one of the known filters, and returns its name."""
        name = self.chosen.choice(TRACKED)
        reply = self.send(self.chosen.choice(("DEL", "UNLINK")), name)
        assert not is_error(reply), reply
        self.windows.pop(name, None)
        self.incoming.pop(name, None)
        return name

    def reserve(self):
        name, (arguments, window) = self.free_name(), self.promise()
        reply = self.send_all([("APBF.RESERVE", name, *arguments)])[0]
        if reply == b"OK":
            self.windows[name] = window
        else:
            # Some small windows have no plan in some layouts.
            assert self.is_limited or "LAYOUT" in arguments, (arguments, reply)

    def create_by_adding(self):
        """What a missing key becomes: what the command says, or the default."""
        name, item = self.free_name(), self.item()
        if self.chosen.random() < 0.5:
            window = Window(0.01, 500)
            command = ("APBF.ADD", name, item)
        else:
            (rate, size, *options), window = self.promise()
            if "LAYOUT" in options:
                return
            command = ("APBF.INSERT", name, "ERROR", rate, "WINDOW", size, *options, "ITEMS", item)
        before = milliseconds()
        reply = self.send_all([command])[0]
        if is_error(reply):
            assert self.is_limited, reply
            return
        assert reply in (1, [1]), (command, reply)
        window.advance(before)
        window.insert(encoded(item))
        self.windows[name] = window

    def add(self):
        if not self.windows:
            return
        commands, batches = [], []
        for _ in range(self.chosen.choice((1, 1, 1, 3))):
            name = self.some_known()
            window = self.windows[name]
            count = self.chosen.choice((1, 1, 2, 17, 60, 400))
            numbers = min(max(2 * window.window, 100), 5_000)
            batch = [self.item() if self.chosen.random() < 0.05 else f"{self.chosen.randrange(numbers)}" for _ in range(count)]
            is_first = self.chosen.random() < 0.4
            told = 0
            if count == 1 and self.chosen.random() < 0.7:
                command = ("APBF.ADDNX" if is_first else "APBF.ADD", name, *batch)
            elif self.chosen.random() < 0.6:
                command = ("APBF.MADDNX" if is_first else "APBF.MADD", name, *batch)
            elif self.chosen.random() < 0.7 or window.span is None:
                command = ("APBF.INSERT", name, *(("NX",) if is_first else ()), *self.chosen.choice(((), ("NOCREATE",))), "ITEMS", *batch)
            else:
                told = max(0, milliseconds() + self.chosen.choice((-100_000, -5, 0, 3, window.span // 20)))
                command = ("APBF.APPLY", name, told, "FIRST" if is_first else "EVERY", *batch)
            commands.append(command)
            batches.append((name, batch, is_first, told))
        before = milliseconds()
        replies = self.send_all(commands)
        after = milliseconds()
        for (name, batch, is_first, told), reply, command in zip(batches, replies, commands, strict=True):
            if is_error(reply):
                assert self.is_limited, reply
                continue
            window, are_new = self.windows[name], reply if isinstance(reply, list) else [reply]
            # APPLY takes its time from its argument. Repeats that do not refresh change nothing, not even the clock.
            window.advance(0 if is_first and not any(are_new) else told or before, told)
            for item, is_new in zip(map(encoded, batch), are_new, strict=True):
                assert not (is_new and window.holds(item, after)), \
                    f"{item} is in the window of {name}, but was new: {window.describe(item)} from {before} to {after}: {command}"
                if is_new or not is_first:
                    window.insert(item)
            self.counts["items"] += len(batch)

    def check(self):
        """The promise of one filter."""
        name = self.some_known()
        if name is None:
            return
        window = self.windows[name]
        held = window.held()
        asked = self.chosen.sample(held, min(len(held), 500))
        if asked:
            found = self.send_all([("APBF.MEXISTS", name, *asked)])[0]
            if is_error(found):
                assert self.is_limited, found
                return
            lost = [item for item, is_known in zip(asked, found, strict=True) if not is_known and window.holds(item)]
            assert not lost, f"{name} has forgotten {len(lost)} of {len(held)}: {window.describe(lost[0])}"
            assert window.span or self.send("APBF.AGE", name, asked[0]) is not None
            self.counts["probes"] += len(asked)
        assert info(self.client, name)["inserts"] == window.inserts, name
        if window.span is None:
            strangers = items(self.strangers, 50)
            self.strangers += 50
            self.questions[window.rate] += 50
            self.mistaken[window.rate] += sum(self.send("APBF.MEXISTS", name, *strangers))

    def duplicate(self):
        """Copies a filter in every way that there is."""
        source = self.some_known()
        target = self.free_name()
        if source is None or source == target:
            return
        window = self.windows[source]
        way = self.chosen.choice(("COPY", "RENAME", "RESTORE", "dump", "LOAD", "pieces"))
        match way:
            case "COPY":
                reply = self.send("COPY", source, target)
            case "RENAME":
                reply = self.send("RENAME", source, target)
                if not is_error(reply):
                    self.windows[target] = self.windows.pop(source)
                return
            case "RESTORE" | "dump":
                dump = self.client.dump(source)
                if way == "dump":
                    # The same snapshot in strings of other lengths.
                    dump = as_dump(*parts_of(dump), self.chosen)
                reply = self.send("RESTORE", target, 0, dump)
            case "LOAD":
                reply = self.send_all([("APBF.LOAD", target, self.client.execute_command("APBF.SNAPSHOT", source))])[0]
            case _:
                self.incoming[target] = (collections.deque(self.pieces(self.snapshot_of(source))), window.copy())
                return
        if is_error(reply):
            # A clock that APPLY has set ahead by more than the span is refused.
            assert self.is_limited or "until then nothing would be forgotten" in str(reply), (way, reply)
        else:
            self.windows[target] = window.copy()

    def snapshot_of(self, name):
        """Reads a snapshot in pieces."""
        pieces, cursor = [], 0
        while True:
            cursor, piece = self.client.execute_command("APBF.SNAPSHOT", name, "CURSOR", cursor)
            pieces.append(piece)
            if cursor == 0:
                return b"".join(pieces)

    def pieces(self, snapshot):
        """Cuts a snapshot anywhere after its head."""
        head = head_length(snapshot)
        cuts = sorted({0, len(snapshot), *range(1 << 20, len(snapshot), 1 << 20), *(self.chosen.randrange(head, len(snapshot) + 1) for _ in range(self.chosen.randrange(4)))})
        return [(begin, snapshot[begin:end]) for begin, end in zip(cuts, cuts[1:])]

    def piece(self):
        """Sends the next piece of a snapshot, and before it some that are not the next."""
        if not self.incoming:
            return
        name = self.chosen.choice(list(self.incoming))
        left, window = self.incoming[name]
        begin, piece = left[0]
        for _ in range(self.chosen.randrange(3)):
            wrong = self.chosen.choice((begin + 1, max(0, begin - 1), begin + len(piece), 8, 2**63 - 1))
            if wrong not in (0, begin):
                reply = self.send("APBF.LOAD", name, "CURSOR", wrong, self.chosen.choice((piece, b"", b"x")))
                assert is_error(reply), (name, begin, wrong, reply)
        if begin > 0 and self.chosen.random() < 0.3:
            assert is_error(self.send("APBF.ADD", name, "x")), "a filter that is not complete is no filter"
        reply = self.send_all([("APBF.LOAD", name, "CURSOR", begin, piece)])[0]
        if is_error(reply):
            assert self.is_limited or "until then nothing would be forgotten" in str(reply), reply
            del self.incoming[name]
            self.send("DEL", name)
            return
        left.popleft()
        if left:
            assert reply == left[0][0], (reply, left[0][0])
        else:
            assert reply == 0, reply
            self.windows[name] = window
            del self.incoming[name]

    def expire(self):
        """Lets a filter expire; or sets an expiry that it does not live to see."""
        name = self.some_known()
        if name is None:
            return
        match self.chosen.randrange(4):
            case 0:
                assert self.send("PEXPIRE", name, 1) == 1
                del self.windows[name]
                eventually(lambda: not self.client.exists(name))
            case 1:
                assert self.send("PEXPIREAT", name, 1) == 1
                del self.windows[name]
            case 2:
                self.send("EXPIRE", name, 100_000)
            case _:
                self.send("PERSIST", name)

    # Everything else.

    def hostile_arguments(self, command):
        """Returns arguments that are nearly right, or not at all."""
        chosen = self.chosen
        options = [word for _ in range(chosen.randrange(5)) for word in chosen.choice((
            ("SPAN", self.number()), ("OVERLOAD", chosen.choice(WORDS)), ("SLACK", chosen.choice(REALS)), ("LAYOUT", chosen.choice(WORDS)),
            ("SHAPE", self.number(), self.number()), ("SEED", self.number()), (chosen.choice(WORDS),)))]  # fmt: skip
        some = [self.item() for _ in range(chosen.randrange(1, 5))]
        usual = {
            "RESERVE": [chosen.choice(REALS), self.number(), *options],
            "PLAN": [chosen.choice(REALS), self.number(), *options],
            "INSERT": [*chosen.choice(([], ["ERROR", chosen.choice(REALS)], ["WINDOW", self.number()])), *options, "ITEMS", *some],
            "ADD": some[:1], "ADDNX": some[:1], "EXISTS": some[:1], "AGE": some[:1], "MADD": some, "MADDNX": some, "MEXISTS": some,
            "INFO": chosen.choice(([], [chosen.choice(WORDS)])), "CARD": [],
            "SNAPSHOT": chosen.choice(([], ["CURSOR", self.number()])),
            "LOAD": chosen.choice(([self.item()], ["CURSOR", self.number(), self.item()])),
            "CREATE": [self.item()],
            "PATCH": [self.number(), chosen.randbytes(8 * chosen.randrange(20)) if chosen.random() < 0.9 else self.item()],
            "APPLY": [chosen.choice((self.number(), milliseconds())), chosen.choice(("EVERY", "FIRST", "first", "")), *some],
        }.get(command, [])  # fmt: skip
        for _ in range(chosen.choice((0, 0, 0, 1, 2))):
            match chosen.randrange(3):
                case 0 if usual:
                    usual.pop(chosen.randrange(len(usual)))
                case 1 if usual:
                    usual[chosen.randrange(len(usual))] = chosen.choice((*INTEGERS, *REALS, *WORDS))
                case _:
                    usual.insert(chosen.randrange(len(usual) + 1), chosen.choice((*INTEGERS, *REALS, *WORDS)))
        return usual

    def hostile_command(self):
        command = self.chosen.choice(COMMANDS)
        names = [*HOSTILE, *OTHERS]
        if command in READS and command != "PLAN":
            names += [*TRACKED, "missing"]
        name = () if command == "PLAN" else (self.chosen.choice(names),)
        return (f"APBF.{command}", *name, *self.hostile_arguments(command))

    def hostile(self):
        commands = [self.hostile_command() for _ in range(self.chosen.choice((1, 2, 5)))]
        for command, reply in zip(commands, self.send_all(commands), strict=True):
            if len(command) > 1 and command[1] in OTHERS and not is_error(reply):
                raise AssertionError((command, "was not refused for its type", reply))

    def forge(self):
        """Sends snapshots with other contents and mended checksums, in each way that a client has."""
        source = self.some_known() if self.chosen.random() < 0.7 else self.chosen.choice(HOSTILE)
        if source is None:
            return
        name = self.chosen.choice([each for each in HOSTILE if each != source])
        dump = self.send("DUMP", source)
        if is_error(dump) or dump is None or b"apbf-late" != self.client.type(source) or len(dump) > 300_000:
            return
        kind, version, snapshot = parts_of(dump)
        false = forged(snapshot, self.chosen)
        if self.chosen.random() < 0.8:
            self.send("DEL", name)
        match self.chosen.choice(("LOAD", "RESTORE", "damaged", "incomplete", "pieces", "CREATE", "PATCH")):
            case "LOAD":
                self.send_all([("APBF.LOAD", name, false)])
            case "RESTORE":
                said = self.chosen.choice((*[None] * 20, 0, len(false) - 1, len(false) + 1, 2**40, 2**64 - 1))
                dump = as_dump(kind, version, false, self.chosen, said)
                self.send_all([("RESTORE", name, 0, dump, *self.chosen.choice(((), ("REPLACE",))))])
            case "damaged":
                damaged = bytearray(dump)
                for _ in range(self.chosen.randrange(1, 4)):
                    damaged[self.chosen.randrange(min(40, len(damaged)))] = self.chosen.randrange(256)
                # The type and the name of the module stay: the other types have fuzzers of their own.
                damaged[:9] = dump[:9]
                self.send("RESTORE", name, 0, mend(damaged), "REPLACE")
            case "incomplete":
                # A filter of which some pieces have come, and then the others.
                first = self.chosen.choice((head_length(snapshot), self.chosen.randrange(len(false) + 1)))
                self.send("RESTORE", name, 0, as_dump(type_number("apbf-load"), version, false[:first], self.chosen))
                self.send("APBF.LOAD", name, "CURSOR", first, false[first:])
            case "pieces":
                step = self.chosen.choice((512, 1_000, 5_000))
                begins = list(range(0, len(false), step))
                if self.chosen.random() < 0.3:
                    self.chosen.shuffle(begins)
                for begin in begins[:40]:
                    self.send("APBF.LOAD", name, "CURSOR", begin, false[begin:begin + step])
            case "CREATE":
                self.send_all([("APBF.CREATE", name, blueprint_of(false))])
            case _:
                self.send("COPY", source, name, "REPLACE")
                words = self.chosen.randbytes(8 * self.chosen.randrange(1, 30))
                if self.chosen.random() < 0.5:
                    place = 8 * self.chosen.randrange(len(snapshot) // 8)
                    words = snapshot[place:place + 8 * self.chosen.randrange(40)]
                    words = words[:len(words) // 8 * 8]
                self.send("APBF.PATCH", name, self.chosen.choice((self.number(), self.chosen.randrange(200))), words)
        self.use(name)

    def use(self, name):
        """Uses a filter of which nothing is known."""
        self.send_all([(f"APBF.{command}", name, *self.hostile_arguments(command)) for command in
                       self.chosen.sample(("ADD", "MADD", "MADDNX", "MEXISTS", "AGE", "INFO", "CARD", "SNAPSHOT", "APPLY"), 3)])  # fmt: skip
        if self.client.type(name) == b"apbf-late" and self.send("APBF.ADD", name, "just added") in (0, 1):
            if info(self.client, name)["span_ms"] is None:
                assert self.send("APBF.EXISTS", name, "just added") == 1, name
        assert (self.client.memory_usage(name) or 0) < 1.3 * LARGEST, name
        self.send("COPY", name, self.chosen.choice(HOSTILE), "REPLACE")

    def configure(self):
        """Sets configs to anything, uses them, and sets the usual ones again."""
        for _ in range(3):
            config = self.chosen.choice(list(CONFIGS))
            template = f"{self.chosen.choice(HOSTILE)[:4]}* {self.chosen.choice(REALS)} {self.number()} {self.chosen.choice(WORDS)} {self.number()}; a 0.1 5"
            value = self.chosen.choice((*INTEGERS, *REALS, *WORDS, "yes", "no", "template", "100kb", template, "any-* 0.01 50;;"))
            if config != "apbf.max-bytes-per-key" or not (isinstance(value, int) and value > LARGEST):
                self.send("CONFIG", "SET", config, value)
        for _ in range(3):
            name = self.chosen.choice(HOSTILE)
            self.send("DEL", name)
            self.send("APBF.ADD", name, self.item())
        for config, value in CONFIGS.items():
            self.client.config_set(config, value)
        found = self.client.config_get("apbf.*")
        assert {name: str(value) for name, value in CONFIGS.items()} == found, found

    def limit_memory(self):
        used = self.client.info("memory")["used_memory"]
        most = self.chosen.choice((0, 0, 1, used, used + 20_000, used + 300_000))
        self.client.config_set("maxmemory", most)
        self.is_limited = most != 0

    def reload(self):
        """Everything is the same after it was saved and loaded, whatever clients have made of it."""
        before = self.state(self.primary)
        if self.chosen.random() < 0.6:
            way = "RELOAD"
        else:
            way = "LOADAOF"
            self.client.bgrewriteaof()
            eventually(lambda: not self.client.info("persistence")["aof_rewrite_in_progress"])
            assert self.client.info("persistence")["aof_last_bgrewrite_status"] == "ok"
        reply = self.send("DEBUG", way)
        assert not is_error(reply), reply
        assert_same(before, self.state(self.primary), way)
        self.counts["reloads"] += 1

    def state(self, server):
        """What a server has under each name."""
        return {name: (server.client.type(name), server.digest(name), server.client.pexpiretime(name)) for name in sorted(server.client.keys())}

    def disconnect(self):
        self.client.client_kill_filter(_type=self.chosen.choice(("replica", "normal")))
        self.client = self.primary.client = self.primary.connect()

    def compare(self):
        """The replica has the same bits, and keeps the same promises."""
        eventually(lambda: self.replica.client.info("replication")["master_link_status"] == "up")
        caught_up(self.primary, self.replica)
        for _ in range(5):
            self.send(*self.hostile_command(), to=self.replica.client)
        if self.client.execute_command("DEBUG", "DIGEST") != self.replica.client.execute_command("DEBUG", "DIGEST"):
            assert_same(self.state(self.primary), self.state(self.replica), "the replica")
            raise AssertionError("the digests of primary and replica differ")
        name = self.some_known()
        if name is not None:
            asked = self.windows[name].held()[:2_000]
            found = self.replica.client.execute_command("APBF.MEXISTS", name, *asked) if asked else []
            assert all(is_known or not self.windows[name].holds(item) for item, is_known in zip(asked, found, strict=True)), name
        self.counts["comparisons"] += 1

    STEPS = {reserve: 4, create_by_adding: 3, add: 30, check: 12, duplicate: 5, piece: 6, expire: 2, hostile: 25, forge: 14, configure: 2,
             limit_memory: 2, reload: 0.5, disconnect: 0.1, compare: 1}  # fmt: skip

    def step(self):
        chosen = self.chosen.choices(list(self.STEPS), list(self.STEPS.values()))[0]
        self.counts["steps"] += 1
        chosen(self)


def encoded(item):
    """The bytes that the client sends."""
    return item if isinstance(item, bytes) else str(item).encode()


def is_error(reply):
    return isinstance(reply, Exception)


def assert_same(expected, found, what):
    unlike = {name: (expected.get(name), found.get(name)) for name in {*expected, *found} if expected.get(name) != found.get(name)}
    assert not unlike, f"{what}: {unlike}"


def shortened(command):
    """A command in one line."""
    words = [shortened(word) if isinstance(word, tuple) else repr(word[:60] if isinstance(word, (str, bytes)) else word) for word in command]
    return " ".join(words[:20]) + (f" ... ({len(words)} words)" if len(words) > 20 else "")


def run(kind, directory, seed, is_over):
    """Takes random steps until `is_over`, which gets their number. Returns what was done."""
    directory = pathlib.Path(directory)
    # Dumps are not compressed, so that their snapshots can be forged; a replica that was away often needs everything. Each
    # command's histogram of its latencies would take 20 kB.
    options = ("--rdbcompression", "no", "--repl-backlog-size", "64kb", "--appendonly", "yes", "--aof-use-rdb-preamble", "no",
               "--auto-aof-rewrite-percentage", 0, "--latency-tracking", "no")  # fmt: skip
    primary, replica = (Server(kind, directory / name, *options).start() for name in ("primary", "replica"))
    fuzz = Fuzz(primary, replica, seed)
    try:
        follow(replica, primary)
        # Digests tell whether a key has an expiry; keys that have expired are deleted when they are used.
        for server in (primary, replica):
            server.client.execute_command("DEBUG", "SET-ACTIVE-EXPIRE", 0)
        for name, value in CONFIGS.items():
            fuzz.client.config_set(name, value)
        for name, (command, *arguments) in OTHERS.items():
            fuzz.client.execute_command(command, name, *arguments)
        fuzz.client.eval(SCRIPT, 0)
        before = fuzz.client.info("memory")["used_memory"]
        while not is_over(fuzz.counts["steps"]):
            fuzz.step()
        finish(fuzz, before)
        return fuzz.counts
    except BaseException:
        print(f"seed {seed}, after {fuzz.counts['steps']} steps; the last commands:", *map(shortened, fuzz.recent), sep="\n  ")
        print(primary.describe(), replica.describe(), sep="\n")
        raise
    finally:
        crashed = [server.log() for server in (primary, replica) if server.has_crashed()]
        for server in (primary, replica):
            server.stop("kill")
        assert not crashed, crashed[0]


def finish(fuzz, before):
    """All servers live, are equal, and give back what the filters took."""
    client = fuzz.client
    client.config_set("maxmemory", 0)
    fuzz.is_limited = False
    for _ in range(3):
        fuzz.check()
        fuzz.reload()
        fuzz.compare()
    for rate, asked in fuzz.questions.items():
        assert fuzz.mistaken[rate] <= most_successes(asked, rate), (rate, fuzz.mistaken[rate], asked)
    for server in (fuzz.primary, fuzz.replica):
        calls = [stats["calls"] for name, stats in server.client.info("commandstats").items() if name.startswith("cmdstat_apbf")]
        fuzz.counts["commands" if server is fuzz.primary else "replicated"] = sum(calls)
    client.execute_command("FLUSHALL", "SYNC")
    caught_up(fuzz.primary, fuzz.replica)
    for server in (fuzz.primary, fuzz.replica):
        section = server.client.info("apbf")
        assert (section["apbf_keys"], section["apbf_memory_bytes"]) == (0, 0), section
    # Buffers of clients and of the replication come and go.
    eventually(lambda: client.info("memory")["used_memory"] < before + (1 << 19))


if __name__ == "__main__":
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600
    kind = sys.argv[2] if len(sys.argv) > 2 else "redis"
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 32)
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as scratch:
        counts = run(kind, scratch, seed, lambda _: time.monotonic() > end)
    print(f"{kind}, seed {seed}, {seconds:.0f} s:", ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
