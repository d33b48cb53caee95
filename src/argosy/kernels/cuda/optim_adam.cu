#include "argosy/kernels/cuda/optim_update.cuh"

// adam with its forms, adamax, nadam, radam, lamb.
namespace argosy::cuda::optim {
namespace {

// made: rate, epsilon, what is kept of the parameter.
template <class T, bool largest>
struct AdamOf {
  static constexpr int kStates = largest ? 3 : 2;
  T b1, a1, b2, a2, rate, epsilon, keep;
  __device__ AdamOf(const Numbers& n, const Entry& e)
      : b1(static_cast<T>(n.beta1)),
        a1(static_cast<T>(1 - n.beta1)),
        b2(static_cast<T>(n.beta2)),
        a2(static_cast<T>(1 - n.beta2)),
        rate(static_cast<T>(e.made[0])),
        epsilon(static_cast<T>(e.made[1])),
        keep(static_cast<T>(e.made[2])) {}
  __device__ __forceinline__ void operator()(T& p, T g, T* s) const {
    s[0] = b1 * s[0] + a1 * g;
    s[1] = b2 * s[1] + a2 * g * g;
    T under = s[1];
    if constexpr (largest) under = s[2] = s[2] > under ? s[2] : under;
    p = keep * p - rate * (s[0] / (sqrt(under) + epsilon));
  }
};
template <class T>
struct Adam : AdamOf<T, false> {
  using AdamOf<T, false>::AdamOf;
};
template <class T>
struct Amsgrad : AdamOf<T, true> {
  using AdamOf<T, true>::AdamOf;
};

// made: rate.
template <class T>
struct Adamax {
  static constexpr int kStates = 2;
  T b1, a1, b2, rate, epsilon;
  __device__ Adamax(const Numbers& n, const Entry& e)
      : b1(static_cast<T>(n.beta1)),
        a1(static_cast<T>(1 - n.beta1)),
        b2(static_cast<T>(n.beta2)),
        rate(static_cast<T>(e.made[0])),
        epsilon(static_cast<T>(n.epsilon)) {}
  __device__ __forceinline__ void operator()(T& p, T g, T* s) const {
    s[0] = b1 * s[0] + a1 * g;
    const T size = g < 0 ? -g : g, old = b2 * s[1] + epsilon;
    s[1] = size > old ? size : old;
    p -= rate * (s[0] / s[1]);
  }
};

// p -= m_rate * m / d + g_rate * g / d, d = sqrt(v) * v_scale + epsilon; or d = 1 if flat.
// made: m_rate, g_rate, v_scale, flat.
template <class T>
struct Mix {
  static constexpr int kStates = 2;
  T b1, a1, b2, a2, m_rate, g_rate, v_scale, epsilon;
  bool flat;
  __device__ Mix(const Numbers& n, const Entry& e)
      : b1(static_cast<T>(n.beta1)),
        a1(static_cast<T>(1 - n.beta1)),
        b2(static_cast<T>(n.beta2)),
        a2(static_cast<T>(1 - n.beta2)),
        m_rate(static_cast<T>(e.made[0])),
        g_rate(static_cast<T>(e.made[1])),
        v_scale(static_cast<T>(e.made[2])),
        epsilon(static_cast<T>(n.epsilon)),
        flat(e.made[3] != 0) {}
  __device__ __forceinline__ void operator()(T& p, T g, T* s) const {
    s[0] = b1 * s[0] + a1 * g;
    s[1] = b2 * s[1] + a2 * g * g;
    const T move = m_rate * s[0] + g_rate * g;
    p -= flat ? move : move / (sqrt(s[1]) * v_scale + epsilon);
  }
};

// State 2 gets the direction, which is of the computing type. made: the corrections.
template <class T>
struct LambDirection {
  static constexpr int kStates = 3;
  using KeepsParam = void;
  using Norms = void;
  T b1, a1, b2, a2, c1, c2, epsilon, decay;
  __device__ LambDirection(const Numbers& n, const Entry& e)
      : b1(static_cast<T>(n.beta1)),
        a1(static_cast<T>(1 - n.beta1)),
        b2(static_cast<T>(n.beta2)),
        a2(static_cast<T>(1 - n.beta2)),
        c1(static_cast<T>(e.made[0])),
        c2(static_cast<T>(e.made[1])),
        epsilon(static_cast<T>(n.epsilon)),
        decay(static_cast<T>(e.decay)) {}
  __device__ __forceinline__ void operator()(T& p, T g, T* s) const {
    s[0] = b1 * s[0] + a1 * g;
    s[1] = b2 * s[1] + a2 * g * g;
    s[2] = s[0] * c1 / (sqrt(s[1] * c2) + epsilon) + decay * p;
  }
};

// The gradient is the direction. made[2]: the rate.
template <class T>
struct LambMove {
  static constexpr int kStates = 0;
  T rate;
  __device__ LambMove(const Numbers&, const Entry& e) : rate(static_cast<T>(e.made[2])) {}
  __device__ __forceinline__ void operator()(T& p, T r, T*) const { p -= rate * r; }
};

}  // namespace

void adam(cudaStream_t stream, Params params, const Numbers& numbers, bool amsgrad) {
  if (params.empty()) return;
  const Scratch made(stream, params.size() * kMade * sizeof(double));
  advance(stream, Steps::adam, params, numbers, made.data<double>());
  if (amsgrad)
    run<Amsgrad>(stream, params, numbers, made.data<double>());
  else
    run<Adam>(stream, params, numbers, made.data<double>());
}

void adamax(cudaStream_t stream, Params params, const Numbers& numbers) {
  if (params.empty()) return;
  const Scratch made(stream, params.size() * kMade * sizeof(double));
  advance(stream, Steps::adamax, params, numbers, made.data<double>());
  run<Adamax>(stream, params, numbers, made.data<double>());
}

void nadam(cudaStream_t stream, Params params, const Numbers& numbers) {
  if (params.empty()) return;
  const Scratch made(stream, params.size() * kMade * sizeof(double));
  advance(stream, Steps::nadam, params, numbers, made.data<double>());
  run<Mix>(stream, params, numbers, made.data<double>());
}

void radam(cudaStream_t stream, Params params, const Numbers& numbers) {
  if (params.empty()) return;
  const Scratch made(stream, params.size() * kMade * sizeof(double));
  advance(stream, Steps::radam, params, numbers, made.data<double>());
  run<Mix>(stream, params, numbers, made.data<double>());
}

void lamb(cudaStream_t stream, Params params, const Numbers& numbers) {
  if (params.empty()) return;
  std::vector<Param> list(params.begin(), params.end());
  std::vector<NormRange> ranges(list.size());
  std::vector<int64_t> places(list.size());  // bytes of directions, each to 16
  int64_t bytes = 0, blocks = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const bool wide = list[i].target.dtype == DType::float64;
    places[i] = bytes;
    bytes += (list[i].n * (wide ? 8 : 4) + 15) / 16 * 16;
    ranges[i] = {blocks, blocks + blocks_of(list[i]), list[i].lr,
                 list[i].decay != 0 || numbers.flag};
    blocks += blocks_of(list[i]);
  }
  if (blocks == 0) bytes = blocks = 1;
  const Scratch made(stream, list.size() * kMade * sizeof(double));
  const Scratch directions(stream, static_cast<size_t>(bytes));
  const Scratch sums(stream, static_cast<size_t>(2 * blocks) * sizeof(double));
  for (size_t i = 0; i < list.size(); ++i)
    list[i].states[2] = {directions.data<char>() + places[i],
                         list[i].target.dtype == DType::float64 ? DType::float64 : DType::float32};
  advance(stream, Steps::lamb, list, numbers, made.data<double>());
  run<LambDirection>(stream, list, numbers, made.data<double>(), sums.data<double>());
  trust(stream, ranges, sums.data<double>(), numbers.rate, made.data<double>());
  for (Param& p : list) {
    p.grad = p.states[2];
    p.l1 = p.l2 = 0;
  }
  run<LambMove>(stream, list, Numbers{}, made.data<double>());
}

}  // namespace argosy::cuda::optim
