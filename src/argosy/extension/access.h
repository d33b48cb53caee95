#pragma once

#include "argosy/op/op.h"
#include "argosy/tensor/tensor.h"
#include "paddle/extension.h"

// Between the types of paddle/extension.h and ours.
namespace argosy::extension {

struct TensorAccess {
  static Tensor wrap(argosy::Tensor t) {
    Tensor out;
    out.impl_ = argosy::Ref(t.ref()).leak();
    return out;
  }
  // Undefined where t is.
  static argosy::Tensor unwrap(const Tensor& t) {
    return argosy::Tensor(argosy::Ref<argosy::TensorImpl>::share(t.impl_));
  }
};

argosy::DType to_dtype(DataType t);  // throws for UNDEFINED
DataType from_dtype(argosy::DType t);
argosy::op::Scalar to_scalar(const Scalar& s);
argosy::Place to_place(const Place& place);  // throws where there is no such GPU

// Of an op that PD_BUILD_OP described, {output, input} for each output that an input becomes in
// place; the op itself leaves its inputs as they are. Empty for all other ops.
ARGOSY_API std::vector<std::pair<size_t, size_t>> inplace_of(const argosy::op::OpDef& def);

}  // namespace argosy::extension
