#include "argosy/op/dispatch.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/passes/rules/packing.h"
#include "argosy/program/builder.h"

// Products with a constant matrix as products with a packed one.
namespace argosy::passes {

Operation* Packer::linear(Rewriter& r, const Ref<Value>& x, const Ref<Value>& weight_value,
                          const Tensor& weight, const Ref<Value>& bias, int64_t least) {
  if (weight.rank() != 2 || weight.dtype() != DType::float32 || weight.numel() < least ||
      weight.place().kind != DeviceKind::cpu || x->dtype != DType::float32)
    return nullptr;
  ops::PackedLinearAttrs a;
  a.in = weight.dim(0);
  a.out = weight.dim(1);
  if (!ops::can_pack(a)) return nullptr;
  const std::string key = "linear" + std::to_string(weight.strides()[0] < weight.strides()[1]);
  const Ref<Value> packed = once(r, weight_value, key, weight, a);
  op::AttrBox attrs = default_attrs(op::get("packed_linear"));
  set_attr(attrs, "in", a.in);
  set_attr(attrs, "out", a.out);
  return &r.insert("packed_linear", {x, packed, bias, nullptr}, std::move(attrs));
}

namespace {

class Linears {
 public:
  explicit Linears(Program& p) : r_(p) {}

  bool run() {
    r_.walk([&](Operation& o) {
      if (o.op->name == std::string_view("linear"))
        take(o, o.operands[1], r_.constant_of(o.operands[1]), o.operands[2]);
      else if (is(o, "matmul") && !attr<bool>(o, "transpose_x") && o.operands[0]->shape.rank() > 1)
        take(o, o.operands[1], matrix(o), nullptr);
    });
    return r_.changed();
  }

 private:
  Tensor matrix(const Operation& o) const {
    const Tensor w = r_.constant_of(o.operands[1]);
    if (!w.defined() || w.rank() != 2 || !attr<bool>(o, "transpose_y")) return w;
    return w.view({w.dim(1), w.dim(0)}, {w.strides()[1], w.strides()[0]});
  }

  void take(Operation& o, const Ref<Value>& value, const Tensor& weight, const Ref<Value>& bias) {
    if (!weight.defined() || o.results[0]->dtype != DType::float32) return;
    if (bias && (bias->shape.rank() != 1 || bias->dtype != DType::float32 ||
                 bias->shape[0] != weight.dim(1)))
      return;
    op::GradMode off(false);
    program::Recording here(nullptr);
    constexpr int64_t kLeast = 64 * 64;  // elements; for less there are faster kernels
    if (Operation* packed = packer_.linear(r_, o.operands[0], value, weight, bias, kLeast)) {
      r_.stand_in(o.results[0], packed->results[0]);
      const Ref<Value> read = value;  // an operand of what is erased
      r_.erase();
      r_.drop(read);
    }
  }

  Rewriter r_;
  Packer packer_;
};

bool run(Program& p, const PassContext&) {
  return Linears(p).run();
}

ARGOSY_PASS(pack_products, Rounding::changed,
            "Products with a constant float32 matrix read it in the order that is fastest, into "
            "which it is put once (packed_linear). For Programs that are run here, not saved.",
            run)

}  // namespace
}  // namespace argosy::passes
