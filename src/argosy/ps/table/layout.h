#pragma once

#include <cstring>
#include <string>

#include "argosy/ps/config.h"
#include "argosy/ps/key.h"
#include "argosy/ps/table/rule.h"
#include "argosy/ps/table/table.h"

// The bytes of a row. In memory a row is its key (8 bytes), a stamp (4, if the table asks for one)
// and what follows here; a copied row (Rows) is only what follows. Offsets are multiples of 4.
//
//   plain      weights, state                                          (rule.h)
//   click      0 slot u32 | 4 day u16 | 6 decays u16 | 8 delta score f32 | 12 show f32 | 16 click
//   f32
//              20 weight f32, its state
//              then, once the row has an embedding: weights, state
//   candidate  a key that admission by count has not let in yet: 0 pushes u16 | 2 day u16
//
// A click row with adagrad takes 28 bytes without and, at dim 8, 64 bytes with an embedding; its
// key takes 8 more.
//
// `day` is the shard's day of the last push in a row of a table, days since then in a copied row.
// `decays` counts the shrinks that show and click have seen (rows on disk miss some); 0 in copies.
namespace argosy::ps {

// A shard's days and shrinks.
struct ShardClock {
  uint16_t day = 0, decays = 0;
};

// Sizes of rows in a table. A handle of a row is id << class_bits | class.
enum class RowClass : uint8_t { base, full, candidate };

struct RowLayout {
  AccessorConfig accessor;
  AdmissionConfig admission;
  bool click = false;
  bool counted = false;  // admission by count: there are candidates
  bool stamped = false;
  uint32_t dim = 0, pull_width = 0, push_width = 0;
  Rule weight;     // click: of the one weight
  Rule embedding;  // plain: of the whole row
  uint32_t embedding_offset = 0;
  uint32_t header = 8;      // bytes of key and stamp
  uint32_t class_bits = 0;  // of a handle
  uint32_t bytes[3] = {};   // by RowClass, without header; full is base for plain

  explicit RowLayout(const TableConfig& config);
  std::string name() const;
  // Of a copied row, by its size. Throws if no row has this size.
  RowClass class_of(size_t row_bytes) const;
  // Whether a copied row is one here: where pushes are not counted, a candidate is none.
  bool keeps(size_t row_bytes) const {
    return counted || class_of(row_bytes) != RowClass::candidate;
  }
  std::string text(const std::byte* row, size_t row_bytes) const;

  // Click rows.
  static constexpr uint32_t kSlot = 0, kDay = 4, kDecays = 6, kDelta = 8, kShow = 12, kClick = 16,
                            kWeight = 20;
  float score(float show, float click) const {
    return (show - click) * accessor.nonclick_coefficient + click * accessor.click_coefficient;
  }
  float score(const std::byte* row) const;

  // Makes a copied row that was written at one clock what it is at another.
  void refresh(ShardClock now, ShardClock written, std::span<std::byte> copy) const;
  // Whether a shrink forgets a copied row, whose show and click it has decayed already.
  bool expired(std::span<const std::byte> copy) const;
  bool selected(Selection selection, std::span<const std::byte> copy) const;
};

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

inline float RowLayout::score(const std::byte* row) const {
  return score(load<float>(row + kShow), load<float>(row + kClick));
}

}  // namespace argosy::ps
