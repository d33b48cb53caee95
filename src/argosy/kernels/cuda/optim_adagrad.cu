#include "argosy/kernels/cuda/optim_update.cuh"

// adagrad, adadelta, rmsprop.
namespace argosy::cuda::optim {
namespace {

template <class T>
struct Adagrad {
  static constexpr int kStates = 1;
  T lr, epsilon;
  __device__ Adagrad(const Numbers& n, const Entry& e)
      : lr(static_cast<T>(rate_of(n, e))), epsilon(static_cast<T>(n.epsilon)) {}
  __device__ __forceinline__ void operator()(T& p, T g, T* s) const {
    s[0] += g * g;
    p -= lr * g / (sqrt(s[0]) + epsilon);
  }
};

template <class T>
struct Adadelta {
  static constexpr int kStates = 2;
  T lr, rho, rest, epsilon;
  __device__ Adadelta(const Numbers& n, const Entry& e)
      : lr(static_cast<T>(rate_of(n, e))),
        rho(static_cast<T>(n.rho)),
        rest(static_cast<T>(1 - n.rho)),
        epsilon(static_cast<T>(n.epsilon)) {}
  __device__ __forceinline__ void operator()(T& p, T g, T* s) const {
    s[0] = rho * s[0] + rest * g * g;
    const T move = sqrt((s[1] + epsilon) / (s[0] + epsilon)) * g;
    s[1] = rho * s[1] + rest * move * move;
    p -= lr * move;
  }
};

// States: momentum, mean square, and the mean if centered.
template <class T, bool centered>
struct RmspropOf {
  static constexpr int kStates = centered ? 3 : 2;
  T lr, rho, rest, epsilon, momentum;
  __device__ RmspropOf(const Numbers& n, const Entry& e)
      : lr(static_cast<T>(rate_of(n, e))),
        rho(static_cast<T>(n.rho)),
        rest(static_cast<T>(1 - n.rho)),
        epsilon(static_cast<T>(n.epsilon)),
        momentum(static_cast<T>(n.momentum)) {}
  __device__ __forceinline__ void operator()(T& p, T g, T* s) const {
    s[1] = rho * s[1] + rest * g * g;
    T variance = s[1];
    if constexpr (centered) {
      s[2] = rho * s[2] + rest * g;
      variance -= s[2] * s[2];
    }
    s[0] = momentum * s[0] + lr * g / sqrt(variance + epsilon);
    p -= s[0];
  }
};
template <class T>
struct Rmsprop : RmspropOf<T, false> {
  using RmspropOf<T, false>::RmspropOf;
};
template <class T>
struct CenteredRmsprop : RmspropOf<T, true> {
  using RmspropOf<T, true>::RmspropOf;
};

}  // namespace

void adagrad(cudaStream_t stream, Params params, const Numbers& numbers) {
  run<Adagrad>(stream, params, numbers);
}
void adadelta(cudaStream_t stream, Params params, const Numbers& numbers) {
  run<Adadelta>(stream, params, numbers);
}
void rmsprop(cudaStream_t stream, Params params, const Numbers& numbers) {
  if (numbers.flag)
    run<CenteredRmsprop>(stream, params, numbers);
  else
    run<Rmsprop>(stream, params, numbers);
}

}  // namespace argosy::cuda::optim
