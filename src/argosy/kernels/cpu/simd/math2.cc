#include "argosy/kernels/cpu/simd/math.h"
#include "argosy/kernels/cpu/simd/tables.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

constexpr auto kPow = [](float a, float b) -> float {
  double x = abs_of(double{a}), y = b;
  double r = exp_core(y * log_core(x));
  bool whole = __builtin_rint(y) == y;
  bool odd = whole & (__builtin_rint(y * 0.5) != y * 0.5);
  r = (x == 1) | (y == 0) ? 1.0 : r;
  bool negative = __builtin_copysignf(1.0f, a) < 0;
  r = negative & odd ? -r : r;
  bool undefined = (a < 0) & !whole & (x < kInf<double>)&(abs_of(y) < kInf<double>);
  r = undefined ? kNan<double> : r;
  bool nan = (a != a) | (b != b);
  r = nan ? a + y : r;
  bool one = (a == 1.0f) | (b == 0.0f);
  return static_cast<float>(one ? 1.0 : r);
};
// Integer powers wrap; a negative exponent gives the truncated reciprocal.
constexpr auto kIntegerPow = [](auto a, auto b) {
  using T = decltype(a);
  if (b < T(0)) {
    return a == T(1) ? T(1) : a == static_cast<T>(-1) ? static_cast<T>(b & 1 ? -1 : 1) : T(0);
  }
  Wrap<T> base = Wrap<T>(a), result = 1;
  for (auto e = Wrap<T>(b); e; e >>= 1) {
    if (e & 1) result *= base;
    base *= base;
  }
  return static_cast<T>(result);
};
constexpr auto kAtan2 = [](float a, float b) -> float {
  double y = a, x = b;
  double v = atan_core(abs_of(y) / abs_of(x));
  v = (y == 0) & (x == 0) ? 0.0 : v;
  v = (abs_of(y) == kInf<double>)&(abs_of(x) == kInf<double>) ? 0.78539816339744831 : v;
  v = __builtin_copysign(1.0, x) < 0 ? 3.1415926535897931 - v : v;
  v = copysign_of(v, y);
  return static_cast<float>((a != a) | (b != b) ? y + x : v);
};
constexpr auto kHypot = [](float a, float b) -> float {
  double x = a, y = b;
  double v = sqrt_of(x * x + y * y);
  bool infinite = (abs_of(x) == kInf<double>) | (abs_of(y) == kInf<double>);
  return static_cast<float>(infinite ? kInf<double> : v);
};
constexpr auto kLogaddexp = [](float a, float b) -> float {
  double high = a > b ? a : b;
  double d = abs_of(double{a} - double{b});
  double v = high + log1p_core(exp_core(-d));
  v = a == b ? high + 0.69314718055994531 : v;  // both infinite too
  return static_cast<float>((a != a) | (b != b) ? a + b : v);
};
constexpr auto kLdexp = [](float a, float b) -> float {
  return static_cast<float>(a * exp_core(b * 0.69314718055994531));
};
constexpr auto kCopysign = [](auto a, auto b) { return copysign_of(a, b); };
// Bits as integers in the order of the numbers, both zeros 0; made so twice, they are bits again.
constexpr auto kNextafter = [](auto a, auto b) {
  using T = decltype(a);
  using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  using I = std::make_signed_t<U>;
  constexpr U kSign = U{1} << (8 * sizeof(T) - 1);
  const auto ordered = [](U u) { return static_cast<I>(u & kSign ? kSign - u : u); };
  const U bits = __builtin_bit_cast(U, a);
  const I from = ordered(bits), to = ordered(__builtin_bit_cast(U, b));
  const U next = static_cast<U>(from) + (from < to ? U{1} : ~U{0});
  // A step to zero keeps the sign.
  const U out = next == 0 ? bits & kSign : next & kSign ? kSign - next : next;
  const T stepped = from == to ? b : __builtin_bit_cast(T, out);
  return (a != a) | (b != b) ? a + b : stepped;
};
constexpr auto kHeaviside = [](auto a, auto b) {
  using T = decltype(a);
  return a == T(0) ? b : static_cast<T>(a > T(0));
};

using Small = Types<float16, bfloat16, float>;

constexpr Math2Loops make() {
  Math2Loops t{};
  t.pow = binary<kPow>(Small{}) | binary<kIntegerPow>(Integers{});
  t.atan2 = binary<kAtan2>(Small{});
  t.hypot = binary<kHypot>(Small{});
  t.logaddexp = binary<kLogaddexp>(Small{});
  t.ldexp = binary<kLdexp>(Small{});
  t.copysign = binary<kCopysign>(Floats{});
  t.nextafter = binary<kNextafter>(Types<float, double>{});  // steps of the dtype itself
  t.heaviside = binary<kHeaviside>(Floats{}) | binary<kHeaviside>(Integers{});
  return t;
}
constexpr Math2Loops kLoops = make();

}  // namespace

const Math2Loops math2_loops = kLoops;

}  // namespace argosy::cpu::ARGOSY_ISA
