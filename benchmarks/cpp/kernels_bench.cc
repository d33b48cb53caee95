// Times of the CPU kernels beside what moving their bytes alone costs (a memcpy of as many bytes
// read and written). For whoever tunes them; `benchmarks/run.py` compares with other frameworks.
//   kernels_bench [name prefix]
// ARGOSY_NUM_THREADS=1 measures processor time, which a busy machine disturbs least.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <string_view>
#include <vector>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/copy.h"
#include "argosy/kernels/cpu/elementwise.h"
#include "argosy/kernels/cpu/isa.h"
#include "argosy/kernels/cpu/packed.h"
#include "argosy/kernels/cpu/reduce.h"
#include "argosy/kernels/cpu/rows.h"
#include "argosy/kernels/cpu/scan.h"
#include "argosy/kernels/cpu/sort.h"

namespace argosy::cpu {
namespace {

// With one thread: its processor time, which neighbours disturb least.
double now() {
  timespec t;
  clock_gettime(num_threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double seconds(const std::function<void()>& f) {
  auto once = [&](int repeats) {
    const double start = now();
    for (int i = 0; i < repeats; ++i) f();
    return (now() - start) / repeats;
  };
  f();
  const int repeats = std::clamp(static_cast<int>(0.005 / std::max(once(1), 1e-9)), 1, 1000000);
  std::vector<double> times;
  // The fastest: neighbours on the machine only ever add.
  for (int i = 0; i < 9; ++i) times.push_back(once(repeats));
  return *std::min_element(times.begin(), times.end());
}

std::string_view only;

void report(const char* name, double bytes, const std::function<void()>& f) {
  if (!std::string_view(name).starts_with(only)) return;
  const double t = seconds(f);
  std::vector<char> a(static_cast<size_t>(bytes / 2) + 1, 1), b(a.size());
  const int64_t size[] = {static_cast<int64_t>(a.size())}, one[] = {1};
  const double floor = seconds([&] { copy_strided(b.data(), one, a.data(), one, size, 1); });
  if (t < 1e-5) {
    std::printf("%-34s %9.1f ns\n", name, t * 1e9);
  } else {
    std::printf("%-34s %9.3f ms %7.1f GB/s   %5.2f of a copy\n", name, t * 1e3, bytes / t * 1e-9,
                t / floor);
  }
}

void run() {
  const int64_t rows = 4096, cols = 1024, n = rows * cols;
  std::vector<float> x(n), y(n), z(n), w(n);
  for (int64_t i = 0; i < n; ++i)
    x[i] = static_cast<float>(i % 1000) * 0.01f - 5, z[i] = 0.5f + static_cast<float>(i % 77);
  const double mb = static_cast<double>(n) * 4;
  const int64_t shape[] = {rows, cols}, strides[] = {cols, 1}, across[] = {1, rows},
                bias[] = {0, 1};
  float a = 1, b = 2, c = 0;
  const int64_t one = 1;
  const Operand small[] = {{&a, &one, 4}, {&b, &one, 4}, {&c, &one, 4}};
  report("add, one element", 12,
         [&] { run_loop(add_loops()[DType::float32], std::span(&one, 1), small); });
  const Operand three[] = {{x.data(), strides, 4}, {z.data(), strides, 4}, {y.data(), strides, 4}};
  report("add", 3 * mb, [&] { run_loop(add_loops()[DType::float32], shape, three); });
  const Operand with_bias[] = {{x.data(), strides, 4}, {z.data(), bias, 4}, {y.data(), strides, 4}};
  report("add bias", 2 * mb, [&] { run_loop(add_loops()[DType::float32], shape, with_bias); });
  const Operand turned[] = {{x.data(), across, 4}, {z.data(), strides, 4}, {y.data(), strides, 4}};
  report("add transposed", 3 * mb, [&] { run_loop(add_loops()[DType::float32], shape, turned); });
  const Operand two[] = {{x.data(), strides, 4}, {y.data(), strides, 4}};
  const std::pair<const char*, const LoopTable& (*)()> unary[] = {
      {"relu", relu_loops},       {"exp", exp_loops},   {"log", log_loops}, {"tanh", tanh_loops},
      {"sigmoid", sigmoid_loops}, {"gelu", gelu_loops}, {"erf", erf_loops}, {"sin", sin_loops},
      {"atan", atan_loops},       {"sqrt", sqrt_loops}};
  for (auto [name, table] : unary) {
    report(name, 2 * mb, [&] { run_loop(table()[DType::float32], shape, two, nullptr, 3); });
  }
  const Operand halves[] = {{x.data(), strides, 2}, {z.data(), strides, 2}, {y.data(), strides, 2}};
  report("add bfloat16", 1.5 * mb, [&] { run_loop(add_loops()[DType::bfloat16], shape, halves); });
  report("add float16", 1.5 * mb, [&] { run_loop(add_loops()[DType::float16], shape, halves); });
  const Operand casted[] = {{x.data(), strides, 4}, {y.data(), strides, 2}};
  report("cast float32 to bfloat16", 1.5 * mb,
         [&] { run_loop(cast_loop(DType::float32, DType::bfloat16), shape, casted); });
  report("power", 3 * mb, [&] { run_loop(pow_loops()[DType::float32], shape, three, nullptr, 5); });

  report("copy", 2 * mb, [&] { copy_strided(y.data(), strides, x.data(), strides, shape, 4); });
  report("copy transposed", 2 * mb,
         [&] { copy_strided(y.data(), strides, x.data(), across, shape, 4); });
  report("copy transposed, 2 bytes", mb,
         [&] { copy_strided(y.data(), strides, x.data(), across, shape, 2); });
  const int64_t nhwc[] = {8, 64, 56 * 56}, to[] = {64 * 3136, 1, 64}, from[] = {64 * 3136, 3136, 1};
  report("copy NCHW to NHWC", 2 * 8 * 64 * 3136 * 4,
         [&] { copy_strided(y.data(), to, x.data(), from, nhwc, 4); });

  report("sum of all", mb,
         [&] { reduce(Reduce::sum, DType::float32, x.data(), shape, strides, 3, y.data()); });
  report("sum over rows' elements", mb,
         [&] { reduce(Reduce::sum, DType::float32, x.data(), shape, strides, 2, y.data()); });
  report("sum over rows", mb,
         [&] { reduce(Reduce::sum, DType::float32, x.data(), shape, strides, 1, y.data()); });
  const int64_t cube[] = {64, 64, 1024}, cube_strides[] = {64 * 1024, 1024, 1};
  report("sum over a middle axis", mb,
         [&] { reduce(Reduce::sum, DType::float32, x.data(), cube, cube_strides, 2, y.data()); });
  const int64_t thin[] = {n / 3, 3}, thin_strides[] = {3, 1};
  report("sum over rows of 3", mb,
         [&] { reduce(Reduce::sum, DType::float32, x.data(), thin, thin_strides, 1, y.data()); });
  report("sum of each 3", mb,
         [&] { reduce(Reduce::sum, DType::float32, x.data(), thin, thin_strides, 2, y.data()); });
  report("max over rows' elements", mb,
         [&] { reduce(Reduce::max, DType::float32, x.data(), shape, strides, 2, y.data()); });
  report("max over rows", mb,
         [&] { reduce(Reduce::max, DType::float32, x.data(), shape, strides, 1, y.data()); });
  report("norm", mb,
         [&] { reduce(Reduce::norm, DType::float32, x.data(), shape, strides, 3, y.data()); });
  report("logsumexp", mb,
         [&] { reduce(Reduce::logsumexp, DType::float32, x.data(), shape, strides, 2, y.data()); });
  report("variance", mb, [&] {
    reduce_variance(DType::float32, x.data(), shape, strides, 2, 1, y.data(), nullptr);
  });
  std::vector<int64_t> index(n);
  report("argmax of rows", mb,
         [&] { reduce_arg(true, DType::float32, x.data(), shape, strides, 1, index.data()); });
  report("argmax over rows", mb,
         [&] { reduce_arg(true, DType::float32, x.data(), shape, strides, 0, index.data()); });
  const int64_t few = 16;
  report("sum of 16", 64, [&] {
    reduce(Reduce::sum, DType::float32, x.data(), std::span(&few, 1), &one, 1, y.data());
  });

  report("softmax", 2 * mb, [&] { softmax(DType::float32, x.data(), y.data(), rows, cols, 1); });
  report("softmax over rows", 2 * mb,
         [&] { softmax(DType::float32, x.data(), y.data(), 1, rows, cols); });
  report("log_softmax", 2 * mb,
         [&] { log_softmax(DType::float32, x.data(), y.data(), rows, cols, 1); });
  report("softmax gradient", 3 * mb,
         [&] { softmax_grad(DType::float32, x.data(), z.data(), y.data(), rows, cols, 1); });
  report("softmax 64 x 10", 5120, [&] { softmax(DType::float32, x.data(), y.data(), 64, 10, 1); });
  std::vector<int64_t> labels(rows, 5);
  report("cross entropy", 2 * mb, [&] {
    cross_entropy(DType::float32, x.data(), DType::int64, labels.data(), nullptr, rows, cols, -100,
                  w.data(), y.data());
  });
  const RowNorm norm{DType::float32, DType::float32, rows, cols, 1e-5, false};
  std::vector<float> mean(rows), rstd(rows), gamma(cols, 1), beta(cols), dgamma(cols), dbeta(cols);
  report("layer norm", 2 * mb, [&] {
    layer_norm(norm, x.data(), gamma.data(), beta.data(), y.data(), mean.data(), rstd.data());
  });
  report("layer norm gradient", 3 * mb, [&] {
    layer_norm_grad(norm, x.data(), gamma.data(), mean.data(), rstd.data(), z.data(), y.data(),
                    dgamma.data(), dbeta.data());
  });
  for (auto [name, inner] : {std::pair<const char*, int64_t>{"NCHW", 3136}, {"NHWC", 1}}) {
    const ChannelNorm a{DType::float32, inner == 1 ? 16 * 3136 : 16, 64, inner};
    const double bytes = 16 * 64 * 3136 * 4.0;
    std::printf("%s\n", name);
    report("batch norm statistics", bytes,
           [&] { batch_norm_statistics(a, x.data(), mean.data(), rstd.data()); });
    report("batch norm apply", 2 * bytes, [&] {
      batch_norm_apply(a, x.data(), mean.data(), rstd.data(), 1e-5, gamma.data(), beta.data(),
                       y.data());
    });
    report("batch norm gradient", 3 * bytes, [&] {
      batch_norm_grad(a, x.data(), mean.data(), rstd.data(), 1e-5, gamma.data(), z.data(), false,
                      y.data(), dgamma.data(), dbeta.data());
    });
  }
  report("cumsum", 2 * mb,
         [&] { scan(Scan::sum, DType::float32, x.data(), y.data(), rows, cols, 1); });
  report("cumsum over rows", 2 * mb,
         [&] { scan(Scan::sum, DType::float32, x.data(), y.data(), 1, rows, cols); });
  report("argsort of rows", mb,
         [&] { sort(DType::float32, x.data(), nullptr, index.data(), 64, cols, 1, false); });
  report("topk 5 of rows", mb,
         [&] { topk(DType::float32, x.data(), y.data(), index.data(), rows, cols, 1, 5, true); });
  for (int64_t i = 0; i < rows; ++i) labels[i] = i * 7919 % rows;
  report("gather rows", 2 * mb, [&] {
    index_select(y.data(), x.data(), 1, rows, cols * 4, DType::int64, labels.data(), rows);
  });
  report("scatter-add rows", 3 * mb, [&] {
    scatter_add(DType::float32, y.data(), x.data(), 1, rows, cols, DType::int64, labels.data(),
                rows);
  });
}

// Convolutions and products of well-known nets with packed weights, in operations of float32 a
// second; the floor is what the machine can do of these.
void packed(const char* name, int64_t in, int64_t out, int64_t groups, int64_t kernel,
            int64_t stride, int64_t size) {
  if (!std::string_view(name).starts_with(only)) return;
  ConvShape s;
  s.channels_last = true;
  s.batch = 1;
  s.in_channels = in;
  s.out_channels = out;
  s.groups = groups;
  for (int d = 0; d < 2; ++d) {
    s.in[d] = size;
    s.kernel[d] = kernel;
    s.stride[d] = stride;
    s.pad[d] = kernel / 2;
    s.out[d] = conv_out_size(size, kernel, stride, 1, s.pad[d], s.pad[d]);
  }
  const int64_t pixels = s.out[0] * s.out[1], taps = in / groups * kernel * kernel;
  std::vector<float> x(static_cast<size_t>(in * size * size), 0.5f),
      w(static_cast<size_t>(taps * out), 0.25f), y(static_cast<size_t>(out * pixels)),
      bias(static_cast<size_t>(out), 1.0f);
  PackedEpilogue e;
  e.bias = bias.data();
  e.post = PostOp::relu;
  const bool product = kernel == 1 && stride == 1 && groups == 1;
  const int64_t bytes = product ? packed_linear_bytes(in, out) : packed_conv_bytes(s);
  std::vector<char> weights(static_cast<size_t>(bytes));
  if (product)
    pack_linear(in, out, w.data(), 1, in, weights.data());
  else
    pack_conv(s, w.data(), weights.data());
  const double t = seconds([&] {
    if (product)
      packed_linear(pixels, in, out, x.data(), weights.data(), e, y.data());
    else
      packed_conv(s, s, x.data(), weights.data(), e, y.data());
  });
  std::printf("%-34s %9.3f ms %7.1f GFLOP/s\n", name, t * 1e3,
              2e-9 * static_cast<double>(pixels * taps * out) / t);
}

void packed() {
  packed("packed 7x7, 3 to 64, 224", 3, 64, 1, 7, 2, 224);
  packed("packed 3x3, 64, 56", 64, 64, 1, 3, 1, 56);
  packed("packed 3x3, 128, 28", 128, 128, 1, 3, 1, 28);
  packed("packed 3x3, 256, 14", 256, 256, 1, 3, 1, 14);
  packed("packed 3x3, 512, 7", 512, 512, 1, 3, 1, 7);
  packed("packed 3x3, stride 2, 128, 56", 128, 128, 1, 3, 2, 56);
  packed("packed 1x1, 64 to 256, 56", 64, 256, 1, 1, 1, 56);
  packed("packed 1x1, 256 to 64, 56", 256, 64, 1, 1, 1, 56);
  packed("packed 1x1, 1024 to 256, 14", 1024, 256, 1, 1, 1, 14);
  packed("packed 1x1, 512 to 2048, 7", 512, 2048, 1, 1, 1, 7);
  packed("packed 1x1, stride 2, 256 to 512", 256, 512, 1, 1, 2, 56);
  packed("packed 1x1, 768 to 3072, 11", 768, 3072, 1, 1, 1, 11);
  packed("packed 1x1, 784 to 256, 1", 784, 256, 1, 1, 1, 1);
  packed("packed 1x1, 96 to 24, 56", 96, 24, 1, 1, 1, 56);
  packed("packed 1x1, 24 to 144, 56", 24, 144, 1, 1, 1, 56);
  packed("packed 3x3, 16 to 1, 56", 16, 1, 1, 3, 1, 56);
  packed("packed depthwise 3x3, 32, 112", 32, 32, 32, 3, 1, 112);
  packed("packed depthwise 3x3, 96, s2, 112", 96, 96, 96, 3, 2, 112);
  packed("packed depthwise 3x3, 144, 56", 144, 144, 144, 3, 1, 56);
  packed("packed depthwise 3x3, 384, 14", 384, 384, 384, 3, 1, 14);
  packed("packed depthwise 3x3, 960, 7", 960, 960, 960, 3, 1, 7);
  packed("packed depthwise 5x5, 240, 14", 240, 240, 240, 5, 1, 14);
}

}  // namespace
}  // namespace argosy::cpu

int main(int count, char** arguments) {
  if (count > 1) argosy::cpu::only = arguments[1];
  std::printf("%s, %d threads\n",
              argosy::cpu::isa() == argosy::cpu::Isa::avx512 ? "avx512" : "avx2",
              argosy::num_threads());
  argosy::cpu::run();
  argosy::cpu::packed();
}
