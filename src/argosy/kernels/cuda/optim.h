#pragma once

#include <span>

#include "argosy/kernels/cuda/runtime.h"

// Optimizers: all parameters of a call in a few launches, each array read and written once.
namespace argosy::cuda::optim {

inline constexpr int kMaxStates = 3;

// Floating elements side by side; of one element: also int64. No data: there is no such array.
struct Array {
  void* data = nullptr;
  DType dtype = DType::float32;
};

// One parameter. What is computed in: float32, float64 where the target is float64.
struct Param {
  int64_t n = 0;
  Array target;  // what is updated: the master copy where there is one
  Array copy;    // the parameter behind a master
  Array grad;
  Array states[kMaxStates];   // n elements each
  Array scalars[kMaxStates];  // of one element; advanced by those rules that count steps
  double lr = 0, l1 = 0, l2 = 0, decay = 0;
  // Null, or for each row of `width` elements whether it is visited.
  const uint8_t* visited = nullptr;
  int64_t width = 1;
  bool ahead = false;  // adam takes the powers of the next step
};

// Numbers that all parameters share, as the ops' attributes name them.
struct Numbers {
  double grad_scale = 1;  // factor on gradients, before l1 and l2
  double beta1 = 0, beta2 = 0, epsilon = 0, rho = 0, momentum = 0, momentum_decay = 0;
  double lr_min = 0, lr_max = 0, eta_negative = 0, eta_positive = 0;
  int64_t batch_num = 1;
  bool flag = false;  // nesterov, centered, always_adapt
  Array rate;         // factor on every lr: one element, float32 or float64; no data: 1
};

using Params = std::span<const Param>;

// A row-sparse gradient as a dense one: `dense` [height, width] (float32 or float64) = sums of the
// rows of `values` [count, width] at `rows`, in any order; visited [height] (may be null): which
// rows there are.
struct Rows {
  const int64_t* rows = nullptr;
  const void* values = nullptr;
  DType dtype = DType::float32;  // of values
  int64_t count = 0, width = 0, height = 0;
};
void add_rows(cudaStream_t stream, const Rows& from, void* dense, DType dtype, uint8_t* visited);

void sgd(cudaStream_t stream, Params params, const Numbers& numbers);
void momentum(cudaStream_t stream, Params params, const Numbers& numbers);
// States d and y; y is `batch_num` times as long as the parameter. Scalar: steps (int64).
void asgd(cudaStream_t stream, Params params, const Numbers& numbers);
void rprop(cudaStream_t stream, Params params, const Numbers& numbers);
void adagrad(cudaStream_t stream, Params params, const Numbers& numbers);
void adadelta(cudaStream_t stream, Params params, const Numbers& numbers);
// States momentum, mean square and, if centered, mean gradient.
void rmsprop(cudaStream_t stream, Params params, const Numbers& numbers);
// Scalars: powers of the betas. A third state makes it AMSGrad.
void adam(cudaStream_t stream, Params params, const Numbers& numbers, bool amsgrad);
void adamax(cudaStream_t stream, Params params, const Numbers& numbers);
// Scalars: 0.96^t, beta2^t, the product of all mu.
void nadam(cudaStream_t stream, Params params, const Numbers& numbers);
// Scalars: beta1^t, beta2^t, rho.
void radam(cudaStream_t stream, Params params, const Numbers& numbers);
void lamb(cudaStream_t stream, Params params, const Numbers& numbers);

// What rules compute from scalars, for each parameter.
inline constexpr int kMade = 6;
enum class Steps { adam, adamax, nadam, radam, asgd, lamb };
// made[kMade * i ..] from the scalars of parameter i, which go one step on.
void advance(cudaStream_t stream, Steps rule, Params params, const Numbers& numbers, double* made);
// made[kMade * i + 2] = rate * lr * |param| / |direction|, from sums of squares of each block in
// pairs: blocks of parameter i end at ends[i].
struct NormRange {
  int64_t begin = 0, end = 0;  // blocks
  double lr = 0;
  bool adapts = false;
};
void trust(cudaStream_t stream, std::span<const NormRange> ranges, const double* sums,
           const Array& rate, double* made);

}  // namespace argosy::cuda::optim
