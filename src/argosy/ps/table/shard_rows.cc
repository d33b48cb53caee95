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

// Calls since `then`; rows that a call of now or later touched are new.
uint32_t age(uint32_t now, uint32_t then) {
  return static_cast<uint32_t>(std::max(static_cast<int32_t>(now - then), 0));
}

constexpr RowClass kClasses[] = {RowClass::base, RowClass::full, RowClass::candidate};

}  // namespace

void Shard::Bits::set(RowClass kind, uint32_t id, bool value) {
  auto& w = words[static_cast<int>(kind)];
  const size_t word = id / 64;
  if (word >= w.size()) {
    if (!value) return;
    w.resize(std::max(word + 1, w.size() + w.size() / 4));
  }
  const uint64_t mask = uint64_t{1} << (id % 64);
  w[word] = value ? w[word] | mask : w[word] & ~mask;
}

bool Shard::Bits::get(RowClass kind, uint32_t id) const {
  const auto& w = words[static_cast<int>(kind)];
  return id / 64 < w.size() && (w[id / 64] >> (id % 64) & 1);
}

template <class F>
void Shard::Bits::each(RowClass kind, uint32_t size, F&& f) const {
  const auto& w = words[static_cast<int>(kind)];
  const uint32_t count = std::min<uint32_t>((size + 63) / 64, static_cast<uint32_t>(w.size()));
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t rest = w[i];
    if (i == size / 64) rest &= (uint64_t{1} << (size % 64)) - 1;
    for (; rest; rest &= rest - 1) f(64 * i + static_cast<uint32_t>(std::countr_zero(rest)));
  }
}

void Shard::Bits::reset() {
  for (auto& w : words) w.assign(w.size(), 0);
}

void Shard::move_bits(RowClass from, uint32_t from_id, RowClass to, uint32_t to_id) {
  for (Bits* bits : {&changed_, &unsaved_}) {
    bits->set(to, to_id, bits->get(from, from_id));
    bits->set(from, from_id, false);
  }
}

uint16_t Shard::unseen(RowClass kind, const std::byte* payload) const {
  const uint32_t at = kind == RowClass::candidate ? 2 : RowLayout::kDay;
  return static_cast<uint16_t>(day_ - load<uint16_t>(payload + at));
}

void Shard::finish_copy(RowClass kind, const std::byte* from, std::byte* copy) const {
  if (kind == RowClass::candidate) {
    store<uint16_t>(copy + 2, unseen(kind, from));
  } else if (layout_->click) {
    store<uint16_t>(copy + RowLayout::kDay, unseen(kind, from));
    store<uint16_t>(copy + RowLayout::kDecays, 0);
  }
}

void Shard::append_copy(RowClass kind, const std::byte* row, Rows* rows) const {
  const std::byte* from = row + layout_->header;
  const size_t at = rows->bytes.size(), bytes = row_bytes(kind);
  rows->keys.push_back(load<Key>(row));
  rows->bytes.insert(rows->bytes.end(), from, from + bytes);
  rows->offsets.push_back(static_cast<uint32_t>(at + bytes));
  finish_copy(kind, from, rows->bytes.data() + at);
}

void Shard::append_rows(RowClass kind, const Bits* chosen, Rows* rows) const {
  const Slab& of = slab(kind);
  const uint32_t size = of.size();
  size_t n = chosen ? 0 : size;
  if (chosen) chosen->each(kind, size, [&](uint32_t) { ++n; });
  const size_t bytes = row_bytes(kind), header = layout_->header;
  const size_t first = rows->keys.size(), at = rows->bytes.size();
  rows->keys.resize(first + n);
  rows->offsets.resize(first + n + 1);
  rows->bytes.resize(at + n * bytes);
  Key* keys = rows->keys.data() + first;
  uint32_t* ends = rows->offsets.data() + first + 1;
  std::byte* to = rows->bytes.data() + at;
  // Few distinct lengths, all multiples of 4: cheaper than a call of memcpy for each row.
  const size_t words = bytes / 4;
  size_t done = 0;
  const auto append = [&](uint32_t id) {
    mutex.assert_held();
    const std::byte* row = of.row(id);
    keys[done] = load<Key>(row);
    ends[done] = static_cast<uint32_t>(at + (done + 1) * bytes);
    const std::byte* from = row + header;
    size_t w = 0;
    for (; w + 8 <= words; w += 8) std::memcpy(to + 4 * w, from + 4 * w, 32);
    for (; w < words; ++w) std::memcpy(to + 4 * w, from + 4 * w, 4);
    finish_copy(kind, from, to);
    to += bytes;
    ++done;
  };
  if (chosen) {
    chosen->each(kind, size, append);
  } else {
    for (uint32_t id = 0; id < size; ++id) append(id);
  }
}

void Shard::measure(size_t* rows, size_t* bytes) const {
  *rows = size();
  *bytes = 0;
  for (const RowClass kind : kClasses) *bytes += size_t{slab(kind).size()} * row_bytes(kind);
}

void Shard::copy(Selection selection, bool mark, Rows* rows, std::vector<Key>* deleted) {
  const bool serving = selection == Selection::base || selection == Selection::delta;
  const bool changed = selection == Selection::changed && tracking_;
  for (const RowClass kind : kClasses) {
    if (!serving) {
      append_rows(kind, changed && !all_changed_ ? &changed_ : nullptr, rows);
      continue;
    }
    if (kind == RowClass::candidate) continue;
    Slab& of = slab(kind);
    for (uint32_t id = 0; id < of.size(); ++id) {
      std::byte* from = of.row(id);
      const size_t begin = rows->bytes.size();
      append_copy(kind, from, rows);
      const std::span copy(rows->bytes.data() + begin, row_bytes(kind));
      if (!layout_->selected(selection, copy)) {
        rows->keys.pop_back();
        rows->offsets.pop_back();
        rows->bytes.erase(rows->bytes.begin() + static_cast<ptrdiff_t>(begin), rows->bytes.end());
      } else if (mark && layout_->click) {
        store<float>(from + layout_->header + RowLayout::kDelta, 0);
        if (tiered_) unsaved_.set(kind, id, true);
      }
    }
  }
  if (selection == Selection::changed && deleted) {
    deleted->insert(deleted->end(), deleted_.begin(), deleted_.end());
  }
  if (mark && !serving) {
    changed_.reset();
    away_.clear();
    deleted_.clear();
    deleted_.shrink_to_fit();
    tracking_ = true;
    all_changed_ = lost_track_ = false;
  }
}

void Shard::stop_tracking() {
  tracking_ = all_changed_ = lost_track_ = false;
  for (auto& words : changed_.words) std::vector<uint64_t>().swap(words);
  std::vector<Key>().swap(deleted_);
  std::unordered_set<Key>().swap(away_);
}

void Shard::lose_track() {
  stop_tracking();
  lost_track_ = true;
}

void Shard::shrink(std::vector<Key>* gone) {
  const AccessorConfig& a = layout_->accessor;
  ++decays_;
  // Backwards: what fills a gap was looked at before.
  for (const RowClass kind : kClasses) {
    if (kind != RowClass::candidate && !layout_->click) continue;
    Slab& of = slab(kind);
    for (uint32_t id = of.size(); id-- > 0;) {
      std::byte* p = of.row(id) + layout_->header;
      bool forget = static_cast<float>(unseen(kind, p)) > a.delete_after_unseen_days;
      if (kind != RowClass::candidate) {
        const float show = load<float>(p + RowLayout::kShow) * a.show_click_decay_rate;
        const float click = load<float>(p + RowLayout::kClick) * a.show_click_decay_rate;
        store(p + RowLayout::kShow, show);
        store(p + RowLayout::kClick, click);
        forget = forget || layout_->score(show, click) < a.delete_threshold;
      }
      if (!forget) continue;
      const Key key = load<Key>(of.row(id));
      gone->push_back(key);
      add_deleted(key);
      remove(handle_of(kind, id));
    }
  }
  if (layout_->click) all_changed_ = tracking_;
  if (index_.used() > size() + size() / 2 + 64) grow(size());
}

void Shard::end_day() {
  ++day_;
  if (layout_->click) all_changed_ = tracking_;
}

uint64_t Shard::priority(RowClass kind, const std::byte* row, uint32_t stamp) const {
  const std::byte* p = row + layout_->header;
  if (kind == RowClass::candidate) return 0xffffu - unseen(kind, p);
  constexpr uint64_t row_bit = uint64_t{1} << 62;
  if (!layout_->click) return row_bit | (0xffffffffu - age(stamp, load<uint32_t>(row + 8)));
  return row_bit | uint64_t{ordered(layout_->score(p))} << 16 | (0xffffu - unseen(kind, p));
}

void Shard::priorities(uint32_t stamp, std::vector<uint64_t>* to) const {
  for (const RowClass kind : kClasses) {
    const Slab& of = slab(kind);
    for (uint32_t id = 0; id < of.size(); ++id) to->push_back(priority(kind, of.row(id), stamp));
  }
}

uint64_t Shard::evict(uint64_t bound, uint64_t most, uint32_t stamp) {
  uint64_t gone = 0;
  if (most == 0) return gone;
  for (const RowClass kind : kClasses) {
    Slab& of = slab(kind);
    for (uint32_t id = of.size(); id-- > 0 && gone < most;) {
      const std::byte* row = of.row(id);
      if (priority(kind, row, stamp) > bound) continue;
      add_deleted(load<Key>(row));
      remove(handle_of(kind, id));
      ++gone;
    }
  }
  if (index_.used() > size() + size() / 2 + 64) grow(size());
  return gone;
}

uint64_t Shard::coldness(RowClass kind, const std::byte* row, uint32_t stamp) const {
  const std::byte* p = row + layout_->header;
  if (kind == RowClass::candidate) return uint64_t{unseen(kind, p)} << 32 | 0xffffffff;
  if (!layout_->click) return age(stamp, load<uint32_t>(row + 8));
  return uint64_t{unseen(kind, p)} << 32 | (0xffffffff - ordered(layout_->score(p)));
}

void Shard::coldness(uint32_t stamp, std::vector<uint64_t>* to) const {
  for (const RowClass kind : kClasses) {
    const Slab& of = slab(kind);
    for (uint32_t id = 0; id < of.size(); ++id) to->push_back(coldness(kind, of.row(id), stamp));
  }
}

bool Shard::all_pinned() const {
  return std::any_of(pins_.begin(), pins_.end(), [](const Pin* pin) { return pin->all; });
}

void Shard::collect_cold(uint64_t bound, uint64_t most, uint32_t stamp, std::vector<Key>* keys,
                         Rows* unsaved) const {
  if (all_pinned()) return;
  std::unordered_set<Key> pinned;
  for (const Pin* pin : pins_) {
    for (const Item& item : pin->items) pinned.insert(item.key);
  }
  for (const RowClass kind : kClasses) {
    const Slab& of = slab(kind);
    for (uint32_t id = 0; id < of.size() && keys->size() < most; ++id) {
      const std::byte* row = of.row(id);
      if (coldness(kind, row, stamp) < bound) continue;
      if (!pinned.empty() && pinned.contains(load<Key>(row))) continue;
      keys->push_back(load<Key>(row));
      if (unsaved_.get(kind, id)) append_copy(kind, row, unsaved);
    }
  }
}

void Shard::copy_unsaved(Rows* rows) const {
  for (const RowClass kind : kClasses) append_rows(kind, &unsaved_, rows);
}

void Shard::copy_keys(std::vector<Key>* keys) const {
  for (const auto& of : slabs_) {
    for (uint32_t id = 0; id < of.size(); ++id) keys->push_back(load<Key>(of.row(id)));
  }
}

void Shard::forget(std::span<const Key> keys) {
  for (const Key key : keys) {
    const uint32_t handle = find(key, index_hash(mix(key)));
    if (handle == Index::kNone) continue;
    // Where all have changed a copy asks nobody which did.
    if (tracking_ && !all_changed_ && changed_.get(class_of(handle), id_of(handle))) {
      away_.insert(key);
    }
    remove(handle);
  }
  check_track();
  if (index_.used() > size() + size() / 2 + 64) grow(size());
}

size_t Shard::bytes() const {
  size_t bytes = index_.bytes() + deleted_.capacity() * sizeof(Key);
  for (const auto& of : slabs_) bytes += of.bytes();
  for (const Bits* bits : {&changed_, &unsaved_}) {
    for (const auto& words : bits->words) bytes += words.capacity() * sizeof(uint64_t);
  }
  // A node and its part of the buckets.
  return bytes + (away_.size() + unerased_.size()) * (4 * sizeof(void*));
}

void Shard::clear() {
  // Whoever has a copy has rows that are nowhere now, on disk too.
  if (tracking_ && (tiered_ || deleted_.size() + size() > std::max(kRemembered, size()))) {
    lose_track();
  } else if (tracking_) {
    for (const auto& of : slabs_) {
      for (uint32_t id = 0; id < of.size(); ++id) deleted_.push_back(load<Key>(of.row(id)));
    }
  }
  for (auto& of : slabs_) of.clear();
  for (Bits* bits : {&changed_, &unsaved_}) {
    for (auto& words : bits->words) words.clear();
  }
  away_.clear();
  unerased_.clear();
  for (Pin* pin : pins_) pin->expired.clear();
  ++version_;
  grow(0);
}

}  // namespace argosy::ps
