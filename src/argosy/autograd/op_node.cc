#include <algorithm>

#include "argosy/autograd/node.h"
#include "argosy/autograd/saved_hooks.h"
#include "argosy/op/autocast.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/watched.h"

namespace argosy::autograd {
namespace {

using op::OpDef;
using op::Save;

// The pointer is what every recorded op asks; the other owns.
constinit thread_local const SavedHooks* active_hooks = nullptr;
thread_local std::shared_ptr<const SavedHooks> owned_hooks;

// No hooks in this scope: what a hook computes is not recorded and not packed.
struct HooksOff {
  HooksOff() { active_hooks = nullptr; }
  ~HooksOff() { active_hooks = saved; }
  const SavedHooks* saved = active_hooks;
  op::GradMode no_grad{false};
};

// The first byte of the elements, and the one behind the last.
std::pair<const char*, const char*> extent(const Tensor& t) {
  const auto size = static_cast<int64_t>(item_size(t.dtype()));
  int64_t first = 0, last = size;
  for (int d = 0; d < t.rank(); ++d) {
    const int64_t reach = (t.dim(d) - 1) * t.stride(d) * size;
    (reach < 0 ? first : last) += reach;
  }
  const auto* at = static_cast<const char*>(t.raw());
  return {at + first, at + last};
}
bool may_overlap(const Tensor& a, const Tensor& b) {
  if (a.impl()->storage != b.impl()->storage) return false;
  if (!a.has_data() || !b.has_data() || a.numel() == 0 || b.numel() == 0) return true;
  const auto [a_first, a_end] = extent(a);
  const auto [b_first, b_end] = extent(b);
  return a_first < b_end && b_first < a_end;
}

// A value kept for backward, with the version and the form that it had.
struct Saved {
  Saved() = default;
  // Only described: never read.
  static Saved shape_of(const Tensor& t) {
    return Saved(Tensor::describe(t.shape(), t.dtype(), t.place()), 0);
  }
  explicit Saved(const Tensor& t) : Saved(t, t.version()) {}

  bool stale() const { return tensor.version() != version || tensor.impl()->forms != forms; }

  Tensor tensor;
  uint32_t version = 0;
  uint16_t forms = 0;

 private:
  Saved(const Tensor& t, uint32_t v) : tensor(t), version(v), forms(t.impl()->forms) {}
};

// Values that the user's hooks keep: `kept[i]` stands for the i-th saved input, then output.
struct Packed {
  std::shared_ptr<const SavedHooks> hooks;
  InlineVector<std::shared_ptr<void>, 4> kept;
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
        else if (save == Save::value || (save == Save::others && others_need(ins_.size())))
          ins_.push_back(Saved(t));
        else
          ins_.push_back(t.layout() == Layout::strided ? Saved::shape_of(t) : Saved(t));
      };
      if (op.inputs[i].list)
        for (const Tensor& t : in.list(i)) keep(t);
      else
        keep(in[i]);
    }
  }

  // The op wrote over x, which had `version`: what was saved of that memory is stale, and so is x
  // itself where it was another operand, too.
  void saved_before_write(const Tensor& x, uint32_t version) {
    for (Saved& s : ins_)
      if (s.tensor.defined() && may_overlap(s.tensor, x))
        s.version = s.tensor.is(x) ? x.version() - 1 : version;
  }

  // x is written next. What was saved of its memory, and is up to date, gets memory of its own.
  void keep_saved(const Tensor& x) {
    for (size_t i = 0; i < ins_.size(); ++i) {
      const Tensor t = ins_[i].tensor;
      if (!t.defined() || !t.has_data() || t.impl()->storage != x.impl()->storage ||
          ins_[i].stale())
        continue;
      Tensor own = Tensor::empty(t.shape(), t.dtype(), t.place());
      op::copy_into(own, t);
      own.impl()->grad_fn = t.impl()->grad_fn;
      own.impl()->grad_index = t.impl()->grad_index;
      own.impl()->stop_gradient = t.stop_gradient();
      for (Saved& s : ins_)
        if (s.tensor.is(t)) s = Saved(own);
    }
  }

  void save_outputs(const Tensors& out) {
    outputs = static_cast<uint32_t>(out.size());
    bool list = op_.any_list && op_.outputs.size() == 1 && op_.outputs[0].list;
    for (size_t i = 0; i < out.size(); ++i) {
      Save save = op_.outputs[list ? 0 : i].save;
      if (save == Save::value)
        outs_.push_back(Saved(out[i].detach()));
      else if (save == Save::shape)
        outs_.push_back(Saved::shape_of(out[i]));
      else
        outs_.push_back({});
    }
  }

  const char* name() const override { return op_.name.c_str(); }
  // Products are linear in each factor: the gradient of one is a product with the others.
  bool computes_apart() const override {
    return std::ranges::count(op_.inputs, Save::others, &op::InputDef::save) > 1;
  }
  bool computes_rows(size_t edge) const override {
    if (watch::watched()) return false;  // who watches sees whole gradients
    const op::RowGradient* rule = rows_of(edge);
    if (!rule) return false;
    const Operands ins = saved_inputs();
    return rule->applies({ins, ends_.empty() ? nullptr : ends_.data()});
  }
  Tensor backward_rows(std::span<const Tensor> dys, size_t edge, int64_t begin,
                       int64_t end) override {
    const Operands ins = saved_inputs(), outs = saved_outputs();
    const op::Inputs in(ins, ends_.empty() ? nullptr : ends_.data());
    return rows_of(edge)->rows({op_, in, outs, dys, nullptr}, begin, end);
  }
  bool released() const override { return released_; }
  void release_saved() override {
    ins_.clear();
    outs_.clear();
    packed_.reset();
    released_ = true;
  }

  // Hands what was saved to the hooks of this thread. `out` has its history by now.
  void pack(const Tensors& out) {
    auto packed = std::make_unique<Packed>();
    packed->hooks = owned_hooks;
    HooksOff off;
    auto hand_over = [&](Saved& s, const Tensor& value) {
      packed->kept.push_back(nullptr);
      const Tensor t = s.tensor;
      if (!t.defined() || !t.has_data() || t.layout() != Layout::strided || s.stale()) return;
      packed->kept.back() = packed->hooks->pack(value);
      s = Saved::shape_of(t);
    };
    for (Saved& s : ins_) hand_over(s, s.tensor);
    for (size_t i = 0; i < outs_.size(); ++i) {
      // Not the output itself: hooks that keep what they get would close a cycle through this node.
      Tensor alias =
          outs_[i].tensor.defined() && outs_[i].tensor.has_data() ? out[i].detach() : Tensor();
      if (alias.defined()) alias.set_stop_gradient(out[i].stop_gradient());
      hand_over(outs_[i], alias);
    }
    packed_ = std::move(packed);
  }

  Tensors backward(std::span<const Tensor> dys, const bool* needs) override {
    const Operands ins = saved_inputs(), outs = saved_outputs();
    op::Inputs in(ins, ends_.empty() ? nullptr : ends_.data());
    op::GradCall call(op_, in, outs, dys, needs);
    if (watch::watched()) [[unlikely]]
      return op::watched_gradient(call, attrs_.get());
    return op_.gradient(call, attrs_.get());
  }

 private:
  using Operands = InlineVector<Tensor, 4>;

  // Of an op without lists, whose edges are its inputs.
  const op::RowGradient* rows_of(size_t edge) const {
    if (op_.any_list || !op_.inputs[edge].gradient_rows) return nullptr;
    return &op_.inputs[edge].gradient_rows;
  }
  [[gnu::always_inline]] Operands saved_inputs() const {
    Operands ins;
    for (size_t i = 0; i < ins_.size(); ++i) ins.push_back(input(i));
    return ins;
  }
  [[gnu::always_inline]] Operands saved_outputs() {
    Operands outs;
    for (size_t i = 0; i < outs_.size(); ++i) {
      const Tensor& t = is_packed(ins_.size() + i) ? unpack(ins_.size() + i) : check(outs_[i]);
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
    return outs;
  }

  // Whether an input beside the i-th may get a gradient.
  bool others_need(size_t i) const {
    for (size_t k = 0; k < edges.size(); ++k)
      if (k != i && edges[k].node) return true;
    return false;
  }

  const Tensor& check(const Saved& s) const {
    ARGOSY_CHECK(!s.tensor.defined() || !s.tensor.has_data() || s.tensor.version() == s.version,
                 permission)
        << '[' << op_.name << "] the gradient needs a value (" << s.tensor
        << ") that was overwritten in place since, last by `" << s.tensor.impl()->storage->writer()
        << "` (received tensor_version:" << s.tensor.version()
        << " != wrapper_version_snapshot:" << s.version
        << "). Do this: use the form of that op that returns a new tensor.";
    ARGOSY_CHECK(!s.tensor.defined() || s.tensor.impl()->forms == s.forms, permission)
        << '[' << op_.name << "] the gradient needs a value that was given another form in place "
        << "since: it is " << s.tensor << " by now, as after reshape_, transpose_ or squeeze_. Do "
        << "this: use the form of that op that returns a new tensor.";
    return s.tensor;
  }

  bool is_packed(size_t i) const { return packed_ && packed_->kept[i]; }

  Tensor unpack(size_t i) const {
    const Tensor& was = i < ins_.size() ? ins_[i].tensor : outs_[i - ins_.size()].tensor;
    HooksOff off;
    Tensor t = packed_->hooks->unpack(packed_->kept[i].get());
    ARGOSY_CHECK(t.shape() == was.shape() && t.dtype() == was.dtype(), invalid_argument)
        << "[saved_tensors_hooks] unpack_hook must give back what pack_hook got for `" << op_.name
        << "`: expected a Tensor like " << was << ", got " << t
        << ". Do this: return a Tensor of that shape and dtype.";
    return t.detach();
  }

  Tensor input(size_t i) const {
    if (!is_packed(i)) return check(ins_[i]);
    Tensor t = unpack(i);
    if (op::thread_state.grad_enabled && edges[i].node)
      tie(t, edges[i].node, edges[i].index);  // its history, for higher derivatives
    return t;
  }

  const OpDef& op_;
  op::AttrBox attrs_;
  InlineVector<Saved, 3> ins_;
  InlineVector<Saved, 2> outs_;
  InlineVector<uint32_t, 4> ends_;
  std::unique_ptr<Packed> packed_;
  bool released_ = false;
};

void record(const OpDef& op, const op::Inputs& in, const void* attrs, Tensors& out) {
  auto node = make_ref<OpNode>(op, in, attrs);
  node->save_outputs(out);
  bool list = op.outputs.size() == 1 && op.outputs[0].list;
  for (uint32_t i = 0; i < out.size(); ++i)
    if (op.outputs[list ? 0 : i].differentiable && is_differentiable(out[i].dtype()))
      tie(out[i], Ref<Node>::share(node.get()), i);
  if (active_hooks) [[unlikely]]
    node->pack(out);
}

void record_inplace(const OpDef& op, const op::Inputs& in, const void* attrs, uint32_t old_version,
                    const Tensor& x) {
  auto node = make_ref<OpNode>(op, in, attrs);
  node->saved_before_write(x, old_version);
  node->save_outputs(Tensors(x));
  tie(x, Ref<Node>::share(node.get()), 0);
  if (active_hooks) [[unlikely]]
    node->pack(Tensors(x));
}

void keep_saved(const Tensor& value, const Tensor& x) {
  auto* node = dynamic_cast<OpNode*>(static_cast<Node*>(value.impl()->grad_fn.get()));
  if (node && x.has_data()) node->keep_saved(x);
}

[[maybe_unused]] const bool installed = [] {
  op::hooks.record_tape = record;
  op::hooks.record_tape_inplace = record_inplace;
  op::hooks.keep_saved = keep_saved;
  op::is_released = [](const Tensor& t) {
    const auto* node = static_cast<const Node*>(t.impl()->grad_fn.get());
    return node && node->released();
  };
  return true;
}();

}  // namespace

void set_saved_hooks(std::shared_ptr<const SavedHooks> hooks) {
  owned_hooks = std::move(hooks);
  active_hooks = owned_hooks.get();
}

bool has_saved_hooks() {
  return active_hooks != nullptr;
}

}  // namespace argosy::autograd
