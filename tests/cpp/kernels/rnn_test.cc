#include "argosy/kernels/cpu/rnn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "argosy/base/error.h"
#include "tests/cpp/kernels/each_isa.h"

namespace argosy::cpu {
namespace {

using Values = std::vector<double>;

Values random_values(int64_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> real(-1, 1);
  Values out(static_cast<size_t>(n));
  for (double& v : out) v = real(engine);
  return out;
}

// Everything a layer reads, and what a loss sum(weights * outputs) gives back.
struct Layer {
  RnnShape s;
  bool biased = true;
  std::vector<int32_t> lengths;  // or empty
  Values x, w_ih, w_hh, b_ih, b_hh, h0, c0;

  Layer(RnnMode mode, int64_t steps, int64_t batch, int64_t input, int64_t hidden, bool time_major,
        bool reverse, bool ragged) {
    s = {mode, steps, batch, input, hidden, time_major, reverse, hidden + 3};
    int64_t g = s.gates();
    x = random_values(steps * batch * input, 1);
    w_ih = random_values(g * input, 2);
    w_hh = random_values(g * hidden, 3);
    b_ih = random_values(g, 4);
    b_hh = random_values(g, 5);
    h0 = random_values(batch * hidden, 6);
    c0 = random_values(batch * hidden, 7);
    for (Values* v : {&w_ih, &w_hh})
      for (double& e : *v) e *= 0.5;
    if (ragged)
      for (int64_t b = 0; b < batch; ++b)
        lengths.push_back(static_cast<int32_t>(1 + (b * 7 + 2) % steps));
  }
  int64_t row(int64_t t, int64_t b) const {
    return s.time_major ? t * s.batch + b : b * s.steps + t;
  }
};

struct Outputs {
  Values y, h, c;
};

double sigmoid(double v) {
  return 1 / (1 + std::exp(-v));
}

// The formulas of rnn.h, one number at a time.
Outputs reference(const Layer& l) {
  const RnnShape& s = l.s;
  int64_t n = s.hidden, g = s.gates();
  Outputs out{Values(static_cast<size_t>(s.steps * s.batch * s.y_row)), l.h0, l.c0};
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t i = 0; i < s.steps; ++i) {
      int64_t t = s.reverse ? s.steps - 1 - i : i;
      if (!l.lengths.empty() && t >= l.lengths[static_cast<size_t>(b)]) continue;
      double* h = &out.h[static_cast<size_t>(b * n)];
      double* c = &out.c[static_cast<size_t>(b * n)];
      Values a(static_cast<size_t>(g)), u(a);
      for (int64_t k = 0; k < g; ++k) {
        auto at = static_cast<size_t>(k);
        a[at] = l.b_ih[at];
        u[at] = l.b_hh[at];
        for (int64_t j = 0; j < s.input; ++j)
          a[at] += l.x[static_cast<size_t>(l.row(t, b) * s.input + j)] *
                   l.w_ih[static_cast<size_t>(k * s.input + j)];
        for (int64_t j = 0; j < n; ++j) u[at] += h[j] * l.w_hh[static_cast<size_t>(k * n + j)];
      }
      for (int64_t j = 0; j < n; ++j) {
        auto gate = [&](int64_t k) { return static_cast<size_t>(k * n + j); };
        if (s.mode == RnnMode::lstm) {
          c[j] = sigmoid(a[gate(1)] + u[gate(1)]) * c[j] +
                 sigmoid(a[gate(0)] + u[gate(0)]) * std::tanh(a[gate(2)] + u[gate(2)]);
          h[j] = sigmoid(a[gate(3)] + u[gate(3)]) * std::tanh(c[j]);
        } else if (s.mode == RnnMode::gru) {
          double r = sigmoid(a[gate(0)] + u[gate(0)]), z = sigmoid(a[gate(1)] + u[gate(1)]);
          double m = std::tanh(a[gate(2)] + r * u[gate(2)]);
          h[j] = (h[j] - m) * z + m;
        } else {
          double v = a[gate(0)] + u[gate(0)];
          h[j] = s.mode == RnnMode::tanh ? std::tanh(v) : std::max(v, 0.0);
        }
        out.y[static_cast<size_t>(l.row(t, b) * s.y_row + j)] = h[j];
      }
    }
  return out;
}

template <class T>
std::vector<T> as(const Values& v) {
  return std::vector<T>(v.begin(), v.end());
}

template <class T>
struct Executed {
  std::vector<T> x, w_ih, w_hh, b_ih, b_hh, h0, c0, reserve;
  std::vector<T> y, h, c;

  explicit Executed(const Layer& l)
      : x(as<T>(l.x)),
        w_ih(as<T>(l.w_ih)),
        w_hh(as<T>(l.w_hh)),
        b_ih(as<T>(l.b_ih)),
        b_hh(as<T>(l.b_hh)),
        h0(as<T>(l.h0)),
        c0(as<T>(l.c0)),
        reserve(static_cast<size_t>(rnn_reserve_size(l.s))),
        y(static_cast<size_t>(l.s.steps * l.s.batch * l.s.y_row), T(0)),
        h(h0.size(), T(9)),
        c(h0.size(), T(9)) {
    bool lstm = l.s.mode == RnnMode::lstm;
    rnn_forward(dtype_of<T>, l.s,
                {x.data(), w_ih.data(), w_hh.data(), b_ih.data(), b_hh.data(), h0.data(),
                 lstm ? c0.data() : nullptr, l.lengths.empty() ? nullptr : l.lengths.data(),
                 y.data(), h.data(), lstm ? c.data() : nullptr, reserve.data()});
  }
};

template <class T>
void check_forward(const Layer& l) {
  double eps = sizeof(T) == 8 ? 1e-12 : 2e-5;
  Outputs want = reference(l);
  Executed<T> got(l);
  for (size_t i = 0; i < want.y.size(); ++i) ASSERT_NEAR(got.y[i], want.y[i], eps) << "y " << i;
  for (size_t i = 0; i < want.h.size(); ++i) ASSERT_NEAR(got.h[i], want.h[i], eps) << "h " << i;
  if (l.s.mode != RnnMode::lstm) return;
  for (size_t i = 0; i < want.c.size(); ++i) ASSERT_NEAR(got.c[i], want.c[i], eps) << "c " << i;
}

// Against differences of the reference in float64.
void check_backward(const Layer& l) {
  const RnnShape& s = l.s;
  bool lstm = s.mode == RnnMode::lstm;
  Executed<double> run(l);
  Values dy = random_values(static_cast<int64_t>(run.y.size()), 11);
  Values dh = random_values(s.batch * s.hidden, 12), dc = random_values(s.batch * s.hidden, 13);
  Values dx(l.x.size(), 9), dw_ih(l.w_ih.size(), 9), dw_hh(l.w_hh.size(), 9);
  Values db_ih(l.b_ih.size(), 9), db_hh(l.b_hh.size(), 9), dh0(dh.size(), 9), dc0(dc.size(), 9);
  rnn_backward(DType::float64, s,
               {run.x.data(), run.w_ih.data(), run.w_hh.data(), run.b_ih.data(), run.b_hh.data(),
                l.lengths.empty() ? nullptr : l.lengths.data(), run.reserve.data(), dy.data(),
                dh.data(), lstm ? dc.data() : nullptr, dx.data(), dw_ih.data(), dw_hh.data(),
                db_ih.data(), db_hh.data(), dh0.data(), lstm ? dc0.data() : nullptr});
  auto loss = [&](const Layer& at) {
    Outputs o = reference(at);
    double sum = 0;
    for (int64_t r = 0; r < s.steps * s.batch; ++r)
      for (int64_t j = 0; j < s.hidden; ++j) {
        auto i = static_cast<size_t>(r * s.y_row + j);
        sum += o.y[i] * dy[i];
      }
    for (size_t i = 0; i < dh.size(); ++i) sum += o.h[i] * dh[i] + (lstm ? o.c[i] * dc[i] : 0);
    return sum;
  };
  auto compare = [&](Values Layer::*field, const Values& got, const char* name) {
    for (size_t i = 0; i < got.size(); i += 1 + got.size() / 40) {
      Layer moved = l;
      constexpr double kStep = 1e-5;
      (moved.*field)[i] += kStep;
      double up = loss(moved);
      (moved.*field)[i] -= 2 * kStep;
      double slope = (up - loss(moved)) / (2 * kStep);
      ASSERT_NEAR(got[i], slope, 1e-6 * (1 + std::abs(slope))) << name << ' ' << i;
    }
  };
  compare(&Layer::x, dx, "dx");
  compare(&Layer::w_ih, dw_ih, "dw_ih");
  compare(&Layer::w_hh, dw_hh, "dw_hh");
  compare(&Layer::b_ih, db_ih, "db_ih");
  compare(&Layer::b_hh, db_hh, "db_hh");
  compare(&Layer::h0, dh0, "dh0");
  if (lstm) compare(&Layer::c0, dc0, "dc0");
}

class Rnn : public testing::TestWithParam<RnnMode> {};

TEST_P(Rnn, MatchesItsFormulas) {
  for_each_isa([] {
    for (bool time_major : {false, true})
      for (bool reverse : {false, true})
        for (bool ragged : {false, true}) {
          SCOPED_TRACE(testing::Message() << "time_major=" << time_major << " reverse=" << reverse
                                          << " ragged=" << ragged);
          for (int64_t batch : {1, 3, 37}) {
            Layer l(GetParam(), 5, batch, 4, 19, time_major, reverse, ragged);
            check_forward<float>(l);
            check_forward<double>(l);
          }
          check_backward(Layer(GetParam(), 4, 3, 3, 5, time_major, reverse, ragged));
        }
  });
}

TEST_P(Rnn, MissingOperandsAreZeros) {
  Layer l(GetParam(), 3, 2, 3, 4, false, false, false);
  for (Values* v : {&l.b_ih, &l.b_hh, &l.h0, &l.c0}) std::fill(v->begin(), v->end(), 0.0);
  Outputs want = reference(l);
  Values y(want.y.size()), reserve(static_cast<size_t>(rnn_reserve_size(l.s)));
  rnn_forward(DType::float64, l.s,
              {l.x.data(), l.w_ih.data(), l.w_hh.data(), nullptr, nullptr, nullptr, nullptr,
               nullptr, y.data(), nullptr, nullptr, reserve.data()});
  for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], want.y[i], 1e-12);
  // The gradient of sum(dy * y), where y alone is asked for, against differences.
  const Values dy = random_values(static_cast<int64_t>(y.size()), 11);
  Values dw(l.w_hh.size(), 9);
  rnn_backward(DType::float64, l.s,
               {l.x.data(), l.w_ih.data(), l.w_hh.data(), nullptr, nullptr, nullptr, reserve.data(),
                dy.data(), nullptr, nullptr, nullptr, nullptr, dw.data(), nullptr, nullptr, nullptr,
                nullptr});
  auto loss = [&](size_t i, double step) {
    Layer moved = l;
    moved.w_hh[i] += step;
    const Outputs o = reference(moved);
    double sum = 0;
    for (int64_t row = 0; row < l.s.steps * l.s.batch; ++row)
      for (int64_t j = 0; j < l.s.hidden; ++j) {
        const auto at = static_cast<size_t>(row * l.s.y_row + j);
        sum += o.y[at] * dy[at];
      }
    return sum;
  };
  for (size_t i = 0; i < dw.size(); ++i)
    ASSERT_NEAR(dw[i], (loss(i, 1e-5) - loss(i, -1e-5)) / 2e-5, 1e-6) << i;
}

TEST_P(Rnn, ThreadsDoNotChangeTheResult) {
  int threads = num_threads();
  Layer l(GetParam(), 6, 40, 8, 16, false, false, false);
  set_num_threads(1);
  Executed<float> one(l);
  set_num_threads(3);
  Executed<float> three(l);
  set_num_threads(threads);
  EXPECT_EQ(one.y, three.y);
  EXPECT_EQ(one.reserve, three.reserve);
}

INSTANTIATE_TEST_SUITE_P(Modes, Rnn,
                         testing::Values(RnnMode::lstm, RnnMode::gru, RnnMode::tanh,
                                         RnnMode::relu));

TEST(RnnErrors, RefusesHalf) {
  try {
    rnn_forward(DType::float16, RnnShape{}, RnnForward{});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::type);
    EXPECT_NE(std::string(e.what()).find("[rnn] has no kernel for float16"), std::string::npos);
  }
}

}  // namespace
}  // namespace argosy::cpu
