#include <algorithm>

#include "argosy/op/dispatch.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/passes/rewrite.h"
#include "argosy/passes/rules/scaled_channels.h"
#include "argosy/program/builder.h"

// A convolution with the normalization after it as one convolution.
namespace argosy::passes {
namespace {

class Folder {
 public:
  Folder(Program& p, const PassContext& c) : p_(p), context_(c), r_(p) {}

  bool run() {
    r_.walk([&](Operation& o) {
      if (is(o, "batch_norm") && fold(o)) r_.erase();
    });
    return r_.changed();
  }

 private:
  // What v is whenever the Program runs: a constant, or state that it does not write.
  Tensor fixed(const Ref<Value>& v) const {
    if (!v) return {};
    for (const auto& c : p_.constants)
      if (c.value == v) return c.tensor;
    for (const auto& s : p_.states)
      if (s.initial == v && !s.last) {
        if (s.state->tensor.defined()) return s.state->tensor;
        program::Variable* held = context_.scope ? context_.scope->find(s.state->name) : nullptr;
        return held ? held->tensor : Tensor();
      }
    return {};
  }

  // Does nobody else read the memory of the constant v: neither another operation, nor whoever made
  // it, nor the owner of memory that was only lent? `held` is the caller's only handle.
  bool is_last_reader(const Ref<Value>& v, const Tensor& held) const {
    if (r_.uses(v) != 1 || r_.leaves(v) || !held.is_contiguous()) return false;
    const auto known = std::ranges::find(p_.constants, v, &program::Constant::value);
    if (known == p_.constants.end() || !known->fixed || !known->tensor.is(held)) return false;
    constexpr uint32_t kOfConstant = 2;  // the Program's handle and the caller's
    const Ref<Storage>& storage = held.impl()->storage;
    return held.impl()->ref_count() == kOfConstant && storage->ref_count() == 1 &&
           !storage->shared() && storage->borrow(0, storage->bytes());
  }

  bool fold(Operation& o) {
    const Ref<Value>& x = o.operands[0];
    Operation* conv = x->producer;
    if (!conv || attr<bool>(o, "batch_stats") || r_.uses(x) != 1 || r_.leaves(x)) return false;
    if (!is(*conv, "conv1d") && !is(*conv, "conv2d") && !is(*conv, "conv3d")) return false;
    if (attr<bool>(*conv, "cl") != attr<bool>(o, "channel_last")) return false;
    for (size_t i = 1; i < o.results.size(); ++i)
      if (r_.uses(o.results[i])) return false;
    const Tensor weight = fixed(conv->operands[1]), mean = fixed(o.operands[1]),
                 variance = fixed(o.operands[2]);
    if (!weight.defined() || !mean.defined() || !variance.defined()) return false;
    Tensor parts[3];  // bias of the convolution, weight and bias of the normalization
    const Ref<Value>* const given[] = {&conv->operands[2], &o.operands[3], &o.operands[4]};
    for (size_t i = 0; i < 3; ++i) {
      parts[i] = fixed(*given[i]);
      if (*given[i] && !parts[i].defined()) return false;
    }
    // In float64: what is rounded is the new weight, once.
    op::GradMode off(false);
    program::Recording here(nullptr);
    auto wide = [](const Tensor& t) { return ops::cast(t, DType::float64); };
    Tensor factor = ops::rsqrt(ops::scale(wide(variance), 1, attr<double>(o, "epsilon")));
    if (parts[1].defined()) factor = ops::multiply(factor, wide(parts[1]));
    Tensor shift = ops::negative(wide(mean));
    if (parts[0].defined()) shift = ops::add(shift, wide(parts[0]));
    shift = ops::multiply(shift, factor);
    if (parts[2].defined()) shift = ops::add(shift, wide(parts[2]));
    const bool in_place = is_last_reader(conv->operands[1], weight);
    const Tensor scaled = scaled_channels(weight, factor, /*first_axis=*/true, in_place);
    Ref<Value> operands[] = {conv->operands[0], r_.constant(scaled),
                             r_.constant(ops::cast(shift, weight.dtype()))};
    op::AttrBox attrs(*conv->op->attrs, conv->attrs.get());
    return r_.replace_with(o.results[0], conv->op->name, {std::begin(operands), std::end(operands)},
                           std::move(attrs));
  }

  Program& p_;
  const PassContext& context_;
  Rewriter r_;
};

bool run(Program& p, const PassContext& c) {
  return Folder(p, c).run();
}

ARGOSY_PASS(conv_batch_norm, Rounding::changed,
            "Folds batch normalization by running statistics into the convolution before it. The "
            "parameters become constants: for Programs whose state does not change any more. "
            "Results differ by rounding, about 1e-5 of their size in float32.",
            run)

}  // namespace
}  // namespace argosy::passes
