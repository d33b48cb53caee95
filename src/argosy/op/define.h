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
ARGOSY_API KernelDef kernel_def(const char* name, DeviceKind device, const AttrType& attrs,
                                Erased<const char*, const Inputs&> match,
                                Erased<void, KernelFrame&> run);
}  // namespace detail

// Of an op with attributes A. `match` returns null or the reason why not; it may be null itself.
template <class A>
KernelDef make_kernel(const char* name, DeviceKind device,
                      const char* (*match)(const Inputs&, const A&),
                      void (*run)(KernelFrame&, const A&)) {
  Erased<const char*, const Inputs&> matches;
  if (match) matches = detail::erase<A>(match);
  return detail::kernel_def(name, device, attr_type(static_cast<const A*>(nullptr)), matches,
                            detail::erase<A>(run));
}

// A described op, to be called from C++.
template <class A>
class Handle {
 public:
  Handle(OpDef* def) : def_(def) {}
  // First output.
  Tensor operator()(const Tensor& x, const A& attrs = {}) const {
    return dispatch_one(*def_, {&x, 1}, &attrs);
  }
  Tensor operator()(const Tensor& x, const Tensor& y, const A& attrs = {}) const {
    return dispatch_one(*def_, x, y, &attrs);
  }
  Tensor operator()(const Tensor& x, const Tensor& y, const Tensor& z, const A& attrs = {}) const {
    return dispatch_one(*def_, x, y, z, &attrs);
  }
  Tensor one(std::span<const Tensor> in, const A& attrs = {}) const {
    return dispatch_one(*def_, in, &attrs);
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

// What of a description does not know the attribute struct. It is compiled once, not in the file of
// every op.
class ARGOSY_API Description {
 protected:
  enum class Count : uint8_t { one, optional, list };
  enum class Use : uint8_t { value, index, hidden };

  Description(const char* name, const char* file, const AttrType& attrs);
  ~Description();
  Description(const Description&) = delete;
  void add_input(const char* name, DTypes dtypes, Save save, Count count);
  void add_output(const char* name, Save save, Use use, bool list = false);
  void add_kernel(KernelDef kernel);
  void add_alias(const char* other, const char* own);
  static void append(std::vector<std::string>& texts, const char* text);
  OpDef* finish();

  OpDef def_;
};

template <class A>
class OpBuilder : private Description {
 public:
  OpBuilder(const char* name, const char* file)
      : Description(name, file, attr_type(static_cast<const A*>(nullptr))) {}

  // --- schema ---
  OpBuilder& input(const char* name, DTypes dtypes = kAny, Save save = Save::nothing) {
    add_input(name, dtypes, save, Count::one);
    return *this;
  }
  OpBuilder& optional_input(const char* name, DTypes dtypes = kAny, Save save = Save::nothing) {
    add_input(name, dtypes, save, Count::optional);
    return *this;
  }
  OpBuilder& list_input(const char* name, DTypes dtypes = kAny, Save save = Save::nothing) {
    add_input(name, dtypes, save, Count::list);
    return *this;
  }
  OpBuilder& output(const char* name, Save save = Save::nothing) {
    add_output(name, save, Use::value);
    return *this;
  }
  // An output without gradient: indices, masks.
  OpBuilder& index_output(const char* name, Save save = Save::nothing) {
    add_output(name, save, Use::index);
    return *this;
  }
  // An output for the gradient only.
  OpBuilder& hidden_output(const char* name, Save save = Save::value) {
    add_output(name, save, Use::hidden);
    return *this;
  }
  OpBuilder& list_output(const char* name, Save save = Save::nothing) {
    add_output(name, save, Use::value, true);
    return *this;
  }
  // Layouts that the last input takes.
  OpBuilder& layouts(LayoutSet set) {
    def_.inputs.back().layouts = set;
    return *this;
  }
  // Of the last input, dtype and sizes alone are read.
  OpBuilder& shape_only() {
    def_.inputs.back().reads = Reads::shape;
    return *this;
  }
  // Of the last input, kernels read the values on the host.
  OpBuilder& host() {
    def_.inputs.back().host = true;
    return *this;
  }
  // The gradient of the last input can be computed some rows at a time.
  OpBuilder& gradient_rows(RowGradient rule) {
    def_.inputs.back().gradient_rows = rule;
    return *this;
  }
  // Cast the inputs to their common dtype first (docs/dtypes.md), or to what op.h says of these.
  OpBuilder& promote() {
    def_.promotes = true;
    return *this;
  }
  OpBuilder& promote_kinds() {
    def_.mixes_kinds = true;
    return promote();
  }
  OpBuilder& promote_0d() {
    def_.counts_0d = true;
    return promote();
  }
  // Inputs broadcast together; outputs have that shape and, unless infer says otherwise, that
  // dtype.
  OpBuilder& elementwise() {
    def_.elementwise = true;
    return *this;
  }

  // --- meaning ---
  OpBuilder& infer(void (*fn)(InferContext&, const A&)) {
    def_.infer = detail::erase<A>(fn);
    return *this;
  }
  OpBuilder& compose(Tensors (*fn)(const Inputs&, const A&)) {
    def_.compose = detail::erase<A>(fn);
    return *this;
  }
  OpBuilder& view(Tensor (*fn)(const Tensor&, const A&)) {
    def_.view = detail::erase<A>(fn);
    return *this;
  }
  OpBuilder& views(Tensors (*fn)(const Tensor&, const A&)) {
    def_.views = detail::erase<A>(fn);
    return *this;
  }
  // The views are for speed only: a write to one is not seen in input 0, in another or the other
  // way round.
  OpBuilder& apart() {
    def_.apart = true;
    return *this;
  }
  // Best first. `match` returns null or the reason why not.
  OpBuilder& kernel(const char* name, const char* (*match)(const Inputs&, const A&),
                    void (*run)(KernelFrame&, const A&), DeviceKind device = DeviceKind::cpu) {
    add_kernel(make_kernel<A>(name, device, match, run));
    return *this;
  }
  OpBuilder& kernel(const char* name, void (*run)(KernelFrame&, const A&)) {
    return kernel(name, nullptr, run);
  }
  // The kernel added last takes inputs of any strides.
  OpBuilder& strided() {
    def_.kernels[0].back().strided = true;
    return *this;
  }
  // The kernel added last gives the same bits for any strides of its inputs: it adds nothing up in
  // the order of memory. Elementwise kernels need not say so.
  OpBuilder& any_order() {
    def_.kernels[0].back().any_order = true;
    return *this;
  }
  // The kernel added last only computes numbers from attributes and calls run_elementwise.
  OpBuilder& on_loops() {
    def_.kernels[0].back().on_loops = true;
    return *this;
  }
  // The kernel added last reads numbers of its attributes that are tensors where those lie.
  OpBuilder& reads_numbers() {
    def_.kernels[0].back().reads_numbers = true;
    return *this;
  }
  // Kernels may be given input 0 itself as output 0, for the in-place form; elementwise ones always
  // may.
  OpBuilder& overwrites() {
    def_.overwrites = true;
    return *this;
  }
  // What the rule reads of inputs and outputs is said by their Save.
  OpBuilder& gradient(Tensors (*fn)(const GradCall&, const A&)) {
    def_.gradient = detail::erase<A>(fn);
    return *this;
  }
  // For what shapes do not say: see cost_of_shapes (op/cost.h).
  OpBuilder& cost(Cost (*fn)(const InferContext&, const A&)) {
    def_.cost = detail::erase<A>(fn);
    return *this;
  }
  OpBuilder& effect(Effect e) {
    def_.effect = e;
    return *this;
  }
  // How automatic casting runs it, `follow` unless said.
  OpBuilder& amp(Amp o1, Amp o2) {
    def_.amp_o1 = o1;
    def_.amp_o2 = o2;
    return *this;
  }
  OpBuilder& amp(Amp both) { return amp(both, both); }
  OpBuilder& widens() {
    def_.widens = true;
    return *this;
  }
  // Output i is input inputs[i], written in place.
  OpBuilder& writes(std::initializer_list<uint32_t> inputs) {
    def_.writes = inputs;
    def_.effect = Effect::writes_input;
    return *this;
  }

  // The kernel also updates these inputs in place, where `when` holds.
  OpBuilder& updates(std::initializer_list<uint32_t> inputs,
                     bool (*when)(const Inputs&, const A&) = nullptr) {
    def_.updates = inputs;
    if (when) def_.updates_if = detail::erase<A>(when);
    def_.effect = Effect::writes_input;
    return *this;
  }
  // Owns blocks of a Program.
  OpBuilder& structural() {
    def_.structural = true;
    return *this;
  }

  // --- where it works, if not where its operands are (op.h says what each means) ---
  OpBuilder& on_host() {
    def_.on_host = true;
    return *this;
  }
  OpBuilder& result_place(Place (*fn)(const A&)) {
    def_.result_place = detail::erase<A>(fn);
    return *this;
  }

  // --- what passes may know (op.h says what each means) ---
  OpBuilder& fills(std::optional<Scalar> (*fn)(const A&)) {
    def_.fills = detail::erase<A>(fn);
    return *this;
  }
  OpBuilder& uninitialized() {
    def_.uninitialized = true;
    return *this;
  }
  OpBuilder& same_order() {
    def_.same_order = true;
    return *this;
  }
  OpBuilder& sums(bool (*when)(const A&) = nullptr) {
    def_.sums = true;
    if (when) def_.sums_if = detail::erase<A>(when);
    return *this;
  }
  OpBuilder& per_parameter() {
    def_.per_parameter = true;
    return *this;
  }
  OpBuilder& again(bool (*fn)(Instead&, const A&) = nullptr) {
    def_.again = true;
    if (fn) def_.again_from = detail::erase<A>(fn);
    return *this;
  }
  OpBuilder& inference(bool (*fn)(const Surroundings&, Instead&, const A&)) {
    def_.inference = detail::erase<A>(fn);
    return *this;
  }
  // The same op, with attributes that `fn` changes.
  OpBuilder& inference(void (*fn)(A&)) {
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
  OpBuilder& training_only() {
    def_.training_only = true;
    return *this;
  }
  OpBuilder& lookup(int32_t table, int32_t ids) {
    def_.lookup = {.ids = ids, .table = table};
    return *this;
  }
  OpBuilder& lookup_gradient(int32_t table, int32_t ids, int32_t dy) {
    def_.lookup_gradient = {.ids = ids, .table = table, .dy = dy};
    return *this;
  }
  OpBuilder& update_rule(void (*fn)(UpdateRule&, const A&)) {
    def_.update_rule = detail::erase<A>(fn);
    return *this;
  }
  OpBuilder& result_rows(std::optional<RowSource> (*fn)(const Inputs&, const A&)) {
    def_.result_rows = detail::erase<A>(fn);
    return *this;
  }
  OpBuilder& initial_range(std::optional<double> (*fn)(const A&)) {
    def_.initial_range = detail::erase<A>(fn);
    return *this;
  }

  // --- public face ---
  OpBuilder& python(const char* signature) {
    append(def_.python, signature);
    return *this;
  }
  OpBuilder& method(const char* name) {
    append(def_.methods, name);
    return *this;
  }
  OpBuilder& inplace(const char* name) {
    append(def_.inplace, name);
    return *this;
  }
  OpBuilder& alias(const char* other, const char* own) {
    add_alias(other, own);
    return *this;
  }
  OpBuilder& doc(const char* text) {
    def_.doc = text;
    return *this;
  }
  OpBuilder& paper(const char* text) {
    def_.paper = text;
    return *this;
  }
  // How shapes of results follow from those of inputs (docs/adding_an_op.md). Elementwise ops, and
  // those without infer, need not say it.
  OpBuilder& shape(const char* text) {
    def_.shape = text;
    return *this;
  }
  OpBuilder& example(const char* text) {
    def_.example = text;
    return *this;
  }
  OpDef* done() { return finish(); }
};

// Starts a description, which ends with .done(); the op is called as name_op(..) then.
#define ARGOSY_OP(op_name, Attrs)                         \
  static const ::argosy::op::Handle<Attrs> op_name##_op = \
      ::argosy::op::OpBuilder<Attrs>(#op_name, __FILE__)

// Ready-made infer functions.
template <class A>
void infer_bool(InferContext& c, const A&) {
  for (Meta& m : c.out) m.dtype = DType::bool_;
}

}  // namespace argosy::op
