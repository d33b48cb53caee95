#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

// What a store and its clients say to each other, once they have proved the job's token: frames of
// four bytes with the length of the rest, then these fields.
namespace argosy::comm::net {

enum class Op : uint8_t {
  set,       // key, value
  set_once,  // the same unless the key is there; answers what is there afterwards
  get,       // waits for the key; value: milliseconds, 8 bytes
  add,       // value: 8 bytes; answers the sum
  check,     // answers "1" or "0"
  remove,    // answers "1" or "0"
  list,      // all keys that begin with `key`, as pairs
  count,     // answers the number of keys, 8 bytes
  watch,     // from now on this is the connection of a rank: value, 4 bytes
  beat,      // that rank lives
  ping,      // answers when all before it is done
  bye,       // the rank ends in good order
};

enum class Reply : uint8_t {
  done,     // with an answer
  absent,   // the key did not come in time
  changed,  // to watchers: key, value of a key that begins with kNews
  gone,     // to watchers: a rank, 4 bytes, whose process has ended; with a key: is silent
  beat,     // the store lives
};

inline constexpr char kNews = '!';
inline constexpr const char* kSilentKey = "silent";  // of Reply::gone
inline constexpr uint32_t kLargestFrame = 64u << 20;

struct Frame {
  uint8_t kind = 0;
  uint64_t id = 0;  // of a request, and of its answer
  std::string key, value;
};

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
template <class T>
T value_of(std::string_view bytes) {
  T out{};
  std::memcpy(&out, bytes.data(), bytes.size() < sizeof out ? bytes.size() : sizeof out);
  return out;
}

inline std::string pack(const Frame& f) {
  const auto key = static_cast<uint32_t>(f.key.size());
  const auto size = static_cast<uint32_t>(1 + 8 + 4 + f.key.size() + f.value.size());
  std::string out = bytes_of(size);
  out += static_cast<char>(f.kind);
  return out + bytes_of(f.id) + bytes_of(key) + f.key + f.value;
}

// Takes a frame from the front of `bytes`. 0: there is no whole one yet, -1: it is none.
inline int unpack(std::string_view bytes, Frame* out, size_t* taken) {
  if (bytes.size() < 4) return 0;
  const auto size = value_of<uint32_t>(bytes.substr(0, 4));
  if (size > kLargestFrame || size < 13) return -1;
  if (bytes.size() < 4 + size_t{size}) return 0;
  const std::string_view rest = bytes.substr(4, size);
  const auto key = value_of<uint32_t>(rest.substr(9, 4));
  if (key > size - 13) return -1;
  out->kind = static_cast<uint8_t>(rest[0]);
  out->id = value_of<uint64_t>(rest.substr(1, 8));
  out->key = rest.substr(13, key);
  out->value = rest.substr(13 + key);
  *taken = 4 + size_t{size};
  return 1;
}

// Pairs of keys and values, each with its length before it.
inline void append_text(std::string* out, std::string_view text) {
  *out += bytes_of(static_cast<uint32_t>(text.size()));
  *out += text;
}
inline bool take_text(std::string_view* from, std::string* out) {
  if (from->size() < 4) return false;
  const auto size = value_of<uint32_t>(from->substr(0, 4));
  if (from->size() - 4 < size) return false;
  *out = from->substr(4, size);
  from->remove_prefix(4 + size_t{size});
  return true;
}

}  // namespace argosy::comm::net
