// Calls of a shard that walk over all of its rows.
#include <algorithm>
#include <bit>

#include "argosy/ps/table/shard.h"

namespace argosy::ps {
namespace {

uint32_t ordered(float value) {  // as unsigned integers are
  const auto bits = std::bit_cast<uint32_t>(value);
  return bits & 0x80000000 ? ~bits : bits | 0x80000000;
}

constexpr RowClass kClasses[] = {RowClass::base, RowClass::full, RowClass::candidate};

}  // namespace

void Shard::set_bit(RowClass kind, uint32_t id, bool value) {
  auto& words = changed_[static_cast<int>(kind)];
  const size_t word = id / 64;
  if (word >= words.size()) {
    if (!value) return;
    words.resize(std::max(word + 1, words.size() + words.size() / 4));
  }
  const uint64_t mask = uint64_t{1} << (id % 64);
  words[word] = value ? words[word] | mask : words[word] & ~mask;
}

bool Shard::bit(RowClass kind, uint32_t id) const {
  const auto& words = changed_[static_cast<int>(kind)];
  return id / 64 < words.size() && (words[id / 64] >> (id % 64) & 1);
}

uint16_t Shard::unseen(RowClass kind, const std::byte* payload) const {
  const uint32_t at = kind == RowClass::candidate ? 2 : Layout::kDay;
  return static_cast<uint16_t>(day_ - load<uint16_t>(payload + at));
}

void Shard::append_copy(RowClass kind, const std::byte* row, Rows* rows) const {
  const std::byte* from = row + layout_->header;
  const size_t at = rows->bytes.size(), bytes = row_bytes(kind);
  rows->keys.push_back(load<Key>(row));
  rows->bytes.insert(rows->bytes.end(), from, from + bytes);
  rows->offsets.push_back(static_cast<uint32_t>(at + bytes));
  std::byte* copy = rows->bytes.data() + at;
  if (kind == RowClass::candidate) {
    store<uint16_t>(copy + 2, unseen(kind, from));
  } else if (layout_->click) {
    store<uint16_t>(copy + Layout::kDay, unseen(kind, from));
    store<uint16_t>(copy + Layout::kDecays, 0);
  }
}

void Shard::measure(size_t* rows, size_t* bytes) const {
  *rows = size();
  *bytes = 0;
  for (const RowClass kind : kClasses) *bytes += size_t{slab(kind).size()} * row_bytes(kind);
}

void Shard::copy(Selection selection, bool mark, Rows* rows, std::vector<Key>* deleted) {
  const AccessorConfig& a = layout_->accessor;
  const bool serving = selection == Selection::base || selection == Selection::delta;
  const bool changed = selection == Selection::changed && tracking_;
  for (const RowClass kind : kClasses) {
    if (serving && kind == RowClass::candidate) continue;
    Slab& of = slab(kind);
    for (uint32_t id = 0; id < of.size(); ++id) {
      if (changed && !all_changed_ && !bit(kind, id)) {
        // Over 64 rows at once where none changed.
        const auto& words = changed_[static_cast<int>(kind)];
        if (id % 64 == 0 && (id / 64 >= words.size() || words[id / 64] == 0)) id |= 63;
        continue;
      }
      std::byte* from = of.row(id);
      if (serving && layout_->click) {
        std::byte* p = from + layout_->header;
        const float delta = selection == Selection::base ? 0 : a.delta_threshold;
        if (layout_->score(p) < a.base_threshold || load<float>(p + Layout::kDelta) < delta ||
            static_cast<float>(unseen(kind, p)) > a.delta_keep_days) {
          continue;
        }
        if (mark) store<float>(p + Layout::kDelta, 0);
      }
      append_copy(kind, from, rows);
    }
  }
  if (selection == Selection::changed && deleted) {
    deleted->insert(deleted->end(), deleted_.begin(), deleted_.end());
  }
  if (mark && !serving) {
    for (auto& words : changed_) words.assign(words.size(), 0);
    deleted_.clear();
    deleted_.shrink_to_fit();
    tracking_ = true;
    all_changed_ = false;
  }
}

uint64_t Shard::shrink() {
  const AccessorConfig& a = layout_->accessor;
  uint64_t gone = 0;
  ++decays_;
  // Backwards: what fills a gap was looked at before.
  for (const RowClass kind : kClasses) {
    if (kind != RowClass::candidate && !layout_->click) continue;
    Slab& of = slab(kind);
    for (uint32_t id = of.size(); id-- > 0;) {
      std::byte* p = of.row(id) + layout_->header;
      bool forget = static_cast<float>(unseen(kind, p)) > a.delete_after_unseen_days;
      if (kind != RowClass::candidate) {
        const float show = load<float>(p + Layout::kShow) * a.show_click_decay_rate;
        const float click = load<float>(p + Layout::kClick) * a.show_click_decay_rate;
        store(p + Layout::kShow, show);
        store(p + Layout::kClick, click);
        forget = forget || layout_->score(show, click) < a.delete_threshold;
      }
      if (!forget) continue;
      if (tracking_) deleted_.push_back(load<Key>(of.row(id)));
      remove(handle_of(kind, id));
      ++gone;
    }
  }
  if (layout_->click) all_changed_ = tracking_;
  if (index_.used() > size() + size() / 2 + 64) grow(size());
  return gone;
}

void Shard::end_day() {
  ++day_;
  if (layout_->click) all_changed_ = tracking_;
}

uint64_t Shard::priority(RowClass kind, const std::byte* row, uint32_t stamp) const {
  const std::byte* p = row + layout_->header;
  if (kind == RowClass::candidate) return 0xffffu - unseen(kind, p);
  constexpr uint64_t row_bit = uint64_t{1} << 62;
  if (!layout_->click) return row_bit | (0xffffffffu - (stamp - load<uint32_t>(row + 8)));
  return row_bit | uint64_t{ordered(layout_->score(p))} << 16 | (0xffffu - unseen(kind, p));
}

void Shard::priorities(uint32_t stamp, std::vector<uint64_t>* to) const {
  for (const RowClass kind : kClasses) {
    const Slab& of = slab(kind);
    for (uint32_t id = 0; id < of.size(); ++id) to->push_back(priority(kind, of.row(id), stamp));
  }
}

uint64_t Shard::evict(uint64_t bound, uint64_t most, uint32_t stamp, Rows* evicted) {
  uint64_t gone = 0;
  for (const RowClass kind : kClasses) {
    Slab& of = slab(kind);
    for (uint32_t id = of.size(); id-- > 0 && gone < most;) {
      const std::byte* row = of.row(id);
      if (priority(kind, row, stamp) > bound) continue;
      if (evicted) {
        append_copy(kind, row, evicted);
      } else if (tracking_) {
        deleted_.push_back(load<Key>(row));
      }
      remove(handle_of(kind, id));
      ++gone;
    }
  }
  if (index_.used() > size() + size() / 2 + 64) grow(size());
  return gone;
}

size_t Shard::bytes() const {
  size_t bytes = index_.bytes() + deleted_.capacity() * sizeof(Key);
  for (const auto& of : slabs_) bytes += of.bytes();
  for (const auto& words : changed_) bytes += words.capacity() * sizeof(uint64_t);
  return bytes;
}

void Shard::clear() {
  if (tracking_) {
    for (const auto& of : slabs_) {
      for (uint32_t id = 0; id < of.size(); ++id) deleted_.push_back(load<Key>(of.row(id)));
    }
  }
  for (auto& of : slabs_) of.clear();
  for (auto& words : changed_) words.clear();
  grow(0);
}

}  // namespace argosy::ps
