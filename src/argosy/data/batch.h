#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "argosy/tensor/tensor.h"

// Samples as slots: a slot is a named list of numbers of each sample, of a fixed count (dense) or
// of any (ragged).
namespace argosy::data {

struct Slot {
  std::string name;
  DType dtype =
      DType::int64;  // int64 (also of unsigned feature signs: the same bits), int32, float32
  bool ragged = false;
  // Sizes of one row: of a sample's value if dense, of each element of its list if ragged.
  Shape row;
  int64_t width() const { return row.numel(); }  // numbers in a row
  size_t item() const { return item_size(dtype); }
};

// What a line of text has.
struct Format {
  std::vector<Slot> slots;
  bool sample_id = false;  // before the slots, as "1 ID"
  bool content = false;    // after the id, as "1 TEXT"; passed over
  // Zeros in ragged slots are taken for padding and dropped, unless nothing else is there.
  bool drop_zeros = false;
};

struct Batch {
  std::vector<Tensor> values;   // by slot: [samples, row..], or [sum of lengths, row..] if ragged
  std::vector<Tensor> lengths;  // by slot: int64 [samples] if ragged, else undefined
  int64_t samples = 0;
  uint64_t bytes = 0;  // of text
};

// Bytes that grow, not initialized.
class Bytes {
 public:
  Bytes() = default;
  Bytes(Bytes&& o) noexcept
      : data_(std::exchange(o.data_, nullptr)),
        size_(std::exchange(o.size_, 0)),
        capacity_(std::exchange(o.capacity_, 0)) {}
  Bytes& operator=(Bytes&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    std::swap(capacity_, o.capacity_);
    return *this;
  }
  ~Bytes() { std::free(data_); }

  char* data() { return data_; }
  const char* data() const { return data_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  // REQUIRES: n <= capacity().
  void resize(size_t n) { size_ = n; }
  void reserve(size_t n) {
    if (n > capacity_) grow(n);
  }
  char* extend(size_t n) {
    if (size_ + n > capacity_) grow(size_ + n);
    char* p = data_ + size_;
    size_ += n;
    return p;
  }
  void append(const void* from, size_t n) {
    if (n) std::memcpy(extend(n), from, n);
  }

 private:
  void grow(size_t n) {
    size_t capacity = capacity_ * 2 > 256 ? capacity_ * 2 : 256;
    if (capacity < n) capacity = n;
    auto* p = static_cast<char*>(std::realloc(data_, capacity));
    if (!p) throw std::bad_alloc();
    data_ = p;
    capacity_ = capacity;
  }

  char* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

// Samples being gathered, slot by slot. Its memory is used again after finish().
class ARGOSY_API Columns {
 public:
  explicit Columns(const std::vector<Slot>& slots) : values(slots.size()), lengths(slots.size()) {}

  // Tensors of all samples, which are then gone from here.
  void finish(const std::vector<Slot>& slots, Batch* batch);
  void clear();

  std::vector<Bytes> values;
  std::vector<Bytes> lengths;  // int64, of ragged slots
  std::vector<uint64_t> ids;   // hashes, if the format has them
  int64_t samples = 0;
};

}  // namespace argosy::data
