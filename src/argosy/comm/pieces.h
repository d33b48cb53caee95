#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace argosy::comm {

// Memory that counts as one piece after the other: the bytes of a list of tensors.
class Pieces {
 public:
  void add(void* data, size_t bytes) {
    if (!bytes) return;
    parts_.push_back({static_cast<char*>(data), bytes, bytes_});
    bytes_ += bytes;
  }
  size_t bytes() const { return bytes_; }

  // run(pointer, offset from begin, bytes) for each stretch of [begin, begin + bytes).
  template <class F>
  void each(size_t begin, size_t bytes, F&& run) const {
    const size_t end = begin + bytes;
    // The part with the first byte; lists are walked front to back, but begin anywhere.
    auto part = std::upper_bound(parts_.begin(), parts_.end(), begin,
                                 [](size_t at, const Part& p) { return at < p.begin + p.bytes; });
    for (; part != parts_.end() && part->begin < end; ++part) {
      const size_t from = std::max(begin, part->begin);
      const size_t to = std::min(end, part->begin + part->bytes);
      run(part->data + (from - part->begin), from - begin, to - from);
    }
  }
  void copy_to(char* target, size_t begin, size_t bytes) const {
    each(begin, bytes, [&](char* p, size_t at, size_t n) { std::memcpy(target + at, p, n); });
  }
  void copy_from(const char* source, size_t begin, size_t bytes) const {
    each(begin, bytes, [&](char* p, size_t at, size_t n) { std::memcpy(p, source + at, n); });
  }

  // Appends stretches of [begin, begin + bytes) to `out`, until that is full; returns their bytes.
  size_t spans(size_t begin, size_t bytes, std::vector<iovec>* out, size_t most) const {
    size_t total = 0;
    // Few are wanted of a list that may be long: a megabyte at a time.
    constexpr size_t kStretch = size_t{1} << 20;
    for (size_t at = 0; at < bytes && out->size() < most; at += kStretch)
      each(begin + at, std::min(kStretch, bytes - at), [&](char* p, size_t, size_t n) {
        if (out->size() >= most) return;
        out->push_back({p, n});
        total += n;
      });
    return total;
  }

 private:
  struct Part {
    char* data;
    size_t bytes;
    size_t begin;
  };
  std::vector<Part> parts_;
  size_t bytes_ = 0;
};

// Bytes of two lists side by side: run(pointer of a, pointer of b, offset, bytes).
template <class F>
void each_of_both(const Pieces& a, size_t a_begin, const Pieces& b, size_t b_begin, size_t bytes,
                  F&& run) {
  a.each(a_begin, bytes, [&](char* p, size_t at, size_t n) {
    b.each(b_begin + at, n,
           [&](char* q, size_t more, size_t k) { run(p + more, q, at + more, k); });
  });
}

}  // namespace argosy::comm
