#include <cmath>
#include <vector>

#include "argosy/op/define.h"

namespace argosy::ops {
namespace {

using op::InferContext;
using op::KernelFrame;
using op::NoAttrs;

void alias_infer(InferContext& c, const NoAttrs&) {
  const Shape& shape = c.in[0].shape();
  ARGOSY_CHECK(shape.rank() == 1, invalid_argument)
      << "[alias_table] weights: expected one dimension, got shape " << shape
      << ". Do this: flatten them.";
  c.out[0] = {shape, DType::float32};
  c.out[1] = {shape, DType::int64};
}

// Vose's way: places that are too small are filled up from those that are too big.
void alias_run(KernelFrame& f, const NoAttrs&) {
  const int64_t n = f.in[0].numel();
  const double* weights = f.in[0].data<double>();
  double total = 0;
  for (int64_t i = 0; i < n; ++i) {
    ARGOSY_CHECK(weights[i] >= 0 && std::isfinite(weights[i]), invalid_argument)
        << "[alias_table] weights[" << i << "]: expected a number that is finite and not negative, "
        << "got " << weights[i] << ". Do this: give counts or probabilities.";
    total += weights[i];
  }
  ARGOSY_CHECK(n == 0 || total > 0, invalid_argument)
      << "[alias_table] weights: expected a positive sum, got zeros only. Do this: give at least "
         "one positive weight.";
  auto* threshold = f.out[0].data<float>();
  auto* alias = f.out[1].data<int64_t>();
  std::vector<double> level(static_cast<size_t>(n));
  std::vector<int64_t> small, big;
  for (int64_t i = 0; i < n; ++i) {
    level[static_cast<size_t>(i)] = weights[i] * static_cast<double>(n) / total;
    threshold[i] = 1;
    alias[i] = i;
    (level[static_cast<size_t>(i)] < 1 ? small : big).push_back(i);
  }
  while (!small.empty() && !big.empty()) {
    const int64_t low = small.back(), high = big.back();
    small.pop_back();
    threshold[low] = static_cast<float>(level[static_cast<size_t>(low)]);
    alias[low] = high;
    double& rest = level[static_cast<size_t>(high)];
    rest -= 1 - level[static_cast<size_t>(low)];
    if (rest >= 1) continue;
    big.pop_back();
    small.push_back(high);
  }
}

ARGOSY_OP(alias_table, NoAttrs)
    .doc(
        "Turns weights float64 [N] into a table to draw from in constant time: pick a place i "
        "evenly; it is i with probability threshold[i] (float32), else alias[i] (int64).")
    .paper("Walker 1977; Vose 1991, A Linear Algorithm for Generating Random Numbers")
    .input("weights", only(DType::float64))
    .index_output("threshold")
    .index_output("alias")
    .infer(alias_infer)
    .kernel("vose", alias_run)
    .done();

}  // namespace
}  // namespace argosy::ops
