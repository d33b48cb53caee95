#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "argosy/op/define.h"
#include "argosy/ops/linalg/linalg.h"

// Counting: histogram and bincount.
namespace argosy::ops {
namespace {

using op::InferContext;
using op::KernelFrame;

void check_range(const char* op, const HistogramAttrs& a) {
  ARGOSY_CHECK(a.bins >= 1, invalid_argument)
      << '[' << op << "] bins must be at least 1, got " << a.bins << '.';
  ARGOSY_CHECK(a.max >= a.min, invalid_argument)
      << '[' << op << "] max must be min or more, got min " << a.min << " and max " << a.max
      << ". Do this: swap them, or leave both 0 for the range of input.";
}

struct Range {
  double low, high;
};

// The range asked for; that of the data if both ends are equal, widened by 1 if that is a point.
template <class T>
Range range_of(const T* x, int64_t n, const HistogramAttrs& a) {
  double low = a.min, high = a.max;
  if (low == high && n > 0) {
    auto [least, most] = std::minmax_element(x, x + n);
    low = static_cast<double>(*least);
    high = static_cast<double>(*most);
  }
  ARGOSY_CHECK(std::isfinite(low) && std::isfinite(high), invalid_argument)
      << "[histogram] the range of input must be finite, got " << low << " to " << high
      << ". Do this: give min and max.";
  if (low == high) {
    low -= 1;
    high += 1;
  }
  return {low, high};
}

Tensor wide(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor t = Tensor::empty(x.shape(), dtype);
  op::copy_into(t, x);
  return t;
}

void histogram_infer(InferContext& c, const HistogramAttrs& a) {
  check_range(c.name(), a);
  c.out[0] = {{a.bins}, a.density || c.in[1].defined() ? DType::float32 : DType::int64};
  if (c.in[1].defined()) {
    const Shape &x = c.in[0].shape(), &w = c.in[1].shape();
    ARGOSY_CHECK(x.numel() == w.numel() || x.numel() < 0 || w.numel() < 0, invalid_argument)
        << "[histogram] weight must have the shape of input " << x << ", got " << w
        << ". Do this: reshape it, or leave it out.";
    if (!a.density) c.out[0].dtype = c.in[1].dtype();
  }
}

void histogram_run(KernelFrame& f, const HistogramAttrs& a) {
  Tensor x = wide(f.in[0], DType::float64), w;
  if (f.in[1].defined()) w = wide(f.in[1], DType::float64);
  const double* values = x.data<double>();
  const double* weights = w.defined() ? w.data<double>() : nullptr;
  const int64_t n = x.numel();
  Range r = range_of(values, n, a);
  std::vector<double> counts(static_cast<size_t>(a.bins), 0.0);
  double total = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double v = values[i];
    if (!(v >= r.low && v <= r.high)) continue;
    auto bin = static_cast<int64_t>((v - r.low) * static_cast<double>(a.bins) / (r.high - r.low));
    const double weight = weights ? weights[i] : 1.0;
    counts[static_cast<size_t>(std::min(bin, a.bins - 1))] += weight;
    total += weight;
  }
  if (a.density) {
    const double width = (r.high - r.low) / static_cast<double>(a.bins);
    for (double& v : counts) v /= total * width;
  }
  Tensor result = Tensor::empty({a.bins}, DType::float64);
  std::copy(counts.begin(), counts.end(), result.data<double>());
  op::copy_into(f.out[0], result);
}

ARGOSY_OP(histogram, HistogramAttrs)
    .python("histogram(input, bins=100, min=0.0, max=0.0, weight=None, density=False, name=None)")
    .method("histogram")
    .alias("x", "input")
    .doc(
        "How many elements of input lie in each of `bins` equal parts of [min, max] (both 0: the "
        "range of input), as int64; elements outside count nowhere. weight: the weight of each "
        "element instead of 1. density: scaled to an integral of 1, float32.")
    .shape("input [*s], weight [*s] -> [bins]")
    .example(
        R"(>>> argosy.histogram(argosy.to_tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3).tolist()
[0, 2, 1, 0])")
    .input("input", kReal)
    .optional_input("weight", kReal)
    .index_output("out")
    .infer(histogram_infer)
    .kernel("scan", histogram_run)
    .done();

void edges_infer(InferContext& c, const HistogramAttrs& a) {
  check_range(c.name(), a);
  c.out[0] = {{a.bins + 1}, DType::float32};
}

void edges_run(KernelFrame& f, const HistogramAttrs& a) {
  Tensor x = wide(f.in[0], DType::float64);
  Range r = range_of(x.data<double>(), x.numel(), a);
  float* out = f.out[0].data<float>();
  const double step = (r.high - r.low) / static_cast<double>(a.bins);
  for (int64_t i = 0; i <= a.bins; ++i)
    out[i] = static_cast<float>(i == a.bins ? r.high : r.low + static_cast<double>(i) * step);
}

ARGOSY_OP(histogram_bin_edges, HistogramAttrs)
    .python("histogram_bin_edges(input, bins=100, min=0.0, max=0.0, name=None)")
    .method("histogram_bin_edges")
    .alias("x", "input")
    .doc("The bins + 1 ends of the parts that histogram counts in, float32.")
    .shape("input [*s] -> [bins+1]")
    .example(
        R"(>>> argosy.histogram_bin_edges(argosy.to_tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3).tolist()
[0.0, 0.75, 1.5, 2.25, 3.0])")
    .input("input", kReal)
    .index_output("out")
    .infer(edges_infer)
    .kernel("scan", edges_run)
    .done();

void bincount_infer(InferContext& c, const BincountAttrs& a) {
  ARGOSY_CHECK(c.in[0].rank() == 1, invalid_argument)
      << "[bincount] x must have 1 dimension, got shape " << c.in[0].shape()
      << ". Do this: flatten it.";
  ARGOSY_CHECK(a.minlength >= 0, invalid_argument)
      << "[bincount] minlength must not be negative, got " << a.minlength << '.';
  DType dtype = DType::int64;
  if (c.in[1].defined()) {
    ARGOSY_CHECK(c.in[1].shape() == c.in[0].shape() || c.in[0].dim(0) < 0 || c.in[1].dim(0) < 0,
                 invalid_argument)
        << "[bincount] weights must have the shape of x " << c.in[0].shape() << ", got "
        << c.in[1].shape() << ". Do this: reshape them, or leave them out.";
    dtype = c.in[1].dtype() == DType::float64 ? DType::float64 : DType::float32;
  }
  c.out[0] = {{kUnknown}, dtype};
}

// Few counters in four copies: one after the other in memory, the same counter would wait for
// itself.
void count_into(const int64_t* values, int64_t n, int64_t* counts, int64_t size) {
  constexpr int64_t kFew = 1024;
  std::fill_n(counts, size, int64_t{0});
  int64_t i = 0;
  if (size <= kFew && n >= 4 * size) {
    int64_t copies[3][kFew];
    for (auto& copy : copies) std::fill_n(copy, size, int64_t{0});
    for (; i + 4 <= n; i += 4) {
      ++counts[values[i]];
      for (int k = 0; k < 3; ++k) ++copies[k][values[i + k + 1]];
    }
    for (int64_t j = 0; j < size; ++j) counts[j] += copies[0][j] + copies[1][j] + copies[2][j];
  }
  for (; i < n; ++i) ++counts[values[i]];
}

void bincount_run(KernelFrame& f, const BincountAttrs& a) {
  Tensor x = wide(f.in[0], DType::int64), w;
  if (f.in[1].defined()) w = wide(f.in[1], DType::float64);
  const int64_t* values = x.data<int64_t>();
  const int64_t n = x.numel();
  int64_t least = 0, most = -1;
  for (int64_t i = 0; i < n; ++i) {
    least = values[i] < least ? values[i] : least;
    most = values[i] > most ? values[i] : most;
  }
  if (least < 0) {
    const int64_t at = std::find_if(values, values + n, [](int64_t v) { return v < 0; }) - values;
    ARGOSY_CHECK(false, invalid_argument)
        << "[bincount] elements must not be negative, got " << values[at] << " at " << at
        << ". Do this: subtract the smallest first.";
  }
  const int64_t size = std::max(a.minlength, most + 1);
  Tensor counts = Tensor::empty({size}, w.defined() ? DType::float64 : DType::int64);
  if (w.defined()) {
    double* out = counts.data<double>();
    std::fill(out, out + size, 0.0);
    for (int64_t i = 0; i < n; ++i) out[values[i]] += w.data<double>()[i];
  } else {
    count_into(values, n, counts.data<int64_t>(), size);
  }
  op::copy_into(f.allocate(0, {size}), counts);
}

ARGOSY_OP(bincount, BincountAttrs)
    .python("bincount(x, weights=None, minlength=0, name=None)")
    .method("bincount")
    .alias("input", "x")
    .doc(
        "How often each of 0, 1, .., max(x) comes in the vector x, at least minlength numbers, "
        "int64; with weights, the sums of the weights in their places, floating.")
    .shape("x [n], weights [n] -> [?]")
    .example(R"(>>> argosy.bincount(argosy.to_tensor([1, 2, 1, 4])).tolist()
[0, 2, 1, 0, 1])")
    .input("x", kIntegral)
    .optional_input("weights", kReal)
    .index_output("out")
    .infer(bincount_infer)
    .kernel("scan", bincount_run)
    .done();

}  // namespace
}  // namespace argosy::ops
