#include <algorithm>
#include <cmath>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/integer_linear.h"
#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/quant/integer.h"

// Numbers to codes, and back.
namespace argosy::ops {
namespace {

using op::InferContext;
using op::Inputs;
using op::KernelFrame;

constexpr int64_t kGrain = 1 << 14;  // elements of a thread
constexpr DTypes kWide = only(DType::float32) | only(DType::float64);

// Scale and zero point, one number each.
struct Step {
  float scale, zero;
};
Step step_of(const Tensor& scale, const Tensor& zero) {
  return {*scale.data<float>(), zero.defined() ? *zero.data<float>() : 0.0f};
}
const char* one_step(const Inputs& in) {
  if (in[1].dtype() != DType::float32) return "the scale is not float32";
  if (in[1].rank() || (in[2].defined() && in[2].rank())) return "there are several scales";
  return nullptr;
}

void spread_infer(InferContext& c, DType dtype) {
  Shape shape = c.in[0].shape();
  for (size_t i = 1; i < 3; ++i)
    if (c.in[i].defined()) shape = broadcast(c.name(), shape, c.in[i].shape());
  c.out[0] = {shape, dtype};
}

// --- to codes ---

void quantize_infer(InferContext& c, const QuantizeAttrs& a) {
  ARGOSY_CHECK(is_integral(a.dtype) && a.low <= a.high, invalid_argument)
      << "[quantize_affine] expected an integer dtype and low <= high, got " << a.dtype << ", "
      << a.low << " and " << a.high << '.';
  spread_infer(c, a.dtype);
}
const char* quantize_match(const Inputs& in, const QuantizeAttrs& a) {
  if (in[0].dtype() != DType::float32) return "x is not float32";
  if (a.dtype != DType::uint8 && a.dtype != DType::int8) return "codes are wider than 8 bits";
  return one_step(in);
}
template <class T>
void quantize_elements(const float* x, const Step& step, float low, float high, T* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float code = std::nearbyint(x[i] / step.scale) + step.zero;
    // A NaN is no code: it becomes the lowest.
    y[i] = static_cast<T>(static_cast<int32_t>(code > low ? code < high ? code : high : low));
  }
}
void quantize_run(KernelFrame& f, const QuantizeAttrs& a) {
  const Step step = step_of(f.in[1], f.in[2]);
  const auto low = static_cast<float>(a.low), high = static_cast<float>(a.high);
  const float* x = f.in[0].data<float>();
  parallel_for(f.out[0].numel(), kGrain, [&](int64_t begin, int64_t end) {
    cpu::CodeResult codes{static_cast<char*>(f.out[0].raw()) + begin, true};
    codes.step = step.scale, codes.zero = step.zero, codes.low = low, codes.high = high;
    if (cpu::quantize(x + begin, end - begin, codes)) return;
    if (a.dtype == DType::uint8)
      quantize_elements(x + begin, step, low, high, f.out[0].data<uint8_t>() + begin, end - begin);
    else
      quantize_elements(x + begin, step, low, high, f.out[0].data<int8_t>() + begin, end - begin);
  });
}
Tensors quantize_parts(const Inputs& in, const QuantizeAttrs& a) {
  Tensor code = round(divide(in[0], in[1]));
  if (in[2].defined()) code = add(code, in[2]);
  return {cast(clip(code, a.low, a.high), a.dtype)};
}

ARGOSY_OP(quantize_affine, QuantizeAttrs)
    .doc(
        "Codes of x: x / scale, rounded with halves to even, plus zero, within [low, high], as "
        "integers of dtype. Scales and zero points broadcast to x.")
    .input("x", kWide)
    .input("scale", kWide)
    .optional_input("zero", kWide)
    .index_output("out")
    .elementwise()
    .infer(quantize_infer)
    .kernel("one step", quantize_match, quantize_run)
    .compose(quantize_parts)
    .done();

// --- back ---

void dequantize_infer(InferContext& c, const op::NoAttrs&) {
  spread_infer(c, c.in[1].dtype());
}
const char* dequantize_match(const Inputs& in, const op::NoAttrs&) {
  if (in[0].dtype() != DType::uint8 && in[0].dtype() != DType::int8)
    return "codes are wider than 8 bits";
  return one_step(in);
}
template <class T>
void dequantize_elements(const T* x, const Step& step, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = (static_cast<float>(x[i]) - step.zero) * step.scale;
}
void dequantize_run(KernelFrame& f, const op::NoAttrs&) {
  const Step step = step_of(f.in[1], f.in[2]);
  float* y = f.out[0].data<float>();
  parallel_for(f.out[0].numel(), kGrain, [&](int64_t begin, int64_t end) {
    if (f.in[0].dtype() == DType::uint8)
      dequantize_elements(f.in[0].data<uint8_t>() + begin, step, y + begin, end - begin);
    else
      dequantize_elements(f.in[0].data<int8_t>() + begin, step, y + begin, end - begin);
  });
}
Tensors dequantize_parts(const Inputs& in, const op::NoAttrs&) {
  Tensor number = cast(in[0], in[1].dtype());
  if (in[2].defined()) number = subtract(number, in[2]);
  return {multiply(number, in[1])};
}

ARGOSY_OP(dequantize_affine, op::NoAttrs)
    .doc(
        "What codes stand for: scale * (x - zero), in the dtype of the scale. Scales and zero "
        "points broadcast to x.")
    .input("x", kIntegral)
    .input("scale", kWide)
    .optional_input("zero", kWide)
    .index_output("out")
    .elementwise()
    .infer(dequantize_infer)
    .kernel("one step", dequantize_match, dequantize_run)
    .compose(dequantize_parts)
    .done();

}  // namespace
}  // namespace argosy::ops
