#include "argosy/ps/table/shard.h"

#include <immintrin.h>

#include <algorithm>
#include <utility>

namespace argosy::ps {
namespace {

void copy_floats(float* __restrict to, const std::byte* __restrict from, uint32_t n) {
  const auto* f = reinterpret_cast<const float*>(from);
  uint32_t j = 0;
  for (; j + 8 <= n; j += 8) _mm256_storeu_ps(to + j, _mm256_loadu_ps(f + j));
  for (; j < n; ++j) to[j] = f[j];
}

void zero_floats(float* to, uint32_t n) {
  std::memset(to, 0, 4 * size_t{n});
}

uint32_t slot_of(float value) {
  return value > 0 ? value < 4294967040.0f ? static_cast<uint32_t>(value) : 0xffffff00u : 0;
}

}  // namespace

void Shard::open(const RowLayout* layout, RowChunks* base, RowChunks* full, RowChunks* candidates,
                 bool tiered) {
  layout_ = layout;
  tiered_ = tiered;
  RowChunks* pools[] = {base, full, candidates};
  for (int i = 0; i < 3; ++i) slabs_[i].open(pools[i], layout->header + layout->bytes[i]);
}

void Shard::look_up(std::span<const Item> items, uint32_t* handles) const {
  for (size_t i = 0; i < items.size(); ++i) {
    const uint32_t handle = handles[i] = index_.candidate(items[i].hash);
    if (handle != Index::kNone) {
      const Slab& rows = slab(class_of(handle));
      const std::byte* begin = rows.row(id_of(handle));
      const std::byte* end = begin + std::min<uint32_t>(rows.stride(), 512) - 1;
      for (const std::byte* line = begin; line < end; line += 64) __builtin_prefetch(line);
      __builtin_prefetch(end);
    }
  }
}

void Shard::grow(uint64_t rows) {
  const uint64_t wanted = rows + rows / 5 + 1;
  uint32_t* old = index_.reset(static_cast<uint32_t>(std::min<uint64_t>(wanted, 0xfffffff0)),
                               (wanted + 32) << layout_->class_bits);
  Index::release(old);
  for (int c = 0; c < 3; ++c) {
    const Slab& rows_of = slabs_[c];
    for (uint32_t id = 0; id < rows_of.size(); ++id) {
      const auto mixed = mix(load<Key>(rows_of.row(id)));
      index_.insert(index_hash(mixed), handle_of(static_cast<RowClass>(c), id));
    }
  }
}

uint32_t Shard::add(Key key, uint32_t hash, RowClass kind) {
  if (!index_.has_room()) grow(size() + 1);
  const uint32_t handle = handle_of(kind, slab(kind).add());
  std::byte* to = row(handle);
  store(to, key);
  if (layout_->stamped) store<uint32_t>(to + 8, 0);
  index_.insert(hash, handle);
  return handle;
}

uint32_t Shard::create(Key key, uint32_t hash) {
  const uint32_t handle = add(key, hash, RowClass::base);
  std::byte* p = payload(handle);
  if (layout_->click) {
    std::memset(p, 0, RowLayout::kWeight);
    store<uint16_t>(p + RowLayout::kDay, day_);
    layout_->weight.start(p + RowLayout::kWeight, key, 0);
  } else {
    layout_->embedding.start(p, key, 1);
  }
  set_changed(handle);
  return handle;
}

void Shard::start_embedding(uint32_t handle, Key key) {
  layout_->embedding.start(payload(handle) + layout_->embedding_offset, key, 1);
}

uint32_t Shard::admit(const Item& item, uint32_t handle, bool pushed, BatchCall* call) {
  const AdmissionConfig& rule = layout_->admission;
  if (layout_->counted) {
    if (!pushed) return Index::kNone;
    if (handle == Index::kNone) {
      handle = add(item.key, item.hash, RowClass::candidate);
      std::memset(payload(handle), 0, layout_->bytes[2]);
      ++call->made;
    }
    std::byte* p = payload(handle);
    const uint32_t pushes = load<uint16_t>(p) + 1u;
    touch(handle, call->stamp);
    if (pushes < rule.count) {
      store(p, static_cast<uint16_t>(pushes));
      store(p + 2, day_);
      set_changed(handle);
      return Index::kNone;
    }
    remove(handle);
    return create(item.key, item.hash);
  }
  if (rule.kind == "probability") {
    const double drawn = static_cast<double>(mix(item.key ^ 0x2545f4914f6cdd1d) >> 11) * 0x1p-53;
    if (drawn >= static_cast<double>(rule.probability)) return Index::kNone;
  }
  ++call->made;
  return create(item.key, item.hash);
}

Shard::Move Shard::remove(uint32_t handle) {
  index_.erase(index_hash(mix(load<Key>(row(handle)))), handle);
  return close_gap(handle);
}

Shard::Move Shard::close_gap(uint32_t handle) {
  const RowClass kind = class_of(handle);
  Slab& rows = slab(kind);
  const uint32_t id = id_of(handle), last = rows.size() - 1;
  Move moved;
  if (id != last) {
    const std::byte* from = rows.row(last);
    moved = {handle_of(kind, last), handle};
    index_.replace(index_hash(mix(load<Key>(from))), moved.from, handle);
    std::memcpy(rows.row(id), from, rows.stride());
    move_bits(kind, last, kind, id);
  } else {
    changed_.set(kind, id, false);
    unsaved_.set(kind, id, false);
  }
  rows.pop();
  return moved;
}

uint32_t Shard::convert(uint32_t handle, uint32_t hash, RowClass kind, Move* moved) {
  const Slab& from = slab(class_of(handle));
  Slab& rows = slab(kind);
  const uint32_t id = rows.add();
  const uint32_t made = handle_of(kind, id);
  std::memcpy(rows.row(id), from.row(id_of(handle)), std::min(from.stride(), rows.stride()));
  index_.replace(hash, handle, made);
  move_bits(class_of(handle), id_of(handle), kind, id);
  *moved = close_gap(handle);
  return made;
}

void Shard::read_row(uint32_t handle, float* out) const {
  const RowClass kind = class_of(handle);
  const std::byte* p = payload(handle);
  const Rule& rule = layout_->embedding;
  if (kind == RowClass::candidate) return zero_floats(out, layout_->pull_width);
  if (layout_->click) {
    copy_floats(out, p + RowLayout::kShow, 3);  // show, click, weight
    out += 3;
    if (kind == RowClass::base) return zero_floats(out, rule.dim);
    p += layout_->embedding_offset;
  }
  if (rule.storage == Storage::float32) {
    copy_floats(out, p, rule.dim);
  } else {
    rule.read(p, out);
  }
}

void Shard::look_for(std::span<const Item> items, std::vector<Item>* missing) const {
  uint32_t handles[kWindow];
  for (size_t begin = 0; begin < items.size(); begin += kWindow) {
    const auto window = items.subspan(begin, std::min<size_t>(kWindow, items.size() - begin));
    look_up(window, handles);
    for (size_t i = 0; i < window.size(); ++i) {
      if (verified(window[i], handles[i]) == Index::kNone) missing->push_back(window[i]);
    }
  }
}

void Shard::pull(std::span<const Item> items, float* out, BatchCall* call) {
  uint32_t handles[kWindow];
  const size_t width = layout_->pull_width;
  for (size_t begin = 0; begin < items.size(); begin += kWindow) {
    const auto window = items.subspan(begin, std::min<size_t>(kWindow, items.size() - begin));
    look_up(window, handles);
    for (size_t i = 0; i < window.size(); ++i) {
      const Item& item = window[i];
      uint32_t handle = verified(item, handles[i]);
      if (handle == Index::kNone) {
        // The look-up of the window may be older than a row that the window made.
        handle = find(item.key, item.hash);
      }
      if (handle == Index::kNone) {
        if (call->missing) {
          call->missing->push_back(item);
          continue;
        }
        if (call->create) handle = admit(item, handle, false, call);
      }
      if (handle == Index::kNone) {
        zero_floats(out + item.place * width, layout_->pull_width);
        continue;
      }
      touch(handle, call->stamp);
      read_row(handle, out + item.place * width);
    }
  }
}

void Shard::push(std::span<const Item> items, const float* values, BatchCall* call) {
  for (size_t begin = 0; begin < items.size(); begin += kWindow) {
    push_window(items.subspan(begin, std::min<size_t>(kWindow, items.size() - begin)), values,
                call);
  }
}

void Shard::push_window(std::span<const Item> items, const float* values, BatchCall* call) {
  const RowLayout& layout = *layout_;
  const size_t width = layout.push_width;
  Window w;
  look_up(items, w.handles);
  for (size_t i = 0; i < items.size(); ++i) {
    const float* value = values + items[i].place * width;
    w.handles[i] = verified(items[i], w.handles[i]);
    if (!all_finite(value, width)) {
      w.handles[i] = Index::kNone;
      ++call->rejected;
      continue;
    }
    admit_pushed(items, i, call, &w);
    const uint32_t handle = w.handles[i];
    if (handle == Index::kNone) continue;
    w.embedded[i] = true;
    touch(handle, call->stamp);
    set_changed(handle);
    if (layout.click) count_click(items, i, value, &w);
  }
  update_rows(items, values, w, call);  // nothing moves from here on
}

// Finds the row of item i, or makes it if admission lets the key in.
inline void Shard::admit_pushed(std::span<const Item> items, size_t i, BatchCall* call, Window* w) {
  const Item& item = items[i];
  uint32_t handle = std::exchange(w->handles[i], Index::kNone);
  if (handle == Index::kNone) handle = find(item.key, item.hash);
  if (handle == Index::kNone && call->missing) {
    call->missing->push_back(item);
    return;
  }
  const bool candidate = handle != Index::kNone && class_of(handle) == RowClass::candidate;
  if (handle != Index::kNone && !candidate) {
    w->handles[i] = handle;
    return;
  }
  const uint32_t made = admit(item, handle, true, call);
  // A candidate that became a row left a gap, which the last candidate filled. Rows of this window
  // are no candidates, later items are looked up again.
  if (candidate && made != Index::kNone) {
    for (size_t k = i + 1; k < items.size(); ++k) {
      if (w->handles[k] != Index::kNone && class_of(w->handles[k]) == RowClass::candidate) {
        w->handles[k] = Index::kNone;
      }
    }
  }
  w->handles[i] = made;
}

// Adds what was pushed to a row's counts. A row that is seen often enough gets an embedding, which
// moves it and another one.
inline void Shard::count_click(std::span<const Item> items, size_t i, const float* value,
                               Window* w) {
  const RowLayout& layout = *layout_;
  const uint32_t handle = w->handles[i];
  std::byte* p = payload(handle);
  const float show = value[1], click = value[2];
  const float shows = load<float>(p + RowLayout::kShow) + show;
  const float clicks = load<float>(p + RowLayout::kClick) + click;
  store(p + RowLayout::kSlot, slot_of(value[0]));
  store(p + RowLayout::kDay, day_);
  store(p + RowLayout::kDelta, load<float>(p + RowLayout::kDelta) + layout.score(show, click));
  store(p + RowLayout::kShow, shows);
  store(p + RowLayout::kClick, clicks);
  w->embedded[i] = class_of(handle) == RowClass::full;
  if (w->embedded[i] || layout.score(shows, clicks) < layout.accessor.embedding_threshold) return;
  Move moved;
  const uint32_t full = convert(handle, items[i].hash, RowClass::full, &moved);
  start_embedding(full, items[i].key);
  for (size_t k = 0; k < items.size(); ++k) {
    if (w->handles[k] == handle) {
      w->handles[k] = full;
    } else if (w->handles[k] != Index::kNone && w->handles[k] == moved.from) {
      w->handles[k] = moved.to;
    }
  }
}

// Runs the rules on the rows of a window.
inline void Shard::update_rows(std::span<const Item> items, const float* values, const Window& w,
                               BatchCall* call) {
  const RowLayout& layout = *layout_;
  std::byte* parts[kWindow];
  const float* gradients[kWindow];
  float scales[kWindow];
  Key keys[kWindow];
  RuleBatch batch;
  batch.keys = keys;
  batch.turn = call->stamp;
  batch.parts = parts;
  batch.gradients = gradients;
  if (layout.click && layout.accessor.show_scale) batch.scales = scales;
  const auto run = [&](const Rule& rule, uint32_t offset, size_t column,
                       bool all) ARGOSY_REQUIRES(mutex) {
    batch.count = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      if (w.handles[i] == Index::kNone || !(all || w.embedded[i])) continue;
      const float* value = values + items[i].place * size_t{layout.push_width};
      parts[batch.count] = payload(w.handles[i]) + offset;
      gradients[batch.count] = value + column;
      keys[batch.count] = items[i].key;
      if (batch.scales) scales[batch.count] = value[1] > 0 ? value[1] : 1;
      ++batch.count;
    }
    batch.learning_rate = call->learning_rate < 0 ? rule.config.learning_rate : call->learning_rate;
    rule.update(rule, batch);
  };
  if (layout.click) run(layout.weight, RowLayout::kWeight, 3, true);
  run(layout.embedding, layout.embedding_offset, layout.click ? 4 : 0, false);
}

void Shard::assign(std::span<const Item> items, const float* values, BatchCall* call) {
  const RowLayout& layout = *layout_;
  for (const Item& item : items) {
    const float* value = values + item.place * size_t{layout.pull_width};
    if (!all_finite(value, layout.pull_width)) {
      ++call->rejected;
      continue;
    }
    uint32_t handle = find(item.key, item.hash);
    if (handle == Index::kNone && call->missing) {
      call->missing->push_back(item);
      continue;
    }
    if (handle != Index::kNone && class_of(handle) == RowClass::candidate) {
      remove(handle);
      --call->made;
      handle = Index::kNone;
    }
    if (handle == Index::kNone) {
      handle = create(item.key, item.hash);
      ++call->made;
    }
    touch(handle, call->stamp);
    set_changed(handle);
    const float* embedding = value;
    if (layout.click) {
      embedding += 3;
      std::byte* p = payload(handle);
      store(p + RowLayout::kDay, day_);
      store(p + RowLayout::kShow, value[0]);
      store(p + RowLayout::kClick, value[1]);
      layout.weight.write(p + RowLayout::kWeight, value + 2);
      layout.weight.start_state(p + RowLayout::kWeight);
      if (class_of(handle) == RowClass::base) {
        // Zeros are what a row without an embedding is pulled as.
        if (std::all_of(embedding, embedding + layout.dim, [](float x) { return x == 0; })) {
          continue;
        }
        Move moved;
        handle = convert(handle, item.hash, RowClass::full, &moved);
      }
    }
    std::byte* part = payload(handle) + layout.embedding_offset;
    layout.embedding.write(part, embedding);
    layout.embedding.start_state(part);
  }
}

void Shard::take_delta_scores(std::span<const Item> items, const float* scores) {
  for (const Item& item : items) {
    const uint32_t handle = find(item.key, item.hash);
    if (handle == Index::kNone || class_of(handle) == RowClass::candidate) continue;
    std::byte* delta = payload(handle) + RowLayout::kDelta;
    store(delta, std::max(0.0f, load<float>(delta) - scores[item.place]));
    if (tiered_) unsaved_.set(class_of(handle), id_of(handle), true);
  }
}

bool Shard::erase(Key key, uint32_t hash) {
  const uint32_t handle = find(key, hash);
  if (handle == Index::kNone) return false;
  add_deleted(key);
  remove(handle);
  return true;
}

bool Shard::put(Key key, uint32_t hash, std::span<const std::byte> bytes, uint32_t stamp) {
  const RowClass kind = layout_->class_of(bytes.size());
  uint32_t handle = find(key, hash);
  const bool added = handle == Index::kNone;
  if (handle != Index::kNone && class_of(handle) != kind) {
    remove(handle);
    handle = Index::kNone;
  }
  if (handle == Index::kNone) handle = add(key, hash, kind);
  set_changed(put_bytes(handle, bytes, stamp));
  return added;
}

void Shard::restore(Key key, uint32_t hash, std::span<const std::byte> bytes, uint32_t stamp) {
  const uint32_t handle = add(key, hash, layout_->class_of(bytes.size()));
  put_bytes(handle, bytes, stamp);
  if (!away_.empty() && away_.erase(key)) changed_.set(class_of(handle), id_of(handle), true);
}

uint32_t Shard::put_bytes(uint32_t handle, std::span<const std::byte> bytes, uint32_t stamp) {
  std::byte* p = payload(handle);
  std::memcpy(p, bytes.data(), bytes.size());
  touch(handle, stamp);
  const bool candidate = class_of(handle) == RowClass::candidate;
  if (candidate || layout_->click) {
    std::byte* day = p + (candidate ? 2 : RowLayout::kDay);
    store<uint16_t>(day, static_cast<uint16_t>(day_ - load<uint16_t>(day)));
  }
  return handle;
}

}  // namespace argosy::ps
