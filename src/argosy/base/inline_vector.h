#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace argosy {

// A vector whose first N elements need no heap. Elements must be nothrow-movable.
template <class T, size_t N>
class InlineVector {
 public:
  InlineVector() {}  // not defaulted: `{}` would zero the room first
  InlineVector(std::initializer_list<T> init) { append(init.begin(), init.end()); }
  explicit InlineVector(std::span<const T> s) { append(s.data(), s.data() + s.size()); }
  InlineVector(const InlineVector& o) { append(o.begin(), o.end()); }
  InlineVector(InlineVector&& o) noexcept { take(o); }
  InlineVector& operator=(const InlineVector& o) {
    if (this != &o) {
      clear();
      append(o.begin(), o.end());
    }
    return *this;
  }
  InlineVector& operator=(InlineVector&& o) noexcept {
    if (this != &o) {
      destroy();
      take(o);
    }
    return *this;
  }
  ~InlineVector() {
    clear();
    free_heap();
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }
  operator std::span<const T>() const { return {data_, size_}; }
  operator std::span<T>() { return {data_, size_}; }

  void push_back(T value) {
    if (size_ == capacity_) grow(size_ + 1);
    new (data_ + size_) T(std::move(value));
    ++size_;
  }
  void append(const T* first, const T* last) {
    reserve(size_ + static_cast<size_t>(last - first));
    for (; first != last; ++first) new (data_ + size_++) T(*first);
  }
  void reserve(size_t n) {
    if (n > capacity_) grow(n);
  }
  void resize(size_t n) {
    reserve(n);
    while (size_ < n) new (data_ + size_++) T();
    while (size_ > n) data_[--size_].~T();
  }
  void pop_back() { data_[--size_].~T(); }
  void clear() {
    while (size_) data_[--size_].~T();
  }
  void insert(size_t at, T value) {
    push_back(std::move(value));
    for (size_t i = size_ - 1; i > at; --i) std::swap(data_[i], data_[i - 1]);
  }
  void erase(size_t at) {
    for (size_t i = at; i + 1 < size_; ++i) data_[i] = std::move(data_[i + 1]);
    pop_back();
  }
  bool operator==(const InlineVector& o) const {
    if (size_ != o.size_) return false;
    for (size_t i = 0; i < size_; ++i)
      if (!(data_[i] == o.data_[i])) return false;
    return true;
  }

 private:
  T* local() { return reinterpret_cast<T*>(room_); }
  bool on_heap() const { return data_ != reinterpret_cast<const T*>(room_); }
  [[gnu::noinline]] void grow(size_t n) {
    size_t capacity = capacity_ * 2 < n ? n : capacity_ * 2;
    T* fresh = static_cast<T*>(::operator new(capacity * sizeof(T), std::align_val_t(alignof(T))));
    for (size_t i = 0; i < size_; ++i) {
      new (fresh + i) T(std::move(data_[i]));
      data_[i].~T();
    }
    free_heap();
    data_ = fresh;
    capacity_ = static_cast<uint32_t>(capacity);
  }
  void free_heap() {
    if (on_heap()) ::operator delete(data_, std::align_val_t(alignof(T)));
  }
  void destroy() {
    clear();
    free_heap();
    data_ = local();
    capacity_ = N;
  }
  void take(InlineVector& o) {
    if (o.on_heap()) {
      data_ = std::exchange(o.data_, o.local());
      size_ = std::exchange(o.size_, 0);
      capacity_ = std::exchange(o.capacity_, static_cast<uint32_t>(N));
    } else {
      for (T& value : o) new (data_ + size_++) T(std::move(value));
      o.clear();
    }
  }

  T* data_ = local();
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  alignas(T) unsigned char room_[N * sizeof(T)];
};

}  // namespace argosy
