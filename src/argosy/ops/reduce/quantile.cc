#include <algorithm>
#include <cmath>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/sort.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/reduce/common.h"
#include "argosy/ops/search/search.h"

// Medians and quantiles: an op finds the positions of the two neighbours of each quantile and the
// way between them, without gradient; what follows is a choice and a blend of elements.
namespace argosy::ops {
namespace {

using op::IntArray;
using op::NoAttrs;

void position_infer(op::InferContext& c, const QuantilePositionsAttrs& a) {
  expect_rank(c, 0, 1, kMaxRank);
  for (const double q : a.q)
    ARGOSY_CHECK(0 <= q && q <= 1, invalid_argument)
        << '[' << c.name() << "] q must be from 0 to 1, got " << q << ". Do this: correct it.";
  Shape shape = c.in[0].shape();
  shape[shape.rank() - 1] = static_cast<int64_t>(a.q.size());
  c.out[0] = c.out[1] = {shape, DType::int64};
  c.out[2] = {shape, c.in[0].dtype()};
}

// Between which of n sorted elements a quantile lies, and how far from the lower one.
struct Place {
  int64_t low, high;
  double weight;
};

Place place_of(double q, int64_t n, const std::string& interpolation) {
  double at = q * static_cast<double>(n - 1);
  auto low = static_cast<int64_t>(std::floor(at)), high = static_cast<int64_t>(std::ceil(at));
  double weight = at - std::floor(at);
  if (interpolation == "lower") high = low, weight = 0;
  if (interpolation == "higher") low = high, weight = 0;
  if (interpolation == "midpoint") weight = low == high ? 0 : 0.5;
  if (interpolation == "nearest") low = high = static_cast<int64_t>(std::nearbyint(at)), weight = 0;
  return {low, high, weight};
}

template <class T>
void find_places(op::KernelFrame& f, const QuantilePositionsAttrs& a) {
  const Tensor& x = f.in[0];
  const int64_t n = x.dim(-1), rows = n ? x.numel() / n : 0;
  const auto count = static_cast<int64_t>(a.q.size());
  auto *low = f.out[0].data<int64_t>(), *high = f.out[1].data<int64_t>();
  T* weight = f.out[2].data<T>();
  parallel_for(rows, 1 + (1 << 12) / (n + 1), [&](int64_t begin, int64_t end) {
    std::vector<Place> places(a.q.size());
    std::vector<int64_t> ranks, found;
    for (int64_t r = begin; r < end; ++r) {
      const T* row = x.data<T>() + r * n;
      int64_t numbers = n, first_nan = 0;
      for (int64_t i = n; i-- > 0;) {
        const bool nan = std::isnan(static_cast<double>(row[i]));
        numbers -= nan;
        first_nan = nan ? i : first_nan;
      }
      if (numbers == 0 || (numbers < n && !a.ignore_nan)) {
        // The first nan, as the others are not told apart.
        for (int64_t at = r * count; at < (r + 1) * count; ++at) {
          low[at] = high[at] = first_nan;
          weight[at] = static_cast<T>(0.f);
        }
        continue;
      }
      ranks.clear();
      for (size_t k = 0; k < places.size(); ++k) {
        places[k] = place_of(a.q[k], numbers, a.interpolation);
        ranks.insert(ranks.end(), {places[k].low, places[k].high});
      }
      std::sort(ranks.begin(), ranks.end());
      ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
      found.resize(ranks.size());
      cpu::select(x.dtype(), row, n, ranks.data(), static_cast<int64_t>(ranks.size()),
                  found.data());
      auto position = [&](int64_t rank) {
        const auto at = std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin();
        return found[static_cast<size_t>(at)];
      };
      for (int64_t k = 0; k < count; ++k) {
        const Place& p = places[static_cast<size_t>(k)];
        const int64_t at = r * count + k;
        low[at] = position(p.low);
        high[at] = position(p.high);
        weight[at] = static_cast<T>(p.weight);
      }
    }
  });
}

void position_run(op::KernelFrame& f, const QuantilePositionsAttrs& a) {
  dispatch_floating(f.in[0].dtype(), [&]<class T>(T) { find_places<T>(f, a); });
}

ARGOSY_OP(quantile_positions, QuantilePositionsAttrs)
    .doc(
        "For each row of the last dimension and each q in [0, 1]: the indices of the elements just "
        "below and above the quantile, and how far it is from the lower one (0 to 1). A row with "
        "nan gives the nan's index unless nan is ignored.")
    .input("x", kFloating)
    .index_output("low")
    .index_output("high")
    .index_output("weight")
    .infer(position_infer)
    .kernel("select", position_run)
    .done();

// --- rows without elements ---

Tensor or_nan_view(const Tensor& x, const NoAttrs&) {
  return x.dim(-1) ? x.view(x.shape(), x.strides()) : Tensor();
}
void or_nan_infer(op::InferContext& c, const NoAttrs&) {
  Shape& shape = c.out[0].shape;
  if (shape.back() == 0) shape[shape.rank() - 1] = 1;
}
void or_nan_run(op::KernelFrame& f, const NoAttrs&) {
  op::copy_into(f.out[0], constant(std::nan(""), f.out[0].dtype()));
}
Tensors or_nan_grad(const op::GradCall& c, const NoAttrs&) {
  return slice(c.dy(), -1, {0}, size_along(c.in[0], -1));
}

ARGOSY_OP(rows_or_nan, NoAttrs)
    .doc("x, or one nan in each row if its last dimension has no elements.")
    .input("x", kFloating, op::Save::shape)
    .output("out")
    .infer(or_nan_infer)
    .view(or_nan_view)
    .kernel("nan", or_nan_run)
    .gradient(or_nan_grad)
    .done();

struct Quantiles {
  Tensor values;  // [kept.., quantiles]
  Tensor low;
};

// Of rows without elements they are nan.
Quantiles quantiles_of(const Tensor& x, const std::vector<double>& q,
                       const std::string& interpolation, bool ignore_nan) {
  const Tensor rows = x.dim(-1) > 0 ? x : rows_or_nan_op(x);
  Tensors places =
      quantile_positions_op.all({rows}, QuantilePositionsAttrs{q, interpolation, ignore_nan});
  Tensor low = take_along(rows, places[0], -1);
  if (interpolation != "linear" && interpolation != "midpoint") return {low, places[0]};
  Tensor high = take_along(rows, places[1], -1);
  Tensor w = places[2];
  Tensor blend = add(multiply(low, scale(w, -1, 1)), multiply(high, w));
  // One element alone, which may be infinite, is not blended.
  return {where(equal(places[0], places[1]), low, blend), places[0]};
}

// [kept.., 1] as the result of reducing x over axis.
Tensor finish(const char* op, const Tensor& y, const Tensor& x, const IntArray& axis,
              bool keepdim) {
  Tensor flat = x.rank() == 0 ? squeeze(y, IntArray::one(0)) : squeeze(y, IntArray::one(-1));
  return keepdim && x.rank() ? with_axes(op, flat, x, axis, false) : flat;
}

// --- quantile ---

struct QuantileAttrs {
  std::vector<double> q;
  IntArray axis = IntArray::all();
  bool keepdim = false;
  std::string interpolation = "linear";
  bool single = true;  // q was one number: no dimension for it
};
ARGOSY_ATTRS(QuantileAttrs, q, axis, keepdim, interpolation, single)

void check_quantile(const char* name, const QuantileAttrs& a) {
  ARGOSY_CHECK(!a.q.empty(), invalid_argument) << '[' << name
                                               << "] q is empty: expected at least one number in "
                                                  "[0, 1]. Do this: pass q=0.5 for the median.";
  for (double q : a.q)
    ARGOSY_CHECK(q >= 0 && q <= 1, invalid_argument)
        << '[' << name << "] q must be in [0, 1], got " << q
        << ". Do this: divide percentiles by 100.";
  for (const char* known : {"linear", "lower", "higher", "nearest", "midpoint"})
    if (a.interpolation == known) return;
  ARGOSY_THROW(invalid_argument)
      << '[' << name << "] interpolation: expected 'linear', 'lower', 'higher', 'nearest' or "
      << "'midpoint', got '" << a.interpolation << "'.";
}

void quantile_infer(op::InferContext& c, const QuantileAttrs& a) {
  check_quantile(c.name(), a);
  infer_reduced(c, a);
  if (!a.single) c.out[0].shape.insert(0, static_cast<int64_t>(a.q.size()));
}

template <bool kIgnoreNan>
Tensors quantile_parts(const op::Inputs& in, const QuantileAttrs& a) {
  const char* name = kIgnoreNan ? "nanquantile" : "quantile";
  check_quantile(name, a);
  const Tensor& x = in[0];
  uint32_t mask = op::axes_mask(name, a.axis, x.rank());
  Tensor y = quantiles_of(as_rows(name, x, a.axis), a.q, a.interpolation, kIgnoreNan).values;
  if (a.single) return finish(name, y, x, a.axis, a.keepdim);
  // The quantiles' dimension goes first.
  std::vector<int64_t> perm{y.rank() - 1};
  for (int d = 0; d < y.rank() - 1; ++d) perm.push_back(d);
  y = transpose(y, perm);
  if (a.keepdim && x.rank()) {
    IntArray axes;
    for (int d = 0; d < x.rank(); ++d)
      if (mask >> d & 1) axes.values.push_back(d + 1);
    y = unsqueeze(y, axes);
  }
  return y;
}

#define ARGOSY_QUANTILE(name, ignore_nan, text) \
  ARGOSY_OP(name, QuantileAttrs)                \
      .doc(text)                                \
      .input("x", kFloating)                    \
      .output("out")                            \
      .infer(quantile_infer)                    \
      .compose(quantile_parts<ignore_nan>)      \
      .done()

ARGOSY_QUANTILE(quantile, false,
                "Quantiles q of x over axis; one dimension for q first unless q is one number. nan "
                "gives nan.");
ARGOSY_QUANTILE(nanquantile, true,
                "Quantiles q of x over axis without its nan; one dimension for q first unless q is "
                "one number.");

// --- median ---

struct MedianAttrs {
  IntArray axis = IntArray::all();
  bool keepdim = false;
};
ARGOSY_ATTRS(MedianAttrs, axis, keepdim)

DType median_dtype(DType x) {
  return is_floating(x) && !kHalf.has(x) ? x : DType::float32;
}

void median_infer(op::InferContext& c, const MedianAttrs& a) {
  infer_reduced(c, a);
  c.out[0].dtype = median_dtype(c.in[0].dtype());
}

template <bool kIgnoreNan>
Tensors median_parts(const op::Inputs& in, const MedianAttrs& a) {
  const char* name = kIgnoreNan ? "nanmedian" : "median";
  Tensor x = cast(in[0], median_dtype(in[0].dtype()));
  Quantiles found = quantiles_of(as_rows(name, x, a.axis), {0.5}, "midpoint", kIgnoreNan);
  return finish(name, found.values, x, a.axis, a.keepdim);
}

#define ARGOSY_MEDIAN(name, ignore_nan, text) \
  ARGOSY_OP(name, MedianAttrs)                \
      .shape("x [*s] -> [*s']")               \
      .doc(text)                              \
      .input("x", kReal | kBool)              \
      .output("out")                          \
      .infer(median_infer)                    \
      .compose(median_parts<ignore_nan>)      \
      .done()

ARGOSY_MEDIAN(median, false,
              "The median over axis: the mean of the two middle elements of an even number; nan if "
              "there is one. All but float64 give float32.");
ARGOSY_MEDIAN(nanmedian, true,
              "The median over axis of what is not nan: the mean of the two middle elements of an "
              "even number. All but float64 give float32.");

void lower_infer(op::InferContext& c, const MedianAttrs& a) {
  infer_reduced(c, a);
  c.out[1].dtype = DType::int64;
}

template <bool kIgnoreNan>
Tensors lower_median_parts(const op::Inputs& in, const MedianAttrs& a) {
  const char* name = kIgnoreNan ? "nanmedian" : "median";
  Tensor x = in[0];
  Tensor wide = is_floating(x.dtype()) ? x : cast(x, DType::float64);
  Quantiles found = quantiles_of(as_rows(name, wide, a.axis), {0.5}, "lower", kIgnoreNan);
  Tensors out;
  out.push_back(cast(finish(name, found.values, x, a.axis, a.keepdim), x.dtype()));
  out.push_back(finish(name, found.low, x, a.axis, a.keepdim));
  return out;
}

#define ARGOSY_LOWER_MEDIAN(name, ignore_nan, text) \
  ARGOSY_OP(name, MedianAttrs)                      \
      .doc(text)                                    \
      .input("x", kReal)                            \
      .output("out")                                \
      .index_output("index")                        \
      .infer(lower_infer)                           \
      .compose(lower_median_parts<ignore_nan>)      \
      .done()

ARGOSY_LOWER_MEDIAN(median_lower, false,
                    "(the lower of the middle elements over axis, its index among them in C order)"
                    "; nan if there is one.");
ARGOSY_LOWER_MEDIAN(nanmedian_lower, true,
                    "(the lower of the middle elements over axis of what is not nan, its index "
                    "among all of them in C order).");

}  // namespace
}  // namespace argosy::ops
