#include "argosy/comm/ops/begin.h"

#include "argosy/comm/ops/exchange.h"
#include "argosy/op/copy.h"

namespace argosy::comm {
namespace {

using op::InferContext;
using op::KernelFrame;
using op::OpDef;

// The op that begins, and how.
struct Beginning {
  const OpDef* of;
  detail::AnyCall call;

  void infer(InferContext& c, const void* attrs) const {
    InferContext whole{*of, c.in, {}};
    op::infer(whole, attrs);
    c.out.clear();
    for (const op::Meta& m : whole.out) c.out.push_back(m);
    c.out.push_back({Shape{1}, DType::int64});
  }

  void run(KernelFrame& f, const void* attrs) const {
    // Bodies of its own: those of the frame stand for other memory in the next run.
    const auto own = [](const Tensor& t) { return t.defined() ? t.detach() : Tensor(); };
    std::vector<Tensor> operands;
    for (const Tensor& t : f.in.flat()) operands.push_back(own(t));
    Tensors results;
    for (size_t i = 0; i + 1 < f.out.size(); ++i) results.push_back(own(f.out[i]));
    KernelFrame whole{*of, op::Inputs(operands, f.in.ends()), results};
    Begun begun = call(whole, Mode::async, attrs);
    op::put_integer(f.out.back(),
                    Groups::current().begin(std::move(begun.group), std::move(begun.work)));
  }
};

// Erased keeps a function; here it keeps the address of a Beginning. (POSIX promises that an
// object's address survives this.)
void (*hidden(const Beginning* b))() {
  return reinterpret_cast<void (*)()>(reinterpret_cast<uintptr_t>(b));
}
const Beginning& behind(void (*b)()) {
  return *reinterpret_cast<const Beginning*>(reinterpret_cast<uintptr_t>(b));
}

}  // namespace

bool detail::describe_begin(const OpDef& of, AnyCall call) {
  const auto* beginning = new Beginning{&of, call};  // as long as its OpDef: for ever
  OpDef def;
  def.name = of.name + "_begin";
  def.doc = "Begins " + of.name + ": its results, once collective_end has run, and a number.";
  def.file = of.file;
  def.attrs = of.attrs;
  def.inputs = of.inputs;
  for (op::InputDef& input : def.inputs) {
    input.save = op::Save::nothing;
    // What is read is compared by results (tests/ops/test_shape_only.py), and these come later.
    input.reads = op::Reads::values;
  }
  def.outputs.push_back({.name = "out", .list = true, .differentiable = false});
  def.any_list = true;
  def.effect = op::Effect::communicates;
  def.on_host = true;
  def.infer = {[](void (*b)(), InferContext& c, const void* a) { behind(b).infer(c, a); },
               hidden(beginning)};
  op::KernelDef kernel{.name = "group", .device = DeviceKind::cpu, .match = {}, .run = {}};
  kernel.strided = true;
  kernel.attrs = of.attrs;
  kernel.run = {[](void (*b)(), KernelFrame& f, const void* a) { behind(b).run(f, a); },
                hidden(beginning)};
  def.kernels[static_cast<int>(DeviceKind::cpu)].push_back(std::move(kernel));
  op::register_op(std::move(def));
  return true;
}

namespace {

void end_infer(InferContext& c, const op::NoAttrs&) {
  infer_ended(c, 2);
}

void end_run(KernelFrame& f, const op::NoAttrs&) {
  Groups::current().end(begun_number(f, 2));
}

ARGOSY_OP(collective_end, op::NoAttrs)
    .doc(
        "What a collective that was begun gives, x, once it is done. held: operands that it reads "
        "until then.")
    .list_input("x")
    .list_input("held")
    .input("begun")
    .host()
    .list_output("out")
    .writes({0})
    .infer(end_infer)
    .kernel("group", end_run)
    .strided()
    .effect(op::Effect::communicates)
    .on_host()
    .done();

[[maybe_unused]] const bool end_described =
    describe_exchange("collective_end", [](const op::Inputs&, const void*) {
      Exchange e;
      e.waits = true;
      return e;
    });

}  // namespace
}  // namespace argosy::comm
