#include <algorithm>
#include <cmath>
#include <cstring>

#include "argosy/op/define.h"
#include "argosy/ops/ctr/ctr.h"

// What static.auc counts, and the area under the curve of such counts.
namespace argosy::ops {
namespace {

using op::InferContext;
using op::KernelFrame;

constexpr DTypes kScore = only(DType::float32) | only(DType::float64);

void count_infer(InferContext& c, const AucCountAttrs& a) {
  ARGOSY_CHECK(c.in[0].rank() == 2, invalid_argument)
      << "[auc_count] input must be [N, 1] or [N, 2], got " << c.in[0]
      << ". Do this: pass the probabilities of a binary classifier, of one class or of both.";
  ARGOSY_CHECK(a.thresholds > 0, invalid_argument)
      << "[auc_count] thresholds must be positive, got " << a.thresholds << '.';
  for (op::Meta& m : c.out) m = {Shape{a.thresholds + 1}, DType::int64};
}

template <class T>
bool is_one(const Tensor& t, int64_t i) {
  return t.data<T>()[i] != T(0);
}
// Is element i not zero?
bool holds(const Tensor& t, int64_t i) {
  bool result = false;
  dispatch_types<float, double, int64_t, int32_t, bool>(
      t.dtype(), [&]<class T>(T) { result = is_one<T>(t, i); });
  return result;
}

void count_run(KernelFrame& f, const AucCountAttrs& a) {
  const Tensor &score = f.in[0], &label = f.in[1], &weight = f.in[2];
  const int64_t n = score.dim(0), width = score.dim(1);
  ARGOSY_CHECK(label.numel() == n && (!weight.defined() || weight.numel() == n) && width > 0,
               invalid_argument)
      << "[auc_count] label (and weight) must have one element for each row of input: input is "
      << score << ", label " << label << ". Do this: reshape label to [N, 1].";
  int64_t* counts[] = {f.out[0].data<int64_t>(), f.out[1].data<int64_t>()};
  for (const Tensor& t : f.out) std::memset(t.raw(), 0, t.nbytes());
  dispatch_types<float, double>(score.dtype(), [&]<class T>(T) {
    const T* x = score.data<T>() + width - 1;
    for (int64_t i = 0; i < n; ++i, x += width) {
      if (weight.defined() && !holds(weight, i)) continue;
      const double share = static_cast<double>(*x);
      ARGOSY_CHECK(!std::isnan(share), invalid_argument)
          << "[auc_count] the score of sample " << i
          << " is not a number. Do this: look for it with FLAGS_check_nan_inf=1.";
      const double place = std::floor(share * static_cast<double>(a.thresholds));
      const auto bin =
          static_cast<int64_t>(std::clamp(place, 0.0, static_cast<double>(a.thresholds)));
      ++counts[holds(label, i) ? 0 : 1][bin];
    }
  });
}

ARGOSY_OP(auc_count, AucCountAttrs)
    .doc(
        "How many samples of class 1, and of class 0, have a score (the last column of input) in "
        "each of thresholds + 1 intervals of [0, 1]; int64. Those of weight 0 do not count.")
    .input("input", kScore)
    .input("label", kAny)
    .optional_input("weight", kAny)
    .index_output("positive")
    .index_output("negative")
    .infer(count_infer)
    .kernel("loop", count_run)
    .done();

void area_infer(InferContext& c, const AucAreaAttrs& a) {
  ARGOSY_CHECK(a.curve == "ROC" || a.curve == "PR", invalid_argument)
      << "[auc_area] curve: expected 'ROC' or 'PR', got '" << a.curve << "'.";
  ARGOSY_CHECK(c.in[0].rank() >= 1 && c.in[1].rank() == c.in[0].rank(), invalid_argument)
      << "[auc_area] positive and negative must be counts of the same intervals, got " << c.in[0]
      << " and " << c.in[1] << '.';
  c.out[0] = {Shape{}, DType::float64};
}

// Counts of several runs, [runs, intervals], add up.
void area_run(KernelFrame& f, const AucAreaAttrs& a) {
  const int64_t bins = f.in[0].dim(-1), total = f.in[0].numel();
  ARGOSY_CHECK(f.in[1].numel() == total, invalid_argument)
      << "[auc_area] positive and negative must have as many intervals, got " << f.in[0] << " and "
      << f.in[1] << ". Do this: pass both outputs of one auc_count.";
  double ones = 0, zeros = 0, area = 0, precision = 1;
  for (int64_t k = bins; k-- > 0;) {
    double p = 0, q = 0;
    for (int64_t i = k; i < total; i += bins) {
      p += static_cast<double>(f.in[0].data<int64_t>()[i]);
      q += static_cast<double>(f.in[1].data<int64_t>()[i]);
    }
    ones += p;
    zeros += q;
    if (a.curve == "ROC") {
      area += q * (ones - p / 2);
      continue;
    }
    const double now = ones + zeros > 0 ? ones / (ones + zeros) : 1;
    area += p * (precision + now) / 2;
    precision = now;
  }
  const double scale = a.curve == "ROC" ? ones * zeros : ones;
  *f.out[0].data<double>() = scale > 0 ? area / scale : 0;
}

ARGOSY_OP(auc_area, AucAreaAttrs)
    .doc(
        "The area under the ROC or the precision-recall curve of what auc_count counted; float64, "
        "0 if a class is missing.")
    .input("positive", only(DType::int64))
    .input("negative", only(DType::int64))
    .index_output("area")
    .infer(area_infer)
    .kernel("loop", area_run)
    .done();

}  // namespace
}  // namespace argosy::ops
