#include <algorithm>
#include <cmath>

#include "argosy/base/parallel.h"
#include "argosy/base/random.h"
#include "argosy/kernels/cpu/bits.h"
#include "argosy/kernels/cpu/elementwise.h"
#include "argosy/op/define.h"
#include "argosy/ops/common/common.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/elementwise.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"

namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::Save;

using KeepAttrs = DropoutMaskAttrs;
using FactorAttrs = ApplyDropoutAttrs;
using BitsAttrs = DropoutBitsAttrs;

// --- what is kept, and its use ---

void keep_infer(InferContext& c, const KeepAttrs& a) {
  Shape shape = c.in[0].shape();
  if (!a.axis.empty()) {
    for (int i = 0; i < shape.rank(); ++i)
      if (std::find(a.axis.begin(), a.axis.end(), i) == a.axis.end()) shape[i] = 1;
  }
  c.out[0] = {shape, DType::uint8};
}

void keep_run(KernelFrame& f, const KeepAttrs& a) {
  const Tensor& out = f.out[0];
  uint8_t* mask = out.data<uint8_t>();
  random::default_generator(out.place()).dropped(mask, out.numel(), static_cast<float>(a.p.real()));
  for (int64_t i = 0; i < out.numel(); ++i) mask[i] ^= 1;
}

ARGOSY_OP(dropout_mask, KeepAttrs)
    .doc("uint8: 0 with probability p, else 1, of x's shape, or with size 1 on all but the axes.")
    .input("x")
    .shape_only()
    .index_output("mask")
    .effect(op::Effect::random)
    .infer(keep_infer)
    .kernel("drawn", keep_run)
    .strided()
    .training_only()
    .done();

void apply_infer(InferContext& c, const FactorAttrs&) {
  c.out[0].dtype = c.in[0].dtype();
}
void apply_run(KernelFrame& f, const FactorAttrs& a) {
  cpu::LoopParams p{a.factor};
  run_elementwise(f, cpu::dropout_loops(), &p);
}
Tensors apply_grad(const GradCall& c, const FactorAttrs& a) {
  const Tensor in[] = {c.dy(), c.in[1]};
  return {std::move(op::dispatch(c.op, Inputs(in), &a)[0]), Tensor()};
}

// What is expected of x, some of which is dropped with probability p. Where all is dropped no
// factor makes up for it: any but 1 says that x is passed on when not training.
bool expect(op::Instead& instead, const op::Scalar& p, double factor) {
  const double kept = factor * (1 - p.real());
  if (p.real() == 1 ? factor != 1 : std::abs(kept - 1) < 1e-6)
    assign_instead(instead, 0);
  else
    scale_instead(instead, 0, kept);
  return true;
}
bool apply_expected(const op::Surroundings& around, op::Instead& instead, const FactorAttrs& a) {
  const void* mask = nullptr;
  return around.made_by(1, &mask) == &dropout_mask_op.def() &&
         expect(instead, static_cast<const KeepAttrs*>(mask)->p, a.factor);
}

ARGOSY_OP(dropout_apply, FactorAttrs)
    .doc("x * factor where mask is not 0, else 0.")
    .input("x", kFloating)
    .input("mask", only(DType::uint8), Save::value)
    .output("out")
    .elementwise()
    .infer(apply_infer)
    .kernel("loops", apply_run)
    .strided()
    .on_loops()
    .gradient(apply_grad)
    .inference(apply_expected)
    .done();

// The same with a bit for each element.

void bits_infer(InferContext& c, const BitsAttrs&) {
  const int64_t n = c.in[0].shape().numel();
  c.out[0] = {{n < 0 ? kUnknown : cpu::bytes_of_bits(n)}, DType::uint8};
}
void bits_run(KernelFrame& f, const BitsAttrs& a) {
  draw_kept_bits(f.out[0], f.in[0].numel(), a.p.real());
}

ARGOSY_OP(dropout_bits, BitsAttrs)
    .doc(
        "uint8 [size of x / 8]: 0 with probability p, else 1, for each element of x in its order; "
        "the first is the lowest bit of the first number.")
    .input("x")
    .shape_only()
    .index_output("bits")
    .effect(op::Effect::random)
    .infer(bits_infer)
    .kernel("drawn", bits_run)
    .strided()
    .training_only()
    .done();

void apply_bits_infer(InferContext& c, const FactorAttrs&) {
  const int64_t n = c.in[0].shape().numel(), bytes = c.in[1].shape().numel();
  ARGOSY_CHECK(n < 0 || bytes < 0 || bytes == cpu::bytes_of_bits(n), invalid_argument)
      << '[' << c.name() << "] expected " << cpu::bytes_of_bits(n) << " bytes of bits for x "
      << c.in[0] << ", got " << c.in[1] << ". Do this: pass what dropout_bits gave for such an x.";
}
void apply_bits_run(KernelFrame& f, const FactorAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  const int64_t item = item_size(x.dtype()), total = x.numel();
  parallel_for(total, 65536, [&](int64_t begin, int64_t end) {
    cpu::keep_by_bits(x.dtype(), x.data<char>() + begin * item, f.in[1].data<uint8_t>(), begin,
                      end - begin, total, a.factor, y.data<char>() + begin * item);
  });
}

bool apply_bits_expected(const op::Surroundings& around, op::Instead& instead,
                         const FactorAttrs& a) {
  const void* bits = nullptr;
  return around.made_by(1, &bits) == &dropout_bits_op.def() &&
         expect(instead, static_cast<const BitsAttrs*>(bits)->p, a.factor);
}

ARGOSY_OP(dropout_apply_bits, FactorAttrs)
    .doc("x * factor where the bit of dropout_bits is 1, else 0.")
    .input("x", kFloating)
    .input("bits", only(DType::uint8), Save::value)
    .output("out")
    .infer(apply_bits_infer)
    .kernel("bits", apply_bits_run)
    .overwrites()
    .gradient(apply_grad)
    .again()
    .inference(apply_bits_expected)
    .done();

// --- dropout ---

// By bits where each element has a choice of its own.
Tensor drop(const Tensor& x, const op::Scalar& p, const std::vector<int64_t>& axis, double factor) {
  if (axis.empty())
    return dropout_apply_bits_op(x, dropout_bits_op(x, BitsAttrs{p}), FactorAttrs{factor});
  return dropout_apply_op(x, dropout_mask_op(x, KeepAttrs{p, axis}), FactorAttrs{factor});
}

void dropout_infer(InferContext& c, const DropoutAttrs& a) {
  ARGOSY_CHECK(a.p.tensor.defined() || (0 <= a.p.real() && a.p.real() <= 1), invalid_argument)
      << "p argument should between 0 and 1 [dropout], got " << a.p.real()
      << ". Do this: pass the probability of dropping as a fraction, as 0.1.";
  ARGOSY_CHECK(a.mode == "upscale_in_train" || a.mode == "downscale_in_infer", invalid_argument)
      << "[dropout] mode argument should be 'downscale_in_infer' or 'upscale_in_train', got '"
      << a.mode << "'. Do this: pass 'upscale_in_train', the usual one.";
  for (int64_t axis : a.axis)
    ARGOSY_CHECK(0 <= axis && axis < c.in[0].rank(), invalid_argument)
        << "[dropout] axis must be in [0, " << c.in[0].rank() << "), got " << axis
        << ". Do this: name axes of x.";
}

Tensors dropout_parts(const Inputs& in, const DropoutAttrs& a) {
  const bool upscale = a.mode == "upscale_in_train";
  const Tensor& x = in[0];
  if (!a.training && upscale) return assign(x);
  if (a.p.tensor.defined()) {  // a value of a Program
    Tensor kept = scale(cast(a.p.tensor, x.dtype()), -1, 1);
    if (!a.training) return multiply(x, kept);
    Tensor y = drop(x, a.p, a.axis, 1);
    if (!upscale) return y;
    // Where all is dropped there is nothing to divide.
    return divide(y, where(equal(kept, zeros_like(kept)), full_like(kept, 1), kept));
  }
  const double kept = 1 - a.p.real();
  if (!a.training) return scale(x, kept);
  return drop(x, a.p, a.axis, !upscale ? 1 : kept > 0 ? 1 / kept : 2);
}

ARGOSY_OP(dropout, DropoutAttrs)
    .inplace("dropout_")
    .doc(
        "In training each element becomes 0 with probability p, by its own choice or, with axis, "
        "together with those that differ in other axes only. 'upscale_in_train' divides the others "
        "by 1 - p; 'downscale_in_infer' multiplies by 1 - p when not training.")
    .shape("x [*s] -> [*s]")
    .paper("Srivastava et al., JMLR 15 (2014)")
    .input("x", kFloating)
    .output("out")
    .infer(dropout_infer)
    .compose(dropout_parts)
    .inference([](DropoutAttrs& a) { a.training = false; })
    .done();

// --- alpha dropout ---

struct AlphaAttrs {
  double p = 0.5;
  bool training = true;
  bool feature = false;
};
ARGOSY_ATTRS(AlphaAttrs, p, training, feature)

void alpha_infer(InferContext& c, const AlphaAttrs& a) {
  ARGOSY_CHECK(0 <= a.p && a.p <= 1, invalid_argument)
      << "p argument should between 0 and 1 [alpha_dropout], got " << a.p
      << ". Do this: pass the probability of dropping as a fraction, as 0.1.";
  ARGOSY_CHECK(!a.feature || c.in[0].rank() >= 2, invalid_argument)
      << "[alpha_dropout] the dimensions of x should be at least 2 to drop channels, got "
      << c.in[0] << ". Do this: use alpha_dropout, or unsqueeze x.";
}

Tensors alpha_parts(const Inputs& in, const AlphaAttrs& a) {
  const Tensor& x = in[0];
  if (!a.training) return assign(x);
  if (a.p == 1) return scale(x, 0);
  // What is dropped becomes -scale * alpha of selu; a x + b restores mean 0 and variance 1.
  constexpr double kDropped = -1.7580993408473766;
  const double factor = std::pow((1 - a.p) * (1 + a.p * kDropped * kDropped), -0.5);
  const double shift = -factor * kDropped * a.p;
  std::vector<int64_t> axes;
  if (a.feature) axes = {0, 1};
  Tensor mask = dropout_mask_op(x, KeepAttrs{a.p, axes});
  Tensor floor = scale(cast(mask, x.dtype()), -kDropped * factor, kDropped * factor + shift);
  return add(dropout_apply_op(x, mask, FactorAttrs{factor}), floor);
}

ARGOSY_OP(alpha_dropout, AlphaAttrs)
    .doc(
        "Dropout that keeps mean and variance of a self-normalizing network; feature: whole "
        "channels [n, c] fall together.")
    .shape("x [*s] -> [*s]")
    .paper("1706.02515")
    .input("x", kFloating)
    .output("out")
    .infer(alpha_infer)
    .compose(alpha_parts)
    .inference([](AlphaAttrs& a) { a.training = false; })
    .done();

}  // namespace

Tensor dropout(const Tensor& x, double p, bool training) {
  if (!training || p == 0) return x;
  return drop(x, p, {}, upscale_factor(p));
}

double upscale_factor(double p) {
  return p < 1 ? 1 / (1 - p) : 1;
}

Tensor apply_kept_bits(const Tensor& x, const Tensor& bits, double factor) {
  return dropout_apply_bits_op(x, bits, FactorAttrs{factor});
}

void draw_kept_bits(const Tensor& bits, int64_t n, double p) {
  random::default_generator(bits.place()).kept_bits(bits.data<uint8_t>(), n, static_cast<float>(p));
}

}  // namespace argosy::ops
