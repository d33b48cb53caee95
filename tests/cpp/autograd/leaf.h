#pragma once

#include "argosy/autograd/engine.h"
#include "tests/cpp/tensors.h"

namespace argosy::test {

// A tensor that wants its gradient.
inline Tensor leaf(Tensor t) {
  t.set_stop_gradient(false);
  return t;
}
inline Tensor leaf(float value) {
  return leaf(number(value));
}
inline void run_backward(const Tensor& y, bool retain = false, bool create = false) {
  autograd::backward({&y, 1}, {}, retain, create);
}

}  // namespace argosy::test
