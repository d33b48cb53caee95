#include "argosy/kernels/cpu/loops.h"

#include <cstring>
#include <numeric>
#include <vector>

#include "argosy/kernels/cpu/elementwise.h"
#include "tests/cpp/kernels/each_isa.h"

namespace argosy::cpu {
namespace {

std::vector<int64_t> dense(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

// out[index] = a[index] + b[index] by plain indexing.
void add_by_hand(const std::vector<int64_t>& shape, const float* a, const std::vector<int64_t>& sa,
                 const float* b, const std::vector<int64_t>& sb, float* out,
                 const std::vector<int64_t>& so) {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = i, pa = 0, pb = 0, po = 0;
    for (size_t d = shape.size(); d-- > 0;) {
      int64_t at = rest % shape[d];
      rest /= shape[d];
      pa += at * sa[d];
      pb += at * sb[d];
      po += at * so[d];
    }
    out[po] = a[pa] + b[pb];
  }
}

void check_add(std::vector<int64_t> shape, std::vector<int64_t> sa, std::vector<int64_t> sb,
               std::vector<int64_t> so = {}) {
  if (so.empty()) so = dense(shape);
  auto reach = [&](const std::vector<int64_t>& s) {
    int64_t r = 1;
    for (size_t d = 0; d < shape.size(); ++d) r += (shape[d] - 1) * std::abs(s[d]);
    return r;
  };
  std::vector<float> a(reach(sa)), b(reach(sb)), got(reach(so), -1), want(reach(so), -1);
  std::iota(a.begin(), a.end(), 0.5f);
  std::iota(b.begin(), b.end(), 1000.0f);
  auto start = [&](std::vector<float>& v, const std::vector<int64_t>& s) {
    float* p = v.data();
    for (size_t d = 0; d < shape.size(); ++d) {
      if (s[d] < 0) p -= (shape[d] - 1) * s[d];
    }
    return p;
  };
  add_by_hand(shape, start(a, sa), sa, start(b, sb), sb, start(want, so), so);
  Operand operands[] = {
      {start(a, sa), sa.data(), 4}, {start(b, sb), sb.data(), 4}, {start(got, so), so.data(), 4}};
  run_loop(add_loops()[DType::float32], shape, operands);
  EXPECT_EQ(got, want);
}

TEST(RunLoop, VisitsEveryElementOnceWhateverTheStrides) {
  for_each_isa([] {
    check_add({}, {}, {});
    check_add({0}, {1}, {1});
    check_add({5, 0, 3}, {0, 0, 1}, {0, 0, 1}, {0, 3, 1});
    for (int64_t n = 1; n < 70; ++n) {
      check_add({n}, {1}, {1});
      check_add({n}, {0}, {1});
      check_add({n}, {2}, {0});
      check_add({n}, {-1}, {1});
      check_add({n}, {1}, {1}, {3});
    }
    check_add({7, 5}, {5, 1}, {0, 1});
    check_add({7, 5}, {1, 0}, {5, 1});
    check_add({7, 5}, {1, 7}, {5, 1});          // transposed input
    check_add({7, 5}, {5, 1}, {5, 1}, {1, 7});  // transposed output
    check_add({3, 1, 4, 1, 5}, {20, 9, 5, 9, 1}, {0, 0, 5, 0, 1});
    check_add({4, 3, 2}, {6, 2, 1}, {0, 0, 1});
    check_add({1000, 3}, {3, 1}, {0, 1});  // short runs
    check_add({2, 3, 4, 5}, {-60, 20, -5, 1}, {0, 1, 0, 3});
    check_add({2, 2, 2, 2, 2, 2, 2, 2, 2}, {256, 128, 64, 32, 16, 8, 4, 2, 1},
              {1, 2, 4, 8, 16, 32, 64, 128, 256});
    check_add({300, 500}, {500, 1}, {1, 300});  // over the pool, by tiles
    check_add({3, 20, 256}, {5120, 1, 20}, {5120, 256, 1});
    check_add({20, 3, 70, 2}, {420, 140, 2, 1}, {1, 2800, 40, 20});
    check_add({40, 300}, {1, 40}, {1, 40}, {300, 1});
    check_add({40000, 3}, {3, 1}, {0, 1});
    check_add({100000}, {1}, {1});
  });
}

TEST(RunLoop, ShortRowsOfNumbersRowsAndRowsThatLieApart) {
  for_each_isa([] {
    for (int64_t w : {2, 3, 15, 16, 17, 40, 100, 256, 511, 512, 513}) {
      check_add({37, w}, {w, 1}, {1, 0});
      check_add({37, w}, {w, 1}, {0, 1});
      check_add({37, w}, {0, 1}, {1, 0});
      check_add({37, w}, {w + 3, 1}, {2, 0});
      check_add({37, w}, {-w - 1, 1}, {-1, 0});
      check_add({5, 37, w}, {37 * w, w, 1}, {0, 1, 0});
      check_add({5, 37, w}, {37 * w, w, 1}, {1, 0, 0});
      check_add({5, 37, w}, {37 * w, w, 1}, {w, 0, 1});
      check_add({5, 37, w}, {w, 5 * w, 1}, {37, 1, 0});
      check_add({37, w}, {w, 1}, {1, 0}, {w + 2, 1});  // rows of the output lie apart
    }
    check_add({9000, 40}, {40, 1}, {1, 0});  // over the pool
    check_add({300, 30, 40}, {40, 12000, 1}, {0, 0, 1});
  });
}

TEST(RunLoop, ShortRowsOfEveryWidth) {
  const int64_t shape[] = {23, 6}, dense_strides[] = {6, 1}, number[] = {1, 0}, row[] = {0, 1};
  for_each_isa([&] {
    auto check = [&]<class T>(T) {
      std::vector<T> a(23), b(6), out(138);
      for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(static_cast<float>(i));
      for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(static_cast<float>(3 * i));
      Operand operands[] = {{a.data(), number, sizeof(T)},
                            {b.data(), row, sizeof(T)},
                            {out.data(), dense_strides, sizeof(T)}};
      run_loop(add_loops()[dtype_of<T>], shape, operands);
      for (size_t i = 0; i < out.size(); ++i)
        ASSERT_EQ(out[i], static_cast<T>(static_cast<float>(i / 6 + 3 * (i % 6)))) << i;
    };
    check(uint8_t{}), check(int16_t{}), check(int32_t{}), check(int64_t{}), check(float16{});
    check(double{}), check(complex64{}), check(complex128{});
  });
}

TEST(RunLoop, OutputMayBeAnInput) {
  for_each_isa([] {
    for (int64_t n : {1, 7, 64, 1000, 70000}) {
      std::vector<float> a(n), b(n, 2.0f);
      std::iota(a.begin(), a.end(), 0.0f);
      Operand flat[] = {{a.data(), nullptr, 4}, {b.data(), nullptr, 4}, {a.data(), nullptr, 4}};
      run_loop_flat(add_loops()[DType::float32], n, flat);
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(a[i], i + 2.0f);
    }
  });
}

TEST(RunLoop, ThreadsDoNotChangeTheResult) {
  const int64_t n = 300001;
  std::vector<float> x(n), one(n), two(n);
  for (int64_t i = 0; i < n; ++i) x[i] = 20.0f * static_cast<float>(i) / n - 10;
  for_each_isa([&] {
    const int before = num_threads();
    for (auto* out : {&one, &two}) {
      set_num_threads(out == &one ? 1 : 2);
      Operand flat[] = {{x.data(), nullptr, 4}, {out->data(), nullptr, 4}};
      run_loop_flat(exp_loops()[DType::float32], n, flat, nullptr, 5);
    }
    set_num_threads(before);
    EXPECT_EQ(std::memcmp(one.data(), two.data(), n * 4), 0);
  });
}

TEST(RunLoop, AnElementDoesNotDependOnItsPlaceOrTheInstructionSet) {
  std::vector<float> x(200);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.37f * static_cast<float>(i) - 30;
  auto run = [&](const LoopTable& table, int64_t first, int64_t n, int64_t step) {
    std::vector<float> out(n);
    const int64_t in_stride = step, out_stride = 1;
    Operand operands[] = {{&x[first], &in_stride, 4}, {out.data(), &out_stride, 4}};
    run_loop(table[DType::float32], std::span(&n, 1), operands);
    return out;
  };
  const LoopTable& (*tables[])() = {exp_loops, log_loops,  tanh_loops, sin_loops,
                                    erf_loops, gelu_loops, mish_loops, asinh_loops};
  for (auto table : tables) {
    std::vector<float> whole;
    for_each_isa([&] {
      std::vector<float> here = run(table(), 0, 200, 1);
      if (!whole.empty()) {
        EXPECT_EQ(std::memcmp(whole.data(), here.data(), 800), 0);
      }
      whole = here;
      for (int64_t i = 0; i < 200; i += 13) {
        std::vector<float> alone = run(table(), i, 1, 1);
        EXPECT_EQ(std::memcmp(alone.data(), &whole[i], 4), 0) << i;
      }
      std::vector<float> strided = run(table(), 0, 66, 3);
      for (int64_t i = 0; i < 66; ++i) EXPECT_EQ(std::memcmp(&strided[i], &whole[3 * i], 4), 0);
    });
  }
}

}  // namespace
}  // namespace argosy::cpu
