#include "argosy/kernels/cpu/conv.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "argosy/base/error.h"
#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/gemm.h"
#include "tests/cpp/kernels/values.h"

namespace argosy::cpu {
namespace {

ConvShape make(int dims, int64_t batch, int64_t ic, int64_t oc, int64_t groups, int64_t in,
               int64_t kernel, int64_t stride, int64_t dilation, int64_t before, int64_t after) {
  ConvShape s;
  s.dims = dims;
  s.batch = batch;
  s.in_channels = ic;
  s.out_channels = oc;
  s.groups = groups;
  for (int d = 0; d < dims; ++d) {
    s.in[d] = in + d;
    s.kernel[d] = kernel;
    s.stride[d] = stride;
    s.dilation[d] = dilation;
    s.pad[d] = before;
    s.out[d] = conv_out_size(s.in[d], kernel, stride, dilation, before, after);
  }
  return s;
}

struct Sizes {
  explicit Sizes(const ConvShape& s) {
    for (int d = 0; d < s.dims; ++d) in *= s.in[d], out *= s.out[d], kernel *= s.kernel[d];
    x = s.batch * s.in_channels * in;
    y = s.batch * s.out_channels * out;
    w = s.out_channels * (s.in_channels / s.groups) * kernel;
  }
  int64_t in = 1, out = 1, kernel = 1, x, y, w;
};

// Calls f(index in x, index in w, index in y) for every product of the convolution.
template <class F>
void for_products(const ConvShape& s, F f) {
  Sizes z(s);
  int64_t og = s.out_channels / s.groups, ig = s.in_channels / s.groups;
  auto at = [&](int64_t n, int64_t c, int64_t p, int64_t channels, int64_t spatial) {
    return s.channels_last ? (n * spatial + p) * channels + c : (n * channels + c) * spatial + p;
  };
  for (int64_t o = 0; o < z.out; ++o)
    for (int64_t k = 0; k < z.kernel; ++k) {
      int64_t position = 0, step = 1, ro = o, rk = k;
      bool inside = true;
      for (int d = s.dims; d-- > 0;) {
        int64_t i = ro % s.out[d] * s.stride[d] + rk % s.kernel[d] * s.dilation[d] - s.pad[d];
        ro /= s.out[d];
        rk /= s.kernel[d];
        inside = inside && i >= 0 && i < s.in[d];
        position += i * step;
        step *= s.in[d];
      }
      if (!inside) continue;
      for (int64_t n = 0; n < s.batch; ++n)
        for (int64_t oc = 0; oc < s.out_channels; ++oc)
          for (int64_t ic = 0; ic < ig; ++ic)
            f(at(n, oc / og * ig + ic, position, s.in_channels, z.in),
              (oc * ig + ic) * z.kernel + k, at(n, oc, o, s.out_channels, z.out));
    }
}

template <class T>
void expect_near(const std::vector<T>& got, const std::vector<double>& want, double eps,
                 const char* what) {
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(wide(got[i]), want[i], eps * (1 + std::abs(want[i]))) << what << " at " << i;
}

template <class T>
void check(const ConvShape& s) {
  SCOPED_TRACE(testing::Message() << name_of(dtype_of<T>) << " dims=" << s.dims
                                  << " last=" << s.channels_last << " n=" << s.batch
                                  << " ic=" << s.in_channels << " oc=" << s.out_channels
                                  << " g=" << s.groups << " in=" << s.in[0] << " k=" << s.kernel[0]
                                  << " s=" << s.stride[0] << " d=" << s.dilation[0]
                                  << " p=" << s.pad[0]);
  Sizes z(s);
  constexpr DType t = dtype_of<T>;
  double eps = t == DType::float64    ? 1e-12
               : t == DType::float32  ? 2e-5
               : t == DType::bfloat16 ? 8e-3
                                      : 2e-3;
  auto x = random_values<T>(z.x, -1, 1, 1), w = random_values<T>(z.w, -1, 1, 2);
  auto bias = random_values<T>(s.out_channels, -1, 1, 3), dy = random_values<T>(z.y, -1, 1, 4);
  std::vector<double> y(static_cast<size_t>(z.y)), dx(x.size()), dw(w.size()), db(bias.size());
  for_products(s, [&](int64_t i, int64_t k, int64_t o) {
    auto a = static_cast<size_t>(i), b = static_cast<size_t>(k), c = static_cast<size_t>(o);
    y[c] += wide(x[a]) * wide(w[b]);
    dx[a] += wide(dy[c]) * wide(w[b]);
    dw[b] += wide(dy[c]) * wide(x[a]);
  });
  for (int64_t i = 0; i < z.y; ++i) {
    int64_t c = s.channels_last ? i % s.out_channels : i / z.out % s.out_channels;
    y[static_cast<size_t>(i)] += wide(bias[static_cast<size_t>(c)]);
    db[static_cast<size_t>(c)] += wide(dy[static_cast<size_t>(i)]);
  }
  std::vector<T> got_y(y.size(), T(77)), got_dx(dx.size(), T(77)), got_dw(dw.size(), T(77)),
      got_db(db.size(), T(77));
  conv_forward(t, s, x.data(), w.data(), bias.data(), got_y.data());
  expect_near(got_y, y, eps, "y");
  conv_backward_data(t, s, dy.data(), w.data(), got_dx.data());
  expect_near(got_dx, dx, eps, "dx");
  conv_backward_weights(t, s, x.data(), dy.data(), got_dw.data(), got_db.data());
  expect_near(got_dw, dw, eps * 10, "dweights");
  expect_near(got_db, db, eps * 10, "dbias");
}

TEST(Conv, FormsAndDtypes) {
  //          dims n  ic oc g  in k s d before after
  ConvShape shapes[] = {
      make(2, 2, 3, 5, 1, 7, 3, 1, 1, 1, 1),   make(2, 3, 1, 6, 1, 9, 5, 1, 1, 2, 2),
      make(2, 2, 4, 6, 2, 8, 3, 2, 1, 0, 1),   make(2, 1, 6, 6, 6, 9, 3, 1, 2, 2, 2),
      make(2, 2, 16, 32, 1, 6, 3, 1, 1, 1, 1), make(2, 2, 5, 7, 1, 6, 1, 1, 1, 0, 0),
      make(2, 2, 8, 4, 1, 7, 1, 2, 1, 0, 0),   make(1, 3, 4, 6, 1, 12, 3, 2, 1, 2, 0),
      make(1, 2, 3, 3, 3, 10, 4, 1, 3, 4, 5),  make(3, 2, 2, 4, 1, 5, 3, 2, 1, 1, 1),
      make(3, 1, 4, 4, 4, 4, 2, 1, 1, 0, 0),   make(2, 1, 6, 12, 6, 5, 3, 1, 1, 1, 1),
      make(2, 1, 2, 2, 1, 3, 3, 1, 1, 4, 4)};
  for (ConvShape s : shapes)
    for (bool last : {false, true}) {
      s.channels_last = last;
      check<float>(s);
      check<double>(s);
      check<float16>(s);
      check<bfloat16>(s);
    }
}

// Large enough to be cut by images, with a smaller last chunk, and by channels.
TEST(Conv, ChunksAndSlices) {
  ConvShape shapes[] = {
      make(2, 11, 16, 32, 1, 12, 3, 1, 1, 1, 1), make(2, 1, 32, 128, 1, 15, 3, 1, 1, 1, 1),
      make(2, 3, 128, 128, 1, 4, 3, 1, 1, 1, 1), make(2, 7, 24, 48, 1, 13, 3, 2, 1, 1, 1),
      make(2, 5, 64, 64, 64, 20, 3, 1, 1, 1, 1)};
  for (ConvShape s : shapes)
    for (bool last : {false, true}) {
      s.channels_last = last;
      check<float>(s);
    }
  check<double>(make(2, 5, 8, 12, 1, 20, 3, 1, 1, 1, 1));
}

// The input of a strided convolution may be longer than its windows reach (output_padding of a
// transposed one): what no window sees gets no gradient.
TEST(Conv, TrailingInputIsNotReached) {
  ConvShape s = make(2, 2, 4, 6, 1, 8, 3, 3, 1, 0, 0);
  EXPECT_EQ(s.out[0], 2);
  check<float>(s);
  check<double>(s);
}

TEST(Conv, NoBias) {
  ConvShape s = make(2, 1, 1, 1, 1, 2, 1, 1, 1, 0, 0);
  float x[] = {1, 2, 3, 4, 5, 6}, w = 2, y[6];
  conv_forward(DType::float32, s, x, &w, nullptr, y);
  EXPECT_EQ(std::vector<float>(y, y + 6), (std::vector<float>{2, 4, 6, 8, 10, 12}));
}

TEST(Conv, EmptyBatchGivesZeroWeightGradient) {
  ConvShape s = make(2, 0, 2, 3, 1, 5, 3, 1, 1, 1, 1);
  for (DType t : {DType::float32, DType::float64}) {
    std::vector<double> dw(54, 9), db(3, 9);
    conv_forward(t, s, nullptr, dw.data(), nullptr, nullptr);
    conv_backward_weights(t, s, nullptr, nullptr, dw.data(), db.data());
    const auto all_zero = [&](const std::vector<double>& list) {
      const auto* as_float = reinterpret_cast<const float*>(list.data());
      for (size_t i = 0; i < list.size(); ++i)
        if (t == DType::float64 ? list[i] != 0 : as_float[i] != 0) return false;
      return true;
    };
    EXPECT_TRUE(all_zero(dw)) << name_of(t);
    EXPECT_TRUE(all_zero(db)) << name_of(t);
  }
}

TEST(Conv, ThreadsDoNotChangeTheResult) {
  int threads = num_threads();
  for (ConvShape s :
       {make(2, 9, 16, 64, 1, 14, 3, 1, 1, 1, 1), make(2, 1, 64, 64, 1, 20, 3, 1, 1, 1, 1)}) {
    Sizes z(s);
    auto x = random_values<float>(z.x, -1, 1, 1), w = random_values<float>(z.w, -1, 1, 2),
         dy = random_values<float>(z.y, -1, 1, 3);
    std::vector<float> y[2], dx[2], dw[2];
    for (int i : {0, 1}) {
      set_num_threads(i == 0 ? 1 : 3);
      y[i].resize(dy.size());
      dx[i].resize(x.size());
      dw[i].resize(w.size());
      conv_forward(DType::float32, s, x.data(), w.data(), nullptr, y[i].data());
      conv_backward_data(DType::float32, s, dy.data(), w.data(), dx[i].data());
      conv_backward_weights(DType::float32, s, x.data(), dy.data(), dw[i].data(), nullptr);
    }
    EXPECT_EQ(y[0], y[1]);
    EXPECT_EQ(dx[0], dx[1]);
    EXPECT_EQ(dw[0], dw[1]);
  }
  set_num_threads(threads);
}

// Plans are shared: many threads at once, more shapes than one.
TEST(Conv, ConcurrentCallers) {
  std::vector<std::thread> callers;
  std::atomic<int> ready{0};
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      ++ready;
      while (ready < 4) std::this_thread::yield();
      for (int64_t size : {6, 7, 8, 9, 6, 7})
        check<float>(make(2, 2, 16, 16, 1, size, 3, 1, 1, 1, 1));
    });
  for (auto& t : callers) t.join();
}

// oneDNN's own threads would hang the child of a process that has used them.
TEST(Conv, RunsInAForkedChild) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "threads in a forked child";
#endif
  const ConvShape s = make(2, 16, 32, 64, 1, 20, 3, 1, 1, 1, 1);
  const Sizes z(s);
  check<float>(make(2, 2, 32, 64, 1, 20, 3, 1, 1, 1, 1));  // backward too
  const auto x = random_values<float>(z.x, -1, 1, 1), w = random_values<float>(z.w, -1, 1, 2);
  auto run = [&] {
    std::vector<float> y(static_cast<size_t>(z.y)), product(512 * 512);
    conv_forward(DType::float32, s, x.data(), w.data(), nullptr, y.data());
    gemm(DType::float32, false, false, 512, 512, 16, 1, x.data(), 16, x.data(), 512, 0,
         product.data(), 512);
    return std::pair(y, product);
  };
  const auto here = run();
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(run() == here ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Conv, RefusesIntegers) {
  try {
    conv_forward(DType::int32, ConvShape{}, nullptr, nullptr, nullptr, nullptr);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::type);
    EXPECT_NE(std::string(e.what()).find("[conv] has no kernel for int32"), std::string::npos);
  }
}

TEST(Conv, OutSize) {
  EXPECT_EQ(conv_out_size(7, 3, 2, 1, 1, 1), 4);
  EXPECT_EQ(conv_out_size(2, 3, 1, 1, 0, 0), 0);
  EXPECT_EQ(conv_out_size(10, 3, 1, 2, 0, 1), 7);
}

}  // namespace
}  // namespace argosy::cpu
