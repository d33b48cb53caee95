#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "argosy/base/export.h"
#include "argosy/ps/key.h"

namespace argosy::ps {

// The distinct ones of many keys, in order of first occurrence. Used by one thread at a time; keeps
// its memory between uses.
class ARGOSY_API Distinct {
 public:
  // Forgets all keys and makes place for `expected` ones.
  void begin(size_t expected);
  // The key's place among keys().
  uint32_t add(Key key) {
    if ((keys_.size() + 1) * 2 > slots_.size()) grow();
    for (size_t at = mix(key) >> shift_;; at = (at + 1) & (slots_.size() - 1)) {
      const uint32_t place = slots_[at];
      if (place == kNone) {
        slots_[at] = static_cast<uint32_t>(keys_.size());
        keys_.push_back(key);
        return slots_[at];
      }
      if (keys_[place] == key) return place;
    }
  }
  // The place of a key, or kNone.
  uint32_t find(Key key) const {
    if (slots_.empty()) return kNone;
    for (size_t at = mix(key) >> shift_;; at = (at + 1) & (slots_.size() - 1))
      if (slots_[at] == kNone || keys_[slots_[at]] == key) return slots_[at];
  }
  std::span<const Key> keys() const { return keys_; }
  size_t size() const { return keys_.size(); }

  static constexpr uint32_t kNone = ~uint32_t{0};

 private:
  void grow();

  std::vector<Key> keys_;
  std::vector<uint32_t> slots_;  // open addressing, at most half full; a power of two
  int shift_ = 63;
};

// Rows of one width to be pushed, one for each key. Rows added again for a key add up.
class ARGOSY_API Merged {
 public:
  // The first `kept` numbers of a row do not add up: they stay those of the first row (the slot of
  // click rows).
  explicit Merged(size_t width = 0, size_t kept = 0) : width_(width), kept_(kept) {}
  void begin(size_t expected);
  // The row of a key, zeros when it is new.
  float* row(Key key, bool* is_new = nullptr);
  void add(Key key, const float* values);
  std::span<const Key> keys() const { return distinct_.keys(); }
  const float* values() const { return values_.data(); }
  size_t size() const { return distinct_.size(); }
  size_t width() const { return width_; }
  size_t kept() const { return kept_; }

 private:
  size_t width_, kept_;
  Distinct distinct_;
  std::vector<float> values_;
};

}  // namespace argosy::ps
