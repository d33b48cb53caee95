#include "argosy/kernels/cpu/elementwise.h"
#include "argosy/kernels/cpu/host_loops.h"
#include "argosy/kernels/cpu/simd/math.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

template <int e>
constexpr auto kWholePower = [](auto x) {
  using T = decltype(x);
  const auto v = static_cast<Wrap<T>>(x);
  const auto square = static_cast<Wrap<T>>(v * v);
  constexpr int kMagnitude = e < 0 ? -e : e;
  auto power = square;
  if constexpr (kMagnitude == 3) power = static_cast<Wrap<T>>(square * v);
  if constexpr (kMagnitude == 4) power = static_cast<Wrap<T>>(square * square);
  if constexpr (kMagnitude == 5) power = static_cast<Wrap<T>>(square * square * v);
  if constexpr (e < 0) power = 1 / power;
  return static_cast<T>(power);
};

template <class T>
void whole_power(char* const* ptrs, int64_t n, const void* params) {
  const int e = static_cast<int>(static_cast<const LoopParams*>(params)->a);
  if constexpr (!std::is_integral_v<T>) {
    if (e == -3) return map1<kWholePower<-3>, T, T>(ptrs, n, nullptr);
    if (e == -2) return map1<kWholePower<-2>, T, T>(ptrs, n, nullptr);
  }
  if (e == 3) return map1<kWholePower<3>, T, T>(ptrs, n, nullptr);
  if (e == 4) return map1<kWholePower<4>, T, T>(ptrs, n, nullptr);
  map1<kWholePower<5>, T, T>(ptrs, n, nullptr);
}
template <class... S>
consteval Draft whole_powers(Types<S...>) {
  Draft t;
  (t.add(dtype_id<S>, loop_of<whole_power<Mapped<S>>, 1, mapped_form<S>, mapped_form<S>>), ...);
  return t;
}

constexpr auto kNanToNum = [](auto x, const auto& p) {
  using T = decltype(x);
  T v = x == kInf<T> ? p.b : x;
  v = x == -kInf<T> ? p.c : v;
  return x == x ? v : p.a;
};

constexpr auto kHuber = [](auto x, auto y, const auto& p) {
  using T = decltype(x);
  const T d = x - y;
  T cut = d < -p.a ? -p.a : d;
  cut = cut > p.a ? p.a : cut;
  return cut * (d - cut * T(0.5)) * p.b;
};

constexpr HostLoops kLoops = {
    .whole_power = whole_powers(Floats{}) | whole_powers(Integers{}),
    .nan_to_num = unary<kNanToNum>(Floats{}),
    .huber = binary<kHuber>(Floats{}),
};

}  // namespace

const HostLoops host_loops = kLoops;

}  // namespace argosy::cpu::ARGOSY_ISA
