#include "argosy/autograd/node.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/watched.h"

namespace argosy::autograd {
namespace {

using op::OpDef;
using op::Save;

// A value kept for backward, with the version it had.
struct Saved {
  Tensor tensor;
  uint32_t version = 0;
};

// The tape node of an op of the registry.
class OpNode final : public Node {
 public:
  OpNode(const OpDef& op, const op::Inputs& in, const void* attrs)
      : op_(op), attrs_(*op.attrs, attrs) {
    if (in.ends()) ends_.append(in.ends(), in.ends() + op.inputs.size());
    edges.reserve(in.flat().size());
    for (const Tensor& t : in.flat()) edges.push_back(edge_to(t));
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      Save save = op.inputs[i].save;
      auto keep = [&](const Tensor& t) {
        if (!t.defined() || save == Save::nothing)
          ins_.push_back({});
        else if (save == Save::value)
          ins_.push_back({t, t.version()});
        else
          ins_.push_back({t.layout() == Layout::strided
                              ? Tensor::describe(t.shape(), t.dtype(), t.place())
                              : t,
                          0});
      };
      if (op.inputs[i].list)
        for (const Tensor& t : in.list(i)) keep(t);
      else
        keep(in[i]);
    }
  }

  // The op wrote over x: what was saved of that memory is stale if it changed.
  void saved_before_write(const Tensor& x, uint32_t version) {
    for (Saved& s : ins_)
      if (s.tensor.defined() && s.tensor.impl()->storage == x.impl()->storage) s.version = version;
  }

  void save_outputs(const Tensors& out) {
    outputs = static_cast<uint32_t>(out.size());
    bool list = op_.any_list && op_.outputs.size() == 1 && op_.outputs[0].list;
    for (size_t i = 0; i < out.size(); ++i) {
      Save save = op_.outputs[list ? 0 : i].save;
      if (save == Save::value)
        outs_.push_back({out[i].detach(), out[i].version()});
      else if (save == Save::shape)
        outs_.push_back({Tensor::describe(out[i].shape(), out[i].dtype(), out[i].place()), 0});
      else
        outs_.push_back({});
    }
  }

  const char* name() const override { return op_.name.c_str(); }
  bool released() const override { return released_; }
  void release_saved() override {
    ins_.clear();
    outs_.clear();
    released_ = true;
  }

  Tensors backward(std::span<const Tensor> dys, const bool* needs) override {
    InlineVector<Tensor, 4> ins, outs;
    for (size_t i = 0; i < ins_.size(); ++i) ins.push_back(check(ins_[i]));
    for (size_t i = 0; i < outs_.size(); ++i) {
      const Tensor& t = check(outs_[i]);
      if (!t.defined() || !op::thread_state.grad_enabled || !t.has_data()) {
        outs.push_back(t);
        continue;
      }
      // Give the value its history back, for higher derivatives, without a lasting cycle.
      Tensor alias = t.detach();
      if (op_.outputs[i < op_.outputs.size() ? i : 0].differentiable)
        tie(alias, Ref<Node>::share(this), static_cast<uint32_t>(i));
      outs.push_back(std::move(alias));
    }
    op::Inputs in(ins, ends_.empty() ? nullptr : ends_.data());
    op::GradCall call(op_, in, outs, dys, needs);
    if (watch::any()) [[unlikely]]
      return op::watched_gradient(call, attrs_.get());
    return op_.gradient(call, attrs_.get());
  }

 private:
  const Tensor& check(const Saved& s) const {
    ARGOSY_CHECK(!s.tensor.defined() || !s.tensor.has_data() || s.tensor.version() == s.version,
                 runtime)
        << '[' << op_.name << "] the gradient needs a value (" << s.tensor
        << ") that was overwritten in place since, last by `" << s.tensor.impl()->storage->writer()
        << "` (version " << s.tensor.version() << ", saved at version " << s.version
        << "). Do this: use the form of that op that returns a new tensor.";
    return s.tensor;
  }

  const OpDef& op_;
  op::AttrBox attrs_;
  InlineVector<Saved, 3> ins_;
  InlineVector<Saved, 2> outs_;
  InlineVector<uint32_t, 4> ends_;
  bool released_ = false;
};

void record(const OpDef& op, const op::Inputs& in, const void* attrs, Tensors& out) {
  auto node = make_ref<OpNode>(op, in, attrs);
  node->save_outputs(out);
  bool list = op.outputs.size() == 1 && op.outputs[0].list;
  for (uint32_t i = 0; i < out.size(); ++i)
    if (op.outputs[list ? 0 : i].differentiable && is_differentiable(out[i].dtype()))
      tie(out[i], Ref<Node>::share(node.get()), i);
}

void record_inplace(const OpDef& op, const op::Inputs& in, const void* attrs, uint32_t old_version,
                    const Tensor& x) {
  auto node = make_ref<OpNode>(op, in, attrs);
  node->saved_before_write(in[0], old_version);
  node->save_outputs(Tensors(x));
  tie(x, Ref<Node>::share(node.get()), 0);
}

[[maybe_unused]] const bool installed = [] {
  op::hooks.record_tape = record;
  op::hooks.record_tape_inplace = record_inplace;
  return true;
}();

}  // namespace
}  // namespace argosy::autograd
