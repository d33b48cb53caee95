#pragma once

#include <cmath>
#include <initializer_list>
#include <vector>

#include "argosy/op/define.h"
#include "argosy/ops/optim/optim.h"

// What optimizer ops share. Such an op takes lists of equal length, one place for each parameter:
//   0 params, 1 grads, 2.. states, last masters (empty, or for each parameter its float32 copy or,
//   where it has none, the parameter itself).
// It updates params, states and masters in place. Everything is computed in float32, for float64
// parameters in float64.
namespace argosy::ops::optim {

inline constexpr int kMaxStates = 3;

// n elements of one parameter, all of one type.
struct Slice {
  void* param;
  const void* grad;
  void* const* states;
  int64_t n;
  const void* coefficients;  // the op's own, of this parameter
};
struct Rule {
  void (*f32)(const Slice&);
  void (*f64)(const Slice&);
};
// The rule of a function template `template <class T> void step(const Slice&)`.
#define ARGOSY_OPTIM_RULE(step) \
  ::argosy::ops::optim::Rule {  \
    step<float>, step<double>   \
  }

struct Job;

// One call of an optimizer op. The constructor checks the operands.
class ARGOSY_API Update {
 public:
  // states: number of state inputs; they follow grads.
  Update(const op::KernelFrame& f, int states, const Common& common);

  size_t size() const { return params_.size(); }
  double lr(size_t i) const {
    return common_.lr_scales.empty() ? common_.lr : common_.lr * common_.lr_scales[i];
  }
  // Per-parameter number from a list that may be empty.
  static double at(const std::vector<double>& list, size_t i, double otherwise) {
    return list.empty() ? otherwise : list[i];
  }
  // Is `list` empty or of one number for each parameter? Raises otherwise.
  void check(const char* name, const std::vector<double>& list) const;
  bool has_state(int k) const { return !f_.in.list(2 + static_cast<size_t>(k)).empty(); }
  // Raises if the op was called without this list.
  const Tensor& state(int k, size_t i) const;
  // A state of one element.
  double scalar(int k, size_t i) const;
  void set_scalar(int k, size_t i, double value) const;
  // What is updated: the master copy where there is one.
  const Tensor& target(size_t i) const;

  double grad_scale = 1;   // factor on gradients, before l1 and l2
  bool rows_only = false;  // of a row-sparse gradient, visit only its rows
  // Applies the rule to all elements. states: those that have an element for each of the
  // parameter's. coefficients: one block of `bytes` bytes for each parameter.
  void run(Rule rule, std::initializer_list<int> states, const void* coefficients,
           size_t bytes) const;

 private:
  struct Kept;
  Job prepare(size_t i, Rule rule, std::initializer_list<int> states, const void* coefficients,
              Kept& kept) const;

  const op::KernelFrame& f_;
  int states_;
  Common common_;
  std::span<const Tensor> params_, grads_, masters_;
};

}  // namespace argosy::ops::optim
