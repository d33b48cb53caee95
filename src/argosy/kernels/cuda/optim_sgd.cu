#include "argosy/kernels/cuda/optim_update.cuh"

// sgd, momentum, asgd, rprop.
namespace argosy::cuda::optim {
namespace {

template <class T>
struct Sgd {
  static constexpr int kStates = 0;
  T lr;
  __device__ Sgd(const Numbers& n, const Entry& e) : lr(static_cast<T>(rate_of(n, e))) {}
  __device__ __forceinline__ void operator()(T& p, T g, T*) const { p -= lr * g; }
};

template <class T>
struct Momentum {
  static constexpr int kStates = 1;
  T lr, mu;
  bool nesterov;
  __device__ Momentum(const Numbers& n, const Entry& e)
      : lr(static_cast<T>(rate_of(n, e))), mu(static_cast<T>(n.momentum)), nesterov(n.flag) {}
  __device__ __forceinline__ void operator()(T& p, T g, T* s) const {
    s[0] = mu * s[0] + g;
    p -= nesterov ? (g + mu * s[0]) * lr : lr * s[0];
  }
};

// States: the sum d, and the gradient y that this batch gave last time.
template <class T>
struct Asgd {
  static constexpr int kStates = 2;
  using Sliced = void;
  T rate;
  __device__ Asgd(const Numbers&, const Entry& e) : rate(static_cast<T>(e.made[0])) {}
  __device__ __forceinline__ void operator()(T& p, T g, T* s) const {
    s[0] = s[0] - s[1] + g;
    s[1] = g;
    p -= rate * s[0];
  }
};

template <class T>
struct Rprop {
  static constexpr int kStates = 2;
  T low, high, shrink, grow;
  __device__ Rprop(const Numbers& n, const Entry&)
      : low(static_cast<T>(n.lr_min)),
        high(static_cast<T>(n.lr_max)),
        shrink(static_cast<T>(n.eta_negative)),
        grow(static_cast<T>(n.eta_positive)) {}
  __device__ __forceinline__ void operator()(T& p, T g, T* s) const {
    const T product = s[0] * g;
    const T grad = product < 0 ? T{0} : g;
    const T r = s[1] * (product > 0 ? grow : product < 0 ? shrink : T{1});
    s[1] = r < low ? low : r > high ? high : r;
    p -= grad > 0 ? s[1] : grad < 0 ? -s[1] : T{0};
    s[0] = grad;
  }
};

}  // namespace

void sgd(cudaStream_t stream, Params params, const Numbers& numbers) {
  run<Sgd>(stream, params, numbers);
}
void momentum(cudaStream_t stream, Params params, const Numbers& numbers) {
  run<Momentum>(stream, params, numbers);
}
void asgd(cudaStream_t stream, Params params, const Numbers& numbers) {
  if (params.empty()) return;
  const Scratch made(stream, params.size() * kMade * sizeof(double));
  advance(stream, Steps::asgd, params, numbers, made.data<double>());
  run<Asgd>(stream, params, numbers, made.data<double>());
}
void rprop(cudaStream_t stream, Params params, const Numbers& numbers) {
  run<Rprop>(stream, params, numbers);
}

}  // namespace argosy::cuda::optim
