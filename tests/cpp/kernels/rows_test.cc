#include "argosy/kernels/cpu/rows.h"

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "argosy/base/half.h"
#include "tests/cpp/kernels/each_isa.h"

namespace argosy::cpu {
namespace {

using Doubles = std::vector<double>;

Doubles random_values(int64_t n, unsigned seed = 3, double scale = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0.3, scale);
  Doubles x(n);
  for (double& v : x) v = normal(random);
  return x;
}

// A tensor of any floating dtype, filled from and read as double.
class Buffer {
 public:
  Buffer(DType type, const Doubles& values)
      : type_(type), bytes_(values.size() * item_size(type)), n_(values.size()) {
    for (size_t i = 0; i < n_; ++i) {
      const float f = static_cast<float>(values[i]);
      char* at = bytes_.data() + i * item_size(type);
      dispatch_floating(type, [&]<class T>(T) {
        const T v = sizeof(T) == 8 ? static_cast<T>(values[i]) : static_cast<T>(f);
        std::memcpy(at, &v, sizeof(T));
      });
    }
  }
  Buffer(DType type, int64_t n) : Buffer(type, Doubles(n, -99)) {}
  void* get() { return bytes_.data(); }
  Doubles values() const {
    Doubles out(n_);
    for (size_t i = 0; i < n_; ++i) {
      dispatch_floating(type_, [&]<class T>(T) {
        T v;
        std::memcpy(&v, bytes_.data() + i * sizeof(T), sizeof(T));
        out[i] = static_cast<double>(v);
      });
    }
    return out;
  }

 private:
  DType type_;
  std::vector<char> bytes_;
  size_t n_;
};

void expect_near(const Doubles& got, const Doubles& want, double tolerance, const char* what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], tolerance * (1 + std::fabs(want[i]))) << what << " at " << i;
  }
}

double tolerance_of(DType t) {
  return t == DType::float64   ? 1e-12
         : t == DType::float32 ? 3e-6
         : t == DType::float16 ? 3e-3
                               : 2e-2;
}
constexpr DType kTypes[] = {DType::float64, DType::float32, DType::float16, DType::bfloat16};
DType statistics_type(DType t) {
  return t == DType::float64 ? t : DType::float32;
}

// Derivative of sum(dy * f(x)) by x, numerically.
Doubles numeric_gradient(const std::function<Doubles(const Doubles&)>& f, const Doubles& x,
                         const Doubles& dy) {
  Doubles dx(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double h = 1e-5;
    Doubles high = x, low = x;
    high[i] += h;
    low[i] -= h;
    const Doubles a = f(high), b = f(low);
    for (size_t k = 0; k < dy.size(); ++k) dx[i] += dy[k] * (a[k] - b[k]) / (2 * h);
  }
  return dx;
}

Doubles softmax_by_hand(const Doubles& x, int64_t outer, int64_t n, int64_t inner, bool log) {
  Doubles y(x.size());
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t j = 0; j < inner; ++j) {
      double sum = 0, high = -INFINITY;
      auto at = [&](int64_t i) { return (o * n + i) * inner + j; };
      for (int64_t i = 0; i < n; ++i) high = std::fmax(high, x[at(i)]);
      for (int64_t i = 0; i < n; ++i) sum += std::exp(x[at(i)] - high);
      for (int64_t i = 0; i < n; ++i) {
        const double l = x[at(i)] - high - std::log(sum);
        y[at(i)] = log ? l : std::exp(l);
      }
    }
  }
  return y;
}

TEST(Softmax, AllShapesAndDtypes) {
  for_each_isa([] {
    for (DType t : kTypes) {
      std::vector<std::array<int64_t, 3>> shapes = {
          {1, 5000, 1}, {300, 200, 1}, {2, 17, 5}, {3, 40, 130}, {0, 4, 1}};
      for (int64_t n = 1; n < 70; ++n) shapes.push_back({3, n, 1});
      for (auto [outer, n, inner] : shapes) {
        const Doubles x = Buffer(t, random_values(outer * n * inner, 3, 4)).values();
        const Doubles dy = Buffer(t, random_values(outer * n * inner, 4)).values();
        for (bool log : {false, true}) {
          Buffer in(t, x), grad(t, dy);
          Buffer out(t, static_cast<int64_t>(x.size())), dx(t, static_cast<int64_t>(x.size()));
          (log ? log_softmax : softmax)(t, in.get(), out.get(), outer, n, inner);
          const Doubles want = softmax_by_hand(x, outer, n, inner, log);
          expect_near(out.values(), want, tolerance_of(t), "softmax");
          Buffer y(t, want);
          (log ? log_softmax_grad : softmax_grad)(t, y.get(), grad.get(), dx.get(), outer, n,
                                                  inner);
          Doubles want_dx(x.size());
          const Doubles yv = y.values();
          for (int64_t o = 0; o < outer; ++o) {
            for (int64_t j = 0; j < inner; ++j) {
              double dot = 0;
              for (int64_t i = 0; i < n; ++i) {
                const int64_t at = (o * n + i) * inner + j;
                dot += log ? dy[at] : dy[at] * yv[at];
              }
              for (int64_t i = 0; i < n; ++i) {
                const int64_t at = (o * n + i) * inner + j;
                want_dx[at] = log ? dy[at] - std::exp(yv[at]) * dot : yv[at] * (dy[at] - dot);
              }
            }
          }
          expect_near(dx.values(), want_dx, tolerance_of(t) * (log ? 4 : 1), "softmax gradient");
        }
      }
    }
  });
}

TEST(Softmax, ExtremeInputs) {
  for_each_isa([] {
    float x[] = {1000, 999, -1000, -INFINITY}, y[4];
    softmax(DType::float32, x, y, 1, 4, 1);
    EXPECT_NEAR(y[0], 0.7310586, 1e-6);
    EXPECT_EQ(y[2], 0);
    EXPECT_EQ(y[3], 0);
    log_softmax(DType::float32, x, y, 1, 4, 1);
    EXPECT_NEAR(y[0], -0.3132617, 1e-6);
    EXPECT_EQ(y[3], -INFINITY);
    x[1] = NAN;
    softmax(DType::float32, x, y, 1, 4, 1);
    for (float v : y) EXPECT_TRUE(std::isnan(v));
  });
}

TEST(CrossEntropy, ForwardAndBackward) {
  for_each_isa([] {
    for (DType t : kTypes) {
      for (auto [rows, n] : {std::pair<int64_t, int64_t>{5, 10}, {64, 3}, {7, 1000}, {3, 1}}) {
        const Doubles x = Buffer(t, random_values(rows * n, 3, 2)).values(),
                      w = Buffer(t, random_values(n, 8)).values(),
                      dl = Buffer(t, random_values(rows, 9)).values();
        std::vector<int32_t> labels(rows);
        for (int64_t r = 0; r < rows; ++r) labels[r] = static_cast<int32_t>(r * 7 % n);
        labels[1] = -100;
        Buffer in(t, x), weight(t, w), loss(t, rows), p(t, rows * n), dloss(t, dl), dx(t, rows * n);
        cross_entropy(t, in.get(), DType::int32, labels.data(), weight.get(), rows, n, -100,
                      loss.get(), p.get());
        const Doubles want_log = softmax_by_hand(x, rows, n, 1, true);
        Doubles want(rows), want_dx(rows * n);
        cross_entropy_grad(t, p.get(), DType::int32, labels.data(), weight.get(), dloss.get(), 1,
                           rows, n, -100, dx.get());
        for (int64_t r = 0; r < rows; ++r) {
          if (labels[r] == -100) continue;
          want[r] = -want_log[r * n + labels[r]] * w[labels[r]];
          for (int64_t j = 0; j < n; ++j) {
            want_dx[r * n + j] =
                (std::exp(want_log[r * n + j]) - (j == labels[r])) * w[labels[r]] * dl[r];
          }
        }
        expect_near(loss.values(), want, tolerance_of(t), "loss");
        expect_near(p.values(), softmax_by_hand(x, rows, n, 1, false), tolerance_of(t),
                    "probability");
        expect_near(dx.values(), want_dx, tolerance_of(t), "loss gradient");
        Buffer alone(t, rows);
        cross_entropy(t, in.get(), DType::int32, labels.data(), weight.get(), rows, n, -100,
                      alone.get(), nullptr);
        expect_near(alone.values(), loss.values(), tolerance_of(t), "loss alone");
      }
    }
  });
}

Doubles layer_norm_by_hand(const Doubles& x, const Doubles& g, const Doubles& b, int64_t rows,
                           int64_t n, double epsilon, bool rms) {
  Doubles y(x.size());
  for (int64_t r = 0; r < rows; ++r) {
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < n && !rms; ++i) mean += x[r * n + i] / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i)
      squares += std::pow(x[r * n + i] - mean, 2) / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i) {
      y[r * n + i] = (x[r * n + i] - mean) / std::sqrt(squares + epsilon) * g[i] + b[i];
    }
  }
  return y;
}

TEST(CrossEntropy, ByColumnsIsTheSameAsByRows) {
  for_each_isa([] {
    for (DType type : {DType::float32, DType::float64})
      for (auto [outer, n, inner] : std::vector<std::array<int64_t, 3>>{{5, 10, 1},
                                                                        {200, 3, 1},
                                                                        {64, 31, 1},
                                                                        {1, 1, 1},
                                                                        {3, 10, 8},
                                                                        {2, 40, 65},
                                                                        {1, 300, 200}}) {
        ASSERT_TRUE(cross_entropy_goes_by_columns(type, n, inner));
        const Doubles values = random_values(outer * n * inner, 5, 4),
                      weights = random_values(n, 9);
        Doubles turned(values.size());
        for (int64_t o = 0; o < outer; ++o)
          for (int64_t k = 0; k < n; ++k)
            for (int64_t i = 0; i < inner; ++i)
              turned[(o * inner + i) * n + k] = values[(o * n + k) * inner + i];
        std::vector<int64_t> labels(outer * inner);
        for (size_t i = 0; i < labels.size(); ++i)
          labels[i] = i % 5 == 4 ? -7 : static_cast<int64_t>(i) % n;
        Buffer x(type, values), rows(type, turned), weight(type, weights);
        Buffer loss(type, outer * inner), want(type, outer * inner);
        Buffer softmax(type, outer * n * inner), want_softmax(type, outer * n * inner);
        for (void* w : {static_cast<void*>(nullptr), weight.get()}) {
          cross_entropy_columns(type, x.get(), DType::int64, labels.data(), w, outer, n, inner, -7,
                                loss.get(), softmax.get());
          cross_entropy(type, rows.get(), DType::int64, labels.data(), w, outer * inner, n, -7,
                        want.get(), want_softmax.get());
          expect_near(loss.values(), want.values(), tolerance_of(type), "loss");
          expect_near(softmax.values(), want_softmax.values(), tolerance_of(type), "softmax");
        }
      }
    EXPECT_FALSE(cross_entropy_goes_by_columns(DType::bfloat16, 10, 1));
    EXPECT_FALSE(cross_entropy_goes_by_columns(DType::float32, 100, 1));
  });
}

TEST(LayerNorm, ForwardAndBackward) {
  for_each_isa([] {
    for (bool rms : {false, true}) {
      for (auto [rows, n] :
           {std::pair<int64_t, int64_t>{3, 1}, {4, 7}, {5, 33}, {300, 6}, {2, 90}}) {
        const Doubles x = random_values(rows * n), g = random_values(n, 5), b = random_values(n, 6),
                      dy = random_values(rows * n, 7);
        auto forward = [&](const Doubles& v) {
          return layer_norm_by_hand(v, g, b, rows, n, 1e-3, rms);
        };
        Doubles dx = rows < 100 ? numeric_gradient(forward, x, dy) : Doubles();
        Doubles dg(n), db(n);
        const Doubles plain =
            layer_norm_by_hand(x, Doubles(n, 1), Doubles(n, 0), rows, n, 1e-3, rms);
        for (int64_t i = 0; i < rows * n; ++i) {
          dg[i % n] += dy[i] * plain[i];
          db[i % n] += dy[i];
        }
        for (DType t : kTypes) {
          for (DType wt : {t, DType::float32}) {
            if (t == DType::float64 && wt != t) continue;
            Buffer in(t, x), gamma(wt, g), beta(wt, b), y(t, rows * n), grad(t, dy),
                out(t, rows * n), dgamma(wt, n), dbeta(wt, n);
            const DType st = statistics_type(t);
            Buffer mean(st, rows), rstd(st, rows);
            const RowNorm a{t, wt, rows, n, 1e-3, rms};
            layer_norm(a, in.get(), gamma.get(), beta.get(), y.get(), mean.get(), rstd.get());
            layer_norm_grad(a, in.get(), gamma.get(), rms ? nullptr : mean.get(), rstd.get(),
                            grad.get(), out.get(), dgamma.get(), dbeta.get());
            // Inputs of 16 bits are rounded first.
            const double slack = item_size(t) == 2 ? 8 : 2;
            expect_near(y.values(), forward(x), tolerance_of(t) * slack, "layer norm");
            if (!dx.empty() && n > 1) {
              expect_near(out.values(), dx, std::max(1e-7, tolerance_of(t) * slack * 4),
                          "layer norm dx");
            }
            if (n > 1) expect_near(dgamma.values(), dg, tolerance_of(t) * slack * 4, "dgamma");
            expect_near(dbeta.values(), db, tolerance_of(t) * slack * 4, "dbeta");
          }
        }
      }
    }
  });
}

// Group g of sample n holds channels [g * members, (g + 1) * members).
Doubles group_norm_by_hand(const Doubles& x, const Doubles& g, const Doubles& b, int64_t n,
                           int64_t channels, int64_t inner, int64_t groups, bool last,
                           bool over_samples, double epsilon) {
  Doubles y(x.size());
  const int64_t members = channels / groups;
  auto at = [&](int64_t s, int64_t c, int64_t i) {
    return last ? (s * inner + i) * channels + c : (s * channels + c) * inner + i;
  };
  for (int64_t s = 0; s < (over_samples ? 1 : n); ++s) {
    for (int64_t k = 0; k < groups; ++k) {
      double mean = 0, squares = 0, count = 0;
      auto each = [&](auto f) {
        for (int64_t m = s; m < (over_samples ? n : s + 1); ++m) {
          for (int64_t c = k * members; c < (k + 1) * members; ++c) {
            for (int64_t i = 0; i < inner; ++i) f(at(m, c, i), c);
          }
        }
      };
      each([&](int64_t i, int64_t) { mean += x[i], count += 1; });
      mean /= count;
      each([&](int64_t i, int64_t) { squares += (x[i] - mean) * (x[i] - mean) / count; });
      each([&](int64_t i, int64_t c) {
        y[i] = (x[i] - mean) / std::sqrt(squares + epsilon) * g[c] + b[c];
      });
    }
  }
  return y;
}

TEST(GroupNorm, BothLayouts) {
  for_each_isa([] {
    for (bool last : {false, true}) {
      for (auto [n, channels, inner, groups] :
           {std::array<int64_t, 4>{2, 6, 9, 3}, {1, 4, 17, 1}, {3, 4, 5, 4}, {2, 32, 4, 8}}) {
        const int64_t all = n * channels * inner;
        const Doubles x = random_values(all), g = random_values(channels, 5),
                      b = random_values(channels, 6), dy = random_values(all, 7);
        auto forward = [&](const Doubles& v) {
          return group_norm_by_hand(v, g, b, n, channels, inner, groups, last, false, 1e-3);
        };
        const Doubles dx = numeric_gradient(forward, x, dy);
        auto by_gamma = [&](const Doubles& v) {
          return group_norm_by_hand(x, v, b, n, channels, inner, groups, last, false, 1e-3);
        };
        const Doubles dg = numeric_gradient(by_gamma, g, dy);
        for (DType t : kTypes) {
          const DType st = statistics_type(t);
          Buffer in(t, x), gamma(st, g), beta(st, b), y(t, all), grad(t, dy), out(t, all),
              dgamma(st, channels), dbeta(st, channels), mean(st, n * groups),
              variance(st, n * groups);
          const GroupNorm a{t, n, channels, inner, groups, 1e-3, last};
          group_norm(a, in.get(), gamma.get(), beta.get(), y.get(), mean.get(), variance.get());
          group_norm_grad(a, in.get(), mean.get(), variance.get(), gamma.get(), grad.get(),
                          out.get(), dgamma.get(), dbeta.get());
          const double slack = item_size(t) == 2 ? 8 : 2;
          expect_near(y.values(), forward(x), tolerance_of(t) * slack, "group norm");
          expect_near(out.values(), dx, std::max(1e-7, tolerance_of(t) * slack * 4),
                      "group norm dx");
          expect_near(dgamma.values(), dg, std::max(1e-7, tolerance_of(t) * slack * 4),
                      "group norm dgamma");
        }
      }
    }
  });
}

TEST(BatchNorm, BothLayouts) {
  for_each_isa([] {
    for (auto [n, channels, inner] :
         {std::array<int64_t, 3>{4, 3, 10}, {12, 5, 1}, {2, 17, 6}, {40, 1, 1}}) {
      const int64_t all = n * channels * inner;
      const Doubles x = random_values(all), g = random_values(channels, 5),
                    b = random_values(channels, 6), dy = random_values(all, 7);
      auto forward = [&](const Doubles& v) {
        return group_norm_by_hand(v, g, b, n, channels, inner, channels, false, true, 1e-3);
      };
      const Doubles dx = numeric_gradient(forward, x, dy);
      for (DType t : kTypes) {
        const DType st = statistics_type(t);
        Buffer in(t, x), gamma(st, g), beta(st, b), y(t, all), grad(t, dy), out(t, all),
            dgamma(st, channels), dbeta(st, channels), mean(st, channels), variance(st, channels);
        const ChannelNorm a{t, n, channels, inner};
        batch_norm_statistics(a, in.get(), mean.get(), variance.get());
        batch_norm_apply(a, in.get(), mean.get(), variance.get(), 1e-3, gamma.get(), beta.get(),
                         y.get());
        batch_norm_grad(a, in.get(), mean.get(), variance.get(), 1e-3, gamma.get(), grad.get(),
                        false, out.get(), dgamma.get(), dbeta.get());
        const double slack = item_size(t) == 2 ? 8 : 2;
        expect_near(y.values(), forward(x), tolerance_of(t) * slack, "batch norm");
        expect_near(out.values(), dx, std::max(1e-7, tolerance_of(t) * slack * 4), "batch norm dx");
        // With constant statistics the gradient is a scale.
        batch_norm_grad(a, in.get(), mean.get(), variance.get(), 1e-3, gamma.get(), grad.get(),
                        true, out.get(), nullptr, nullptr);
        Doubles fixed(all);
        const Doubles v = variance.values();
        for (int64_t i = 0; i < all; ++i) {
          const int64_t c = i / inner % channels;
          fixed[i] = dy[i] * g[c] / std::sqrt(v[c] + 1e-3);
        }
        expect_near(out.values(), fixed, tolerance_of(t) * slack, "batch norm dx, fixed");
      }
    }
  });
}

TEST(Rows, ThreadsDoNotChangeTheResult) {
  const int64_t rows = 400, n = 300;
  const Doubles x = random_values(rows * n), dy = random_values(rows * n, 7),
                g = random_values(n, 5);
  for_each_isa([&] {
    std::vector<Doubles> results[2];
    const int before = num_threads();
    for (int threads : {1, 2}) {
      set_num_threads(threads);
      const DType t = DType::float32;
      Buffer in(t, x), grad(t, dy), gamma(t, g), y(t, rows * n), mean(t, rows), rstd(t, rows),
          dx(t, rows * n), dgamma(t, n), dbeta(t, n);
      const RowNorm a{t, t, rows, n, 1e-5, false};
      layer_norm(a, in.get(), gamma.get(), nullptr, y.get(), mean.get(), rstd.get());
      layer_norm_grad(a, in.get(), gamma.get(), mean.get(), rstd.get(), grad.get(), dx.get(),
                      dgamma.get(), dbeta.get());
      auto& r = results[threads - 1];
      r = {y.values(), dx.values(), dgamma.values(), dbeta.values()};
      for (const ChannelNorm& c : {ChannelNorm{t, 40, 10, 300}, ChannelNorm{t, 1200, 100, 1}}) {
        Buffer m(t, c.channels), v(t, c.channels), out(t, rows * n), dg(t, c.channels),
            db(t, c.channels);
        batch_norm_statistics(c, in.get(), m.get(), v.get());
        batch_norm_grad(c, in.get(), m.get(), v.get(), 1e-5, nullptr, grad.get(), false, out.get(),
                        dg.get(), db.get());
        for (Buffer* o : {&m, &v, &out, &dg, &db}) r.push_back(o->values());
      }
    }
    set_num_threads(before);
    EXPECT_EQ(results[0], results[1]);
  });
}

}  // namespace
}  // namespace argosy::cpu
