#pragma once

#include <span>
#include <string>
#include <vector>

#include "argosy/op/op.h"

// FLAGS_check_nan_inf: which op made the first NaN or infinity, and of what.
namespace argosy::op {

// What a tensor of floating or complex numbers holds. Complex ones count by their parts.
struct Numbers {
  int64_t count = 0, nans = 0, infs = 0, zeros = 0;
  double min = 0, max = 0;  // NaN left out; NaN if nothing is left
  double mean = 0;
  bool finite() const { return nans + infs == 0; }
};
// Throws ErrorKind::type for other dtypes.
ARGOSY_API Numbers look_at(const Tensor& t);

// A tensor and what to call it in a report.
struct Labelled {
  std::string label;
  Tensor tensor;
  bool overwritten = false;  // by the result
};

std::string indexed(const std::string& name, size_t i);  // "x[3]"

// Looks at the results of an op that ran. FLAGS_check_nan_inf_level 0: throws ErrorKind::runtime
// for NaN or infinity, with the ranges of inputs and outputs. 1: prints a line for each output that
// has them; 2: for those that float16 cannot hold too; 3: for all. Does nothing for ops that
// set_checked_ops left out, and for those that promise no values (empty).
//   if (watch::on(watch::finite)) [[unlikely]] check_finite(op, in, out);
ARGOSY_API void check_finite(const OpDef& op, const Inputs& in, std::span<const Tensor> out);
// The same for anything else that computes.
ARGOSY_API void check_finite(const std::string& name, std::span<const Labelled> in,
                             std::span<const Labelled> out);
// One tensor, at a level given.
ARGOSY_API Numbers check_numbers(const Tensor& t, const std::string& op, const std::string& label,
                                 int64_t level);

// Empty `checked`: all but `skipped`.
ARGOSY_API void set_checked_ops(std::vector<std::string> checked, std::vector<std::string> skipped);
// Where printed lines go; null: standard output.
ARGOSY_API void set_report(void (*report)(const std::string& line));

}  // namespace argosy::op
