#pragma once

#include <cstdint>
#include <cstring>

// Moving items whose type does not matter, by their size.
namespace argosy::cpu {

struct Item16 {
  uint64_t halves[2];
};

// f(T{}) with a type of `size` bytes: 1, 2, 4, 8 or 16.
template <class F>
decltype(auto) with_item(int64_t size, F&& f) {
  switch (size) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(Item16{});
  }
}

// f(move) with move(to, from) for rows of any number of bytes: memcpy of a known size is a move.
template <class F>
void with_row(int64_t bytes, F&& f) {
  auto known = [&]<class T>(T) {
    f([](char* to, const char* from) { std::memcpy(to, from, sizeof(T)); });
  };
  if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) return with_item(bytes, known);
  f([bytes](char* to, const char* from) { std::memcpy(to, from, static_cast<size_t>(bytes)); });
}

// The same for many rows that are hardly longer than a vector: those of up to 512 bytes are moved
// without a call.
template <class F>
void with_short_rows(int64_t bytes, F&& f) {
  if (bytes < 16 || bytes > 512) return with_row(bytes, f);
  auto by = [&]<int64_t step>() {
    f([bytes](char* to, const char* from) {
      for (int64_t i = 0; i + step < bytes; i += step) std::memcpy(to + i, from + i, step);
      std::memcpy(to + bytes - step, from + bytes - step, step);
    });
  };
  if (bytes < 32) return by.template operator()<16>();
  by.template operator()<32>();
}

// One row, up to 512 bytes of it without a call: where a copy of the loop for each size would be
// more than the choice is worth.
inline void move_row(char* to, const char* from, int64_t bytes) {
  auto by = [&]<size_t step>() {
    constexpr auto kStep = static_cast<int64_t>(step);
    for (int64_t i = 0; i + kStep < bytes; i += kStep) std::memcpy(to + i, from + i, step);
    std::memcpy(to + bytes - kStep, from + bytes - kStep, step);
  };
  if (bytes >= 32 && bytes <= 512) return by.template operator()<32>();
  if (bytes >= 8 && bytes < 32) return by.template operator()<8>();
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

}  // namespace argosy::cpu
