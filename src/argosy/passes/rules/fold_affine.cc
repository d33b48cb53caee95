#include "argosy/op/dispatch.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/passes/rules/algebra.h"
#include "argosy/passes/rules/scaled_channels.h"
#include "argosy/program/builder.h"

// Factors and summands of channels after a convolution or a product as parts of its weights and
// bias.
namespace argosy::passes {
namespace {

constexpr size_t kWeight = 1, kBias = 2;

// What follows a product: a * product + b, each one number or one for each channel, in float64;
// undefined where nothing is multiplied or added.
struct Channels {
  Ref<Value> of;
  Tensor a, b;
};

class Folder {
 public:
  explicit Folder(Program& p) : r_(p), algebra_(r_) {}

  bool run() {
    r_.walk([&](Operation& o) {
      if (o.results.size() != 1 || o.attr_operands || o.results[0]->dtype != DType::float32) return;
      if (is(o, "matmul")) return matmul(o);
      for (const Ref<Value>& v : o.operands)
        if (v && v->producer && fold(o, v)) return;
    });
    return r_.changed();
  }

 private:
  // The axis of channels in the result of a product with constant weights.
  static std::optional<int> channel_axis(const Operation& o) {
    const int rank = o.results[0]->shape.rank();
    if (is(o, "conv1d") || is(o, "conv2d") || is(o, "conv3d"))
      return attr<bool>(o, "cl") ? rank - 1 : 1;
    if (!is(o, "linear") || rank < 2 || o.operands[kWeight]->shape.rank() != 2) return std::nullopt;
    return rank - 1;
  }

  // As what has a bias, too.
  void matmul(Operation& o) {
    const Tensor weight = r_.constant_of(o.operands[1]);
    if (!weight.defined() || weight.rank() != 2 || o.operands[0]->shape.rank() < 2 ||
        attr<bool>(o, "transpose_x") || attr<bool>(o, "transpose_y"))
      return;
    if (r_.replace_with(o.results[0], "linear", {o.operands[0], o.operands[1], nullptr},
                        default_attrs(op::get("linear"))))
      r_.erase();
  }

  // v as [channels] or [1] in float64, if it is a constant that is the same along all other axes.
  Tensor per_channel(const Ref<Value>& v, const Ref<Value>& beside, int axis) const {
    const Tensor t = r_.constant_of(v);
    const int skip = beside->shape.rank() - v->shape.rank();
    if (!t.defined() || t.dtype() != DType::float32 || t.place().kind != DeviceKind::cpu ||
        skip < 0)
      return {};
    for (int d = 0; d < t.rank(); ++d)
      if (t.dim(d) != 1 && (d + skip != axis || t.dim(d) != beside->shape[axis])) return {};
    return ops::cast(ops::reshape(t, op::IntArray{-1}), DType::float64);
  }

  std::optional<Channels> channels(const Operation& o, const Ref<Value>& v, int axis) const {
    if (o.results[0]->shape.rank() != v->shape.rank()) return std::nullopt;
    if (const auto step = algebra_.step(o)) {
      if (step->of != v) return std::nullopt;
      Channels c{v, {}, {}};
      if (step->a != 1) c.a = number(step->a);
      if (step->b != 0) c.b = number(step->b);
      return c;
    }
    if (o.operands.size() != 2 || o.operands[0] == o.operands[1]) return std::nullopt;
    const bool first = o.operands[0] == v;
    const Tensor t = per_channel(o.operands[first ? 1 : 0], v, axis);
    if (!t.defined()) return std::nullopt;
    if (is(o, "multiply")) return Channels{v, t, {}};
    if (is(o, "divide") && first && !attr<std::optional<std::string>>(o, "rounding_mode"))
      return Channels{v, ops::reciprocal(t), {}};
    if (is(o, "add") && attr<double>(o, "alpha") == 1) return Channels{v, {}, t};
    if (is(o, "subtract") && first && attr<double>(o, "alpha") == 1)
      return Channels{v, {}, ops::negative(t)};
    return std::nullopt;
  }

  static Tensor number(double v) {
    return ops::full(op::IntArray{1}, op::Scalar(v), DType::float64);
  }

  bool fold(Operation& o, const Ref<Value>& v) {
    Operation& product = *v->producer;
    const auto axis = channel_axis(product);
    if (!axis || r_.uses(v) != 1 || r_.leaves(v) || v->dtype != DType::float32) return false;
    const Tensor weight = r_.constant_of(product.operands[kWeight]);
    const Ref<Value>& given = product.operands[kBias];
    const Tensor bias = given ? r_.constant_of(given) : Tensor();
    if (!weight.defined() || weight.dtype() != DType::float32 ||
        (given && (!bias.defined() || bias.rank() != 1)))
      return false;
    op::GradMode off(false);
    program::Recording none(nullptr);
    const auto after = channels(o, v, *axis);
    if (!after) return false;
    // One more copy of weights that others read, too, is not worth it.
    if (after->a.defined() && r_.uses(product.operands[kWeight]) != 1) return false;
    Ref<Value> scaled = product.operands[kWeight], shifted;
    // Channels are the first axis of a convolution's weights, the last one of a matrix.
    if (after->a.defined())
      scaled = r_.constant(scaled_channels(weight, after->a, !is(product, "linear")));
    if (const Tensor b = new_bias(bias, *after, weight, product); b.defined())
      shifted = r_.constant(b);
    if (!r_.replace(o.results[0], v)) return false;
    if (scaled != product.operands[kWeight]) r_.set_operand(product, kWeight, scaled);
    if (shifted) r_.set_operand(product, kBias, shifted);
    r_.erase();
    return true;
  }

  // Undefined if there is none.
  static Tensor new_bias(const Tensor& bias, const Channels& after, const Tensor& weight,
                         const Operation& product) {
    Tensor b;
    if (bias.defined()) b = ops::cast(bias, DType::float64);
    if (b.defined() && after.a.defined()) b = ops::multiply(b, after.a);
    if (after.b.defined()) b = b.defined() ? ops::add(b, after.b) : after.b;
    if (!b.defined()) return b;
    const int64_t count = weight.dim(is(product, "linear") ? 1 : 0);
    if (b.dim(0) != count) b = ops::expand(b, op::IntArray{count});
    return ops::cast(op::contiguous(b), DType::float32);
  }

  Rewriter r_;
  Algebra algebra_;
};

bool run(Program& p, const PassContext&) {
  return Folder(p).run();
}

ARGOSY_PASS(fold_affine, Rounding::changed,
            "Constant factors and summands, one number or one for each channel, that follow a "
            "convolution or a product with constant weights become part of its weights and bias. "
            "For Programs whose state does not change any more.",
            run)

}  // namespace
}  // namespace argosy::passes
