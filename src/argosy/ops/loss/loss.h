#pragma once

#include "argosy/op/define.h"

// What losses share.
namespace argosy::ops {

struct LogLossAttrs {
  double epsilon = 1e-4;
};
ARGOSY_ATTRS(LogLossAttrs, epsilon)
// Of select_class and spread_class; of class_weights.
struct ClassAttrs {
  int64_t axis = -1;
  int64_t ignore_index = -100;
  double fill = 0;
};
ARGOSY_ATTRS(ClassAttrs, axis, ignore_index, fill)

struct ClassWeightsAttrs {
  int64_t ignore_index = -100;
  int64_t classes = 1;
  DType dtype = DType::float32;
};
ARGOSY_ATTRS(ClassWeightsAttrs, ignore_index, classes, dtype)

// Raises unless reduction is 'mean', 'sum' or 'none'.
ARGOSY_API void check_reduction(const char* op, const std::string& reduction);
ARGOSY_API Tensor reduced(const Tensor& losses, const std::string& reduction);
// The output of a loss whose elements have that shape.
ARGOSY_API void infer_reduced(op::InferContext& c, const Shape& elements,
                              const std::string& reduction);
// Raises unless the shapes are equal as far as they are known.
ARGOSY_API void check_same_shape(const char* op, const char* name_a, const Tensor& a,
                                 const char* name_b, const Tensor& b);
// Labels that are integers or booleans as numbers of x's dtype; others as they are.
ARGOSY_API Tensor as_number(const Tensor& label, const Tensor& x);
// 1 where label == value, else 0, in dtype; a constant to autograd.
ARGOSY_API Tensor is_value(const Tensor& label, double value, DType dtype);

// The common infer: all inputs broadcast, attrs have a reduction.
ARGOSY_API void infer_loss(op::InferContext& c, const std::string& reduction);
template <class A>
void loss_infer(op::InferContext& c, const A& a) {
  infer_loss(c, a.reduction);
}

// --- class numbers (labels.cc) ---
// label has x's shape with size 1 on axis; ignored and invalid places are named by ignore_index.

// int32 and int64 labels as they are, others cast to int64.
ARGOSY_API Tensor class_numbers(const char* op, const Tensor& label);
// x[label], or fill where the label is ignore_index; differentiable in x.
ARGOSY_API Tensor select_class(const Tensor& x, const Tensor& label, int64_t axis,
                               int64_t ignore_index, double fill);
// Zeros of like's shape with value (of label's shape) at each label.
ARGOSY_API Tensor spread_class(const Tensor& like, const Tensor& label, const Tensor& value,
                               int64_t axis, int64_t ignore_index);
// weight[label] of label's shape, 0 where ignored; without weight 1 instead of weight[label].
ARGOSY_API Tensor class_weights(const Tensor& weight, const Tensor& label, int64_t ignore_index,
                                int64_t classes, DType dtype);
// Sum of losses over sum of weights, 0 if that is 0.
ARGOSY_API Tensor weighted_mean(const Tensor& losses, const Tensor& weights);

struct CtcRowsAttrs {
  int64_t blank = 0;
  bool norm_by_times = false;
  bool zero_infinity = false;
};
ARGOSY_ATTRS(CtcRowsAttrs, blank, norm_by_times, zero_infinity)

struct RnntRowsAttrs {
  int64_t blank = 0;
  double fastemit_lambda = 0;
};
ARGOSY_ATTRS(RnntRowsAttrs, blank, fastemit_lambda)

struct HsigmoidPathAttrs {
  int64_t num_classes = 2;
};
ARGOSY_ATTRS(HsigmoidPathAttrs, num_classes)

struct CutoffAttrs {
  std::vector<int64_t> cutoffs;  // ascending; the last is the number of classes
};
ARGOSY_ATTRS(CutoffAttrs, cutoffs)

struct HardCrossEntropyAttrs {
  int64_t axis = -1;
  int64_t ignore_index = -100;
  bool wide = false;  // the loss of 16-bit scores is float32
};
ARGOSY_ATTRS(HardCrossEntropyAttrs, axis, ignore_index, wide)

// -log softmax(x)[label] * weight[label], of label's shape. wide: float32 for 16-bit x, too.
ARGOSY_API Tensor hard_cross_entropy(const Tensor& x, const Tensor& label, const Tensor& weight,
                                     int64_t axis, int64_t ignore_index, bool wide = false);
// Elements of binary_cross_entropy_with_logits.
ARGOSY_API Tensor logits_loss(const Tensor& x, const Tensor& label);

}  // namespace argosy::ops
