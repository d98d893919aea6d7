"""One logical window over many keys, as docs/redis.md defines it."""

import xxhash

# The bytes "lately". The seed must differ from the filter's; otherwise items in one shard have correlated hashes.
SHARD_SEED = 0x6C6174656C79


def shard_key(name, shard):
    """The whole key is the hash tag, so the shards are spread over the slots."""
    return f"{{{name}:{shard}}}"


def shard_of(item, shards):
    """floor(xxh3_64(item) * shards / 2^64)."""
    item = item.encode() if isinstance(item, str) else item
    return xxhash.xxh3_64_intdigest(item, seed=SHARD_SEED) * shards >> 64


def by_shard(items, shards):
    """Returns the items of each shard, in order."""
    spread = {}
    for item in items:
        spread.setdefault(shard_of(item, shards), []).append(item)
    return spread
