#include "argosy/kernels/cpu/copy.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "tests/cpp/kernels/each_isa.h"

namespace argosy::cpu {
namespace {

// Copies a permutation of a dense array and compares item by item.
void check_permuted(const std::vector<int64_t>& source_shape, const std::vector<int>& order,
                    int size) {
  const int rank = static_cast<int>(source_shape.size());
  std::vector<int64_t> source_dense(rank, 1), shape(rank), from(rank), to(rank, 1);
  for (int d = rank - 1; d-- > 0;) source_dense[d] = source_dense[d + 1] * source_shape[d + 1];
  int64_t n = 1;
  for (int d = 0; d < rank; ++d) {
    shape[d] = source_shape[order[d]];
    from[d] = source_dense[order[d]];
    n *= shape[d];
  }
  for (int d = rank - 1; d-- > 0;) to[d] = to[d + 1] * shape[d + 1];
  std::vector<char> source(n * size), target(n * size, 0);
  for (int64_t i = 0; i < n * size; ++i) source[i] = static_cast<char>(i * 7 + i / 251);
  copy_strided(target.data(), to.data(), source.data(), from.data(), shape, size);
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = i, at = 0;
    for (int d = rank; d-- > 0;) {
      at += rest % shape[d] * from[d];
      rest /= shape[d];
    }
    ASSERT_EQ(std::memcmp(&target[i * size], &source[at * size], size), 0) << size << ' ' << i;
  }
}

TEST(Copy, Permutations) {
  for_each_isa([] {
    for (int size : {1, 2, 4, 8, 16}) {
      for (auto [rows, cols] : {std::pair{1, 1},
                                {1, 9},
                                {3, 5},
                                {8, 8},
                                {16, 16},
                                {17, 33},
                                {64, 70},
                                {5, 300},
                                {257, 300},
                                {515, 19}}) {
        check_permuted({rows, cols}, {1, 0}, size);
      }
      check_permuted({3, 17, 20}, {2, 0, 1}, size);
      check_permuted({3, 17, 20}, {0, 2, 1}, size);
      check_permuted({3, 17, 20}, {1, 0, 2}, size);
      check_permuted({2, 9, 5, 7}, {0, 2, 3, 1}, size);
      check_permuted({2, 9, 5, 7}, {3, 2, 1, 0}, size);
      check_permuted({4, 300, 300}, {0, 2, 1}, size);
    }
  });
}

TEST(Copy, BroadcastReversedAndStrided) {
  std::vector<int32_t> x(100);
  std::iota(x.begin(), x.end(), 0);
  std::vector<int32_t> y(60);
  const int64_t shape[] = {3, 20}, dense[] = {20, 1}, broadcast[] = {0, 1}, reversed[] = {20, -1},
                step[] = {1, 5};
  copy_strided(y.data(), dense, x.data(), broadcast, shape, 4);
  for (int i = 0; i < 60; ++i) EXPECT_EQ(y[i], i % 20);
  copy_strided(y.data(), dense, x.data() + 19, reversed, shape, 4);
  for (int i = 0; i < 60; ++i) EXPECT_EQ(y[i], i / 20 * 20 + 19 - i % 20);
  copy_strided(y.data(), dense, x.data(), step, shape, 4);
  for (int i = 0; i < 60; ++i) EXPECT_EQ(y[i], i / 20 + i % 20 * 5);
}

TEST(Copy, EverySecondElement) {
  const int64_t one[] = {1}, two[] = {2};
  for (const int size : {1, 2, 4, 8, 16}) {
    for (int64_t n = 1; n < 70; ++n) {
      std::vector<uint8_t> wide((2 * n - 1) * size), packed(n * size), back(wide.size(), 255);
      for (size_t i = 0; i < wide.size(); ++i) wide[i] = static_cast<uint8_t>(i * 7);
      copy_strided(packed.data(), one, wide.data(), two, std::span(&n, 1), size);
      copy_strided(back.data(), two, packed.data(), one, std::span(&n, 1), size);
      for (size_t i = 0; i < wide.size(); ++i) {
        const bool first = i / size % 2 == 0;
        ASSERT_EQ(back[i], first ? wide[i] : 255) << size << ' ' << n << ' ' << i;
        if (!first) continue;
        ASSERT_EQ(packed[i / size / 2 * size + i % size], wide[i]);
      }
    }
  }
}

TEST(Copy, OneElementFillsWhatIsDense) {
  const std::vector<int64_t> shape{7, 41}, dense{41, 1}, rows{48, 1}, turned{1, 7}, none{0, 0};
  auto check = [&]<class T>(T value, const std::vector<int64_t>& to) {
    const T before{};
    std::vector<T> y(7 * 48 + 1, before);
    copy_strided(y.data(), to.data(), &value, none.data(), shape, sizeof(T));
    std::vector<T> want(y.size(), before);
    for (int64_t i = 0; i < 7; ++i) {
      for (int64_t j = 0; j < 41; ++j) want[i * to[0] + j * to[1]] = value;
    }
    EXPECT_EQ(y, want);
  };
  for (const auto& to : {dense, rows, turned}) {
    check(uint8_t{9}, to);
    check(uint16_t{0x1234}, to);
    check(uint32_t{0x12345678}, to);
    check(uint64_t{0x123456789abcdef0}, to);
  }
}

TEST(Copy, IndexSelect) {
  std::vector<float> x(2 * 5 * 3);
  std::iota(x.begin(), x.end(), 0.0f);
  const std::vector<int64_t> index = {4, 0, -1, 2, 2};
  std::vector<float> y(2 * 5 * 3);
  index_select(y.data(), x.data(), 2, 5, 12, DType::int64, index.data(), 5);
  for (int o = 0; o < 2; ++o) {
    for (int i = 0; i < 5; ++i) {
      for (int j = 0; j < 3; ++j) {
        EXPECT_EQ(y[(o * 5 + i) * 3 + j], x[(o * 5 + (index[i] + 5) % 5) * 3 + j]);
      }
    }
  }
  const std::vector<int32_t> ids = {3, 1, 3};
  EXPECT_EQ(find_bad_index(DType::int32, ids.data(), 3, 0, 3), 0);
  EXPECT_EQ(find_bad_index(DType::int32, ids.data(), 3, 0, 4), -1);
}

TEST(Copy, ScatterAddKeepsTheOrderForAnyThreadCount) {
  const int64_t n = 5000, rows = 37, inner = 9;
  std::vector<int64_t> index(n);
  std::vector<float> updates(n * inner), want(rows * inner);
  for (int64_t i = 0; i < n; ++i) index[i] = i * 7919 % rows;
  for (int64_t i = 0; i < n * inner; ++i) updates[i] = 1.0f / static_cast<float>(i + 1);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < inner; ++j) want[index[i] * inner + j] += updates[i * inner + j];
  }
  const int before = num_threads();
  for (int threads : {1, 2}) {
    set_num_threads(threads);
    std::vector<float> got(rows * inner);
    scatter_add(DType::float32, got.data(), updates.data(), 1, rows, inner, DType::int64,
                index.data(), n);
    EXPECT_EQ(got, want);
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace argosy::cpu
