#include "argosy/ps/distinct.h"

#include <algorithm>
#include <bit>

namespace argosy::ps {

void Distinct::begin(size_t expected) {
  keys_.clear();
  const size_t wanted = std::bit_ceil(std::max<size_t>(16, expected * 2));
  // A table much larger than needed costs more to clear than to make again.
  if (slots_.size() < wanted || slots_.size() > wanted * 8)
    slots_.assign(wanted, kNone);
  else
    std::fill(slots_.begin(), slots_.end(), kNone);
  shift_ = 64 - std::countr_zero(slots_.size());
}

void Distinct::grow() {
  slots_.assign(std::max<size_t>(16, slots_.size() * 2), kNone);
  shift_ = 64 - std::countr_zero(slots_.size());
  for (uint32_t i = 0; i < keys_.size(); ++i) {
    size_t at = mix(keys_[i]) >> shift_;
    while (slots_[at] != kNone) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = i;
  }
}

void Merged::begin(size_t expected) {
  distinct_.begin(expected);
  values_.clear();
  values_.reserve(expected * width_);
}

float* Merged::row(Key key, bool* is_new) {
  const size_t before = distinct_.size();
  const size_t place = distinct_.add(key);
  if (is_new) *is_new = place == before;
  if (place == before) values_.resize(values_.size() + width_);
  return values_.data() + place * width_;
}

void Merged::add(Key key, const float* values) {
  bool is_new = false;
  float* to = row(key, &is_new);
  if (is_new) {
    std::copy(values, values + width_, to);
    return;
  }
  for (size_t i = kept_; i < width_; ++i) to[i] += values[i];
}

}  // namespace argosy::ps
