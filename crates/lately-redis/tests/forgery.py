"""Snapshots and dumps whose contents were changed and whose checksums fit again."""

import string
import struct

import xxhash

# docs/format.md: the fields before the words, besides the starts of the generations and the state of elastic bins.
HEAD, STARTS, ELASTIC, ELASTIC_STATE = 152, 16, 5, 64 + 208
FOUR_BYTES = (*range(8, 40, 4), 56, 60, 80, 84)
EIGHT_BYTES = (40, 48, 64, 72, 88, 96, *range(104, 152, 8))
NUMBERS = (0, 1, 2, 3, 5, 16, 26, 64, 255, 1024, 2**16, 2**31, 2**32 - 1, 2**40, 2**48, 2**51, 2**52, 2**61, 2**61 + 1, 2**62, 2**62 + 1,
           2**63, 2**64 - 1)  # fmt: skip

# Of a dump: the type of a module's value, the kinds of its parts, and the version and checksum after them.
MODULE, NUMBER, STRING, END = b"\x07", b"\x02", b"\x05", b"\x00"
FOOT = 10
CHARACTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"


def head_length(snapshot):
    """Returns the length of what is before the words."""
    layout, k, l = struct.unpack_from("<III", snapshot, 12)
    return HEAD + (STARTS * 26 + ELASTIC_STATE if layout == ELASTIC else STARTS * (k + l))


def sealed(content):
    return bytes(content) + struct.pack("<Q", xxhash.xxh3_64_intdigest(bytes(content)))


def blueprint_of(snapshot):
    return sealed(snapshot[:head_length(snapshot)]) if len(snapshot) > HEAD else snapshot


def with_number(snapshot, places, number):
    """Returns the snapshot with another number in these fields of eight bytes."""
    content = bytearray(snapshot[:-8])
    for place in places:
        content[place:place + 8] = struct.pack("<Q", number)
    return sealed(content)


def with_inserts(snapshot, count):
    k, l = struct.unpack_from("<II", snapshot, 16)
    return with_number(snapshot, [104, *range(HEAD, HEAD + STARTS * (k + l), STARTS)], count)


def with_generation(snapshot, generation):
    return with_number(snapshot, [112], generation)


def forged(snapshot, chosen):
    """Returns the snapshot with some fields, words or its length changed. Nearly always the checksum fits."""
    content = bytearray(snapshot[:-8])
    head = min(head_length(snapshot), len(content) - 8)
    if chosen.random() < 0.15:
        # Counts that fit together.
        content = bytearray(with_inserts(snapshot, chosen.choice((2**51, 2**60, 2**61, 2**61 + 1, 2**62 - 5, 2**62)))[:-8])
    if chosen.random() < 0.15:
        content[112:120] = struct.pack("<Q", chosen.choice((2**16, 2**32, 2**51, 2**51 + 1, 2**52 - 1, 2**52)))
    for _ in range(chosen.choice((0, 1, 1, 2, 4))):
        match chosen.randrange(6):
            case 0:
                place = chosen.choice(FOUR_BYTES)
                content[place:place + 4] = struct.pack("<I", min(near(content, place, 4, chosen), 2**32 - 1))
            case 1 | 2:
                place = chosen.choice(EIGHT_BYTES)
                content[place:place + 8] = struct.pack("<Q", near(content, place, 8, chosen))
            case 3 | 4:
                place = chosen.randrange(HEAD, head - 7, 8)
                content[place:place + 8] = struct.pack("<Q", near(content, place, 8, chosen))
            case _:
                for _ in range(chosen.randrange(1, 9)):
                    content[chosen.randrange(head, len(content))] = chosen.choice((0, 1, 127, 128, 255, chosen.randrange(256)))
    match chosen.randrange(20):
        case 0:
            del content[chosen.randrange(len(content)):]
        case 1:
            content += chosen.randbytes(8 * chosen.randrange(1, 4))
        case 2:
            return bytes(content) + snapshot[-8:]
    return sealed(content)


def near(content, place, size, chosen):
    """A number that is usual, or near what was there."""
    there = int.from_bytes(content[place:place + size], "little")
    return chosen.choice((*NUMBERS, there + 1, max(there, 1) - 1, 2 * there, there // 2)) % 2**64


# Dumps.

def crc_table():
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (0x95AC9329AC4BC9B5 if number & 1 else 0)
        yield number


CRC = tuple(crc_table())


def mend(dump):
    """Returns the dump with the checksum that servers expect."""
    content, crc = bytes(dump[:-8]), 0
    for byte in content:
        crc = CRC[(crc ^ byte) & 255] ^ crc >> 8
    return content + struct.pack("<Q", crc)


def read_length(dump, at):
    """Returns a number as servers write it, and where it ends."""
    first = dump[at]
    match first >> 6:
        case 0:
            return first & 63, at + 1
        case 1:
            return (first & 63) << 8 | dump[at + 1], at + 2
    size = {0x80: 4, 0x81: 8}[first]
    return int.from_bytes(dump[at + 1:at + 1 + size], "big"), at + 1 + size


def length(number):
    return b"\x81" + number.to_bytes(8, "big")


def type_number(name):
    """Returns how dumps name a module's type: nine characters of six bits, and ten bits for the version of the encoding."""
    number = 0
    for character in name:
        number = number << 6 | CHARACTERS.index(character)
    return length(number << 10)


def parts_of(dump):
    """Returns the dump's type, the server's version of dumps, and the snapshot. The server must not compress strings."""
    assert dump[:1] == MODULE and mend(dump) == dump
    _, at = read_length(dump, 1)
    name, strings = dump[1:at], []
    while dump[at:at + 1] != END:
        number, begin = read_length(dump, at + 1)
        if dump[at:at + 1] == STRING:
            strings.append(dump[begin:begin + number])
            begin += number
        at = begin
    return name, dump[-FOOT:-8], b"".join(strings)


def as_dump(name, version, snapshot, chosen=None, said=None):
    """Writes a dump, with the snapshot in one string, or of random lengths. `said` is the length that it tells."""
    parts, at = [MODULE, name, NUMBER, length(len(snapshot) if said is None else said)], 0
    while at < len(snapshot):
        some = snapshot[at:at + (chosen.choice((10, 100, 5_000, len(snapshot))) if chosen else len(snapshot))]
        parts += [STRING, length(len(some)), some]
        at += len(some)
    return mend(b"".join((*parts, END, version, bytes(8))))
