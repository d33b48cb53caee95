#pragma once

#include <cstdint>

namespace argosy::ps {

// Feature signs are unsigned 64-bit; ids fed as int64 are the same bits.
using Key = uint64_t;

// A table is cut into shards by key, whatever the number of servers. Each has a lock of its own and
// grows on its own.
constexpr uint32_t kShards = 1024;

// Spreads keys that differ in few bits over all bits (the finalizer of SplitMix64; a bijection).
constexpr uint64_t mix(Key key) {
  uint64_t x = key + 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

constexpr uint32_t shard_of_hash(uint64_t hash) {
  return hash & (kShards - 1);
}
constexpr uint32_t shard_of(Key key) {
  return shard_of_hash(mix(key));
}

// The server that has a key, out of `servers`. Reads the upper bits, so that keys of one server
// spread over all shards.
constexpr uint32_t server_of(Key key, uint32_t servers) {
  return static_cast<uint32_t>(((mix(key) >> 32) * servers) >> 32);
}

// A server's part of a dense table: [first, last) of `size` numbers.
struct Part {
  uint64_t first, last;
};
constexpr Part part_of(uint64_t size, uint32_t server, uint32_t servers) {
  using Wide = unsigned __int128;
  return {static_cast<uint64_t>(Wide{size} * server / servers),
          static_cast<uint64_t>(Wide{size} * (server + 1) / servers)};
}

}  // namespace argosy::ps
