#include "argosy/comm/ops/calls.h"
#include "argosy/comm/ops/exchange.h"
#include "argosy/op/copy.h"

// all_reduce in two parts, between which the executor goes on. In a Program the first gives new
// values for its operands, in their memory where that is legal, which nobody but the second may
// read: being its operands, they live until it has run.
namespace argosy::comm {
namespace {

using op::InferContext;
using op::KernelFrame;

struct StartAttrs {
  int64_t group = 0;
  std::string reduce = "sum";
};
ARGOSY_ATTRS(StartAttrs, group, reduce)

void start_infer(InferContext& c, const StartAttrs& a) {
  const auto xs = c.in.list(0);
  ARGOSY_CHECK(!xs.empty(), invalid_argument)
      << '[' << c.name() << "] expected at least one tensor, got none. Do this: leave it out.";
  reduce_of(c.name(), a.reduce, xs[0].dtype());
  for (const Tensor& x : xs)
    ARGOSY_CHECK(x.dtype() == xs[0].dtype(), type)
        << '[' << c.name() << "] tensors of one call have one dtype: expected " << xs[0].dtype()
        << ", got " << x << ". Do this: cast them before.";
  c.out[0] = {Shape{1}, DType::int64};
}

void start_run(KernelFrame& f, const StartAttrs& a) {
  auto group = Groups::current().find(a.group, f.name());
  TensorList xs;
  // Bodies of its own: those of the frame stand for other memory in the next run.
  for (const Tensor& x : f.in.list(0)) xs.push_back(x.detach());
  auto work = group->all_reduce(xs, reduce_of(f.name(), a.reduce), Mode::async);
  op::put_integer(f.out[0], Groups::current().begin(std::move(group), std::move(work)));
}

ARGOSY_OP(all_reduce_start, StartAttrs)
    .doc(
        "Begins to reduce x over the ranks of a group. Nobody may use x before all_reduce_wait of "
        "it.")
    .list_input("x")
    .index_output("started")
    .infer(start_infer)
    .updates({0})
    .kernel("group", start_run)
    .strided()
    .effect(op::Effect::communicates)
    .on_host()
    .done();

[[maybe_unused]] const bool start_described =
    describe_exchange("all_reduce_start", [](const op::Inputs& in, const void* attrs) {
      const auto& a = as<StartAttrs>(attrs);
      Exchange e =
          exchange(Kind::all_reduce, a.group, in.list(0), reduce_of("all_reduce_start", a.reduce));
      e.begins = true;
      return e;
    });

void wait_infer(InferContext& c, const op::NoAttrs&) {
  infer_ended(c, 1);
}

void wait_run(KernelFrame& f, const op::NoAttrs&) {
  Groups::current().end(begun_number(f, 1));
}

ARGOSY_OP(all_reduce_wait, op::NoAttrs)
    .doc("x once what all_reduce_start has begun is done.")
    .list_input("x")
    .input("started")
    .host()
    .list_output("out")
    .writes({0})
    .infer(wait_infer)
    .kernel("group", wait_run)
    .strided()
    .effect(op::Effect::communicates)
    .on_host()
    .done();

[[maybe_unused]] const bool wait_described =
    describe_exchange("all_reduce_wait", [](const op::Inputs&, const void*) {
      Exchange e;
      e.waits = true;
      return e;
    });

}  // namespace
}  // namespace argosy::comm
