#pragma once

#include "argosy/op/dispatch.h"
#include "argosy/op/op.h"

// How an op is described: one ARGOSY_OP chain in one file (docs/adding_an_op.md).
//
//   ARGOSY_OP(gelu, GeluAttrs)
//       .python("nn.functional.gelu(x, approximate=False, name=None)")
//       .doc("...").input("x", kFloating, Save::value).output("out")
//       .compose(compose).kernel("fused", match, run).gradient(gradient).done();
namespace argosy::op {

namespace detail {
template <class A, class R, class... Frame>
struct Eraser {
  using Fn = R (*)(Frame..., const A&);
  static Erased<R, Frame...> erase(Fn fn) {
    return {[](void (*f)(), Frame... frame, const void* attrs) -> R {
              return reinterpret_cast<Fn>(f)(frame..., *static_cast<const A*>(attrs));
            },
            reinterpret_cast<void (*)()>(fn)};
  }
};
template <class A, class R>
Erased<R> erase(R (*fn)(const A&)) {
  return Eraser<A, R>::erase(fn);
}
template <class A, class R, class Frame>
Erased<R, Frame> erase(R (*fn)(Frame, const A&)) {
  return Eraser<A, R, Frame>::erase(fn);
}
template <class A, class R, class Frame, class Other>
Erased<R, Frame, Other> erase(R (*fn)(Frame, Other, const A&)) {
  return Eraser<A, R, Frame, Other>::erase(fn);
}
}  // namespace detail

// Of an op with attributes A. `match` returns null or the reason why not; it may be null itself.
template <class A>
KernelDef make_kernel(const char* name, DeviceKind device,
                      const char* (*match)(const Inputs&, const A&),
                      void (*run)(KernelFrame&, const A&)) {
  KernelDef k{.name = name, .device = device, .match = {}, .run = detail::erase<A>(run)};
  if (match) k.match = detail::erase<A>(match);
  k.attrs = &attr_type(static_cast<const A*>(nullptr));
  return k;
}

// A described op, to be called from C++.
template <class A>
class Handle {
 public:
  Handle(OpDef* def) : def_(def) {}
  // First output.
  Tensor operator()(const Tensor& x, const A& attrs = {}) const { return one({&x, 1}, attrs); }
  Tensor operator()(const Tensor& x, const Tensor& y, const A& attrs = {}) const {
    const Tensor in[] = {x, y};
    return one(in, attrs);
  }
  Tensor operator()(const Tensor& x, const Tensor& y, const Tensor& z, const A& attrs = {}) const {
    const Tensor in[] = {x, y, z};
    return one(in, attrs);
  }
  Tensor one(std::span<const Tensor> in, const A& attrs = {}) const {
    return std::move(dispatch(*def_, Inputs(in), &attrs)[0]);
  }
  // All outputs, hidden ones included.
  Tensors all(Inputs in, const A& attrs = {}) const { return dispatch(*def_, in, &attrs); }
  Tensors all(std::initializer_list<Tensor> in, const A& attrs = {}) const {
    return dispatch(*def_, Inputs(std::span(in.begin(), in.size())), &attrs);
  }
  const OpDef& def() const { return *def_; }
  // Says that this op on such operands does what is asked for.
  void instead(Instead& of, std::initializer_list<int32_t> operands, const A& attrs = {}) const {
    of.op = def_;
    of.attrs = AttrBox(*def_->attrs, &attrs);
    of.operands = operands;
    of.results = 1;
  }

 private:
  OpDef* def_;
};

template <class A>
class Builder {
 public:
  Builder(const char* name, const char* file) {
    def_.name = name;
    def_.file = file;
    def_.attrs = &attr_type(static_cast<const A*>(nullptr));
  }

  // --- schema ---
  Builder& input(const char* name, DTypes dtypes = kAny, Save save = Save::nothing) {
    def_.inputs.push_back({.name = name, .dtypes = dtypes, .save = save});
    return *this;
  }
  Builder& optional_input(const char* name, DTypes dtypes = kAny, Save save = Save::nothing) {
    def_.inputs.push_back({.name = name, .dtypes = dtypes, .optional = true, .save = save});
    return *this;
  }
  Builder& list_input(const char* name, DTypes dtypes = kAny, Save save = Save::nothing) {
    def_.inputs.push_back({.name = name, .dtypes = dtypes, .list = true, .save = save});
    def_.any_list = true;
    return *this;
  }
  Builder& output(const char* name, Save save = Save::nothing) {
    def_.outputs.push_back({.name = name, .save = save});
    return *this;
  }
  // An output without gradient: indices, masks.
  Builder& index_output(const char* name, Save save = Save::nothing) {
    def_.outputs.push_back({.name = name, .differentiable = false, .save = save});
    return *this;
  }
  // An output for the gradient only.
  Builder& hidden_output(const char* name, Save save = Save::value) {
    def_.outputs.push_back({.name = name, .hidden = true, .differentiable = false, .save = save});
    return *this;
  }
  Builder& list_output(const char* name, Save save = Save::nothing) {
    def_.outputs.push_back({.name = name, .list = true, .save = save});
    def_.any_list = true;
    return *this;
  }
  // Layouts that the last input takes.
  Builder& layouts(LayoutSet set) {
    def_.inputs.back().layouts = set;
    return *this;
  }
  // Of the last input, dtype and sizes alone are read.
  Builder& shape_only() {
    def_.inputs.back().reads = Reads::shape;
    return *this;
  }
  // Cast the inputs to their common dtype first.
  Builder& promote() {
    def_.promotes = true;
    return *this;
  }
  // Inputs broadcast together; outputs have that shape and, unless infer says otherwise, that
  // dtype.
  Builder& elementwise() {
    def_.elementwise = true;
    return *this;
  }

  // --- meaning ---
  Builder& infer(void (*fn)(InferContext&, const A&)) {
    def_.infer = detail::erase<A>(fn);
    return *this;
  }
  Builder& compose(Tensors (*fn)(const Inputs&, const A&)) {
    def_.compose = detail::erase<A>(fn);
    return *this;
  }
  Builder& view(Tensor (*fn)(const Tensor&, const A&)) {
    def_.view = detail::erase<A>(fn);
    return *this;
  }
  Builder& views(Tensors (*fn)(const Tensor&, const A&)) {
    def_.views = detail::erase<A>(fn);
    return *this;
  }
  // Best first. `match` returns null or the reason why not.
  Builder& kernel(const char* name, const char* (*match)(const Inputs&, const A&),
                  void (*run)(KernelFrame&, const A&), DeviceKind device = DeviceKind::cpu) {
    def_.kernels[static_cast<int>(device)].push_back(make_kernel<A>(name, device, match, run));
    return *this;
  }
  Builder& kernel(const char* name, void (*run)(KernelFrame&, const A&)) {
    return kernel(name, nullptr, run);
  }
  // The kernel added last takes inputs of any strides.
  Builder& strided() {
    def_.kernels[0].back().strided = true;
    return *this;
  }
  // The kernel added last gives the same bits for any strides of its inputs: it adds nothing up in
  // the order of memory. Elementwise kernels need not say so.
  Builder& any_order() {
    def_.kernels[0].back().any_order = true;
    return *this;
  }
  // Kernels may be given input 0 itself as output 0, for the in-place form; elementwise ones always
  // may.
  Builder& overwrites() {
    def_.overwrites = true;
    return *this;
  }
  // What the rule reads of inputs and outputs is said by their Save.
  Builder& gradient(Tensors (*fn)(const GradCall&, const A&)) {
    def_.gradient = detail::erase<A>(fn);
    return *this;
  }
  // For what shapes do not say: see cost_of_shapes (op/cost.h).
  Builder& cost(Cost (*fn)(const InferContext&, const A&)) {
    def_.cost = detail::erase<A>(fn);
    return *this;
  }
  Builder& effect(Effect e) {
    def_.effect = e;
    return *this;
  }
  // Output i is input inputs[i], written in place.
  Builder& writes(std::initializer_list<uint32_t> inputs) {
    def_.writes = inputs;
    def_.effect = Effect::writes_input;
    return *this;
  }

  // The kernel also updates these inputs in place, where `when` holds.
  Builder& updates(std::initializer_list<uint32_t> inputs,
                   bool (*when)(const Inputs&, const A&) = nullptr) {
    def_.updates = inputs;
    if (when) def_.updates_if = detail::erase<A>(when);
    def_.effect = Effect::writes_input;
    return *this;
  }
  // Owns blocks of a Program.
  Builder& structural() {
    def_.structural = true;
    return *this;
  }

  // --- what passes may know (op.h says what each means) ---
  Builder& fills(std::optional<Scalar> (*fn)(const A&)) {
    def_.fills = detail::erase<A>(fn);
    return *this;
  }
  Builder& uninitialized() {
    def_.uninitialized = true;
    return *this;
  }
  Builder& same_order() {
    def_.same_order = true;
    return *this;
  }
  Builder& sums(bool (*when)(const A&) = nullptr) {
    def_.sums = true;
    if (when) def_.sums_if = detail::erase<A>(when);
    return *this;
  }
  Builder& per_parameter() {
    def_.per_parameter = true;
    return *this;
  }
  Builder& again(bool (*fn)(Instead&, const A&) = nullptr) {
    def_.again = true;
    if (fn) def_.again_from = detail::erase<A>(fn);
    return *this;
  }
  Builder& inference(bool (*fn)(const Surroundings&, Instead&, const A&)) {
    def_.inference = detail::erase<A>(fn);
    return *this;
  }
  // The same op, with attributes that `fn` changes.
  Builder& inference(void (*fn)(A&)) {
    def_.inference = {[](void (*f)(), const Surroundings&, Instead& instead, const void* attrs) {
                        A changed = *static_cast<const A*>(attrs);
                        reinterpret_cast<void (*)(A&)>(f)(changed);
                        instead.attrs =
                            AttrBox(attr_type(static_cast<const A*>(nullptr)), &changed);
                        return true;
                      },
                      reinterpret_cast<void (*)()>(fn)};
    return *this;
  }
  Builder& training_only() {
    def_.training_only = true;
    return *this;
  }
  Builder& lookup(int32_t table, int32_t ids) {
    def_.lookup = {.ids = ids, .table = table};
    return *this;
  }
  Builder& lookup_gradient(int32_t table, int32_t ids, int32_t dy) {
    def_.lookup_gradient = {.ids = ids, .table = table, .dy = dy};
    return *this;
  }
  Builder& update_rule(void (*fn)(UpdateRule&, const A&)) {
    def_.update_rule = detail::erase<A>(fn);
    return *this;
  }
  Builder& initial_range(std::optional<double> (*fn)(const A&)) {
    def_.initial_range = detail::erase<A>(fn);
    return *this;
  }

  // --- public face ---
  Builder& python(const char* signature) {
    def_.python.emplace_back(signature);
    return *this;
  }
  Builder& method(const char* name) {
    def_.methods.emplace_back(name);
    return *this;
  }
  Builder& inplace(const char* name) {
    def_.inplace.emplace_back(name);
    return *this;
  }
  Builder& alias(const char* other, const char* own) {
    def_.aliases.emplace_back(other, own);
    return *this;
  }
  Builder& doc(const char* text) {
    def_.doc = text;
    return *this;
  }
  Builder& paper(const char* text) {
    def_.paper = text;
    return *this;
  }
  // How shapes of results follow from those of inputs (docs/adding_an_op.md). Elementwise ops, and
  // those without infer, need not say it.
  Builder& shape(const char* text) {
    def_.shape = text;
    return *this;
  }
  Builder& example(const char* text) {
    def_.example = text;
    return *this;
  }
  OpDef* done() { return register_op(std::move(def_)); }

 private:
  OpDef def_;
};

// Starts a description, which ends with .done(); the op is called as name_op(..) then.
#define ARGOSY_OP(op_name, Attrs)                         \
  static const ::argosy::op::Handle<Attrs> op_name##_op = \
      ::argosy::op::Builder<Attrs>(#op_name, __FILE__)

// Ready-made infer functions.
template <class A>
void infer_bool(InferContext& c, const A&) {
  for (Meta& m : c.out) m.dtype = DType::bool_;
}

}  // namespace argosy::op
