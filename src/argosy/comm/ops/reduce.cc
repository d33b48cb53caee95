#include "argosy/comm/ops/begin.h"
#include "argosy/comm/ops/exchange.h"
#include "argosy/op/copy.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"

// Collectives of which every rank has one tensor of the same form: all_reduce, reduce, broadcast.
// Each is its own gradient or that of another: what is summed over ranks has a gradient that is.
namespace argosy::comm {
namespace {

using op::GradCall;
using op::InferContext;
using op::KernelFrame;

[[noreturn]] void no_gradient(const char* what, const std::string& reduce) {
  ARGOSY_THROW(not_implemented) << '[' << what << "] reduce=" << reduce
                                << " has no gradient: expected sum or avg. Do this: detach its "
                                   "operand, or reduce what no gradient is asked of.";
}

// --- all_reduce ---

struct AllReduceAttrs {
  int64_t group = 0;
  std::string reduce = "sum";
};
ARGOSY_ATTRS(AllReduceAttrs, group, reduce)

void all_reduce_infer(InferContext& c, const AllReduceAttrs& a) {
  reduce_of(c.name(), a.reduce, c.in[0].dtype());
}

void all_reduce_run(KernelFrame& f, const AllReduceAttrs& a) {
  settle(f.out[0], f.in[0]);
  Groups::current().find(a.group, f.name())->all_reduce({f.out[0]}, reduce_of(f.name(), a.reduce));
}

Tensors all_reduce_grad(const GradCall& c, const AllReduceAttrs& a);

ARGOSY_OP(all_reduce, AllReduceAttrs)
    .doc("x reduced over the ranks of a group.")
    .input("x")
    .output("out")
    .infer(all_reduce_infer)
    .kernel("group", all_reduce_run)
    .overwrites()
    .gradient(all_reduce_grad)
    .effect(op::Effect::communicates)
    .on_host()
    .done();

[[maybe_unused]] const bool all_reduce_described =
    describe_exchange("all_reduce", [](const op::Inputs& in, const void* attrs) {
      const auto& a = as<AllReduceAttrs>(attrs);
      return exchange(Kind::all_reduce, a.group, in.list(0), reduce_of("all_reduce", a.reduce));
    });

Tensors all_reduce_grad(const GradCall& c, const AllReduceAttrs& a) {
  if (a.reduce != "sum" && a.reduce != "avg") no_gradient(c.op.name.c_str(), a.reduce);
  return all_reduce_op(c.dy(), a);
}

}  // namespace

Tensor all_reduce(const Tensor& x, const std::string& reduce, int64_t group) {
  return all_reduce_op(x, {.group = group, .reduce = reduce});
}

namespace {

// --- reduce and broadcast ---

// What ranks other than the root have in the end.
constexpr const char* kOwn =
    "own";  // reduce: their own tensor; broadcast: that added to the root's
constexpr const char* kZero = "zero";  // reduce: zeros
constexpr const char* kRoot = "root";  // broadcast: the root's tensor

void check_others(const char* what, const std::string& others, const char* first,
                  const char* second) {
  ARGOSY_CHECK(others == first || others == second, invalid_argument)
      << '[' << what << "] others: expected " << first << " or " << second << ", got '" << others
      << "'. Do this: pass one of them.";
}

// x, or a copy of it where it has the memory of `out`.
Tensor apart(const Tensor& x, const Tensor& out) {
  if (out.raw() != x.raw()) return x;
  Tensor copy = Tensor::empty(x.shape(), x.dtype());
  op::copy_into(copy, x);
  return copy;
}

struct ReduceAttrs {
  int64_t root = 0;
  int64_t group = 0;
  std::string reduce = "sum";
  std::string others = kOwn;
};
ARGOSY_ATTRS(ReduceAttrs, root, group, reduce, others)

struct BroadcastAttrs {
  int64_t root = 0;
  int64_t group = 0;
  std::string others = kRoot;
};
ARGOSY_ATTRS(BroadcastAttrs, root, group, others)

void reduce_infer(InferContext& c, const ReduceAttrs& a) {
  reduce_of(c.name(), a.reduce, c.in[0].dtype());
  check_others(c.name(), a.others, kOwn, kZero);
}

Begun reduce_call(KernelFrame& f, Mode mode, const ReduceAttrs& a) {
  const auto group = Groups::current().find(a.group, f.name());
  const auto root = static_cast<int>(a.root);
  const Reduce op = reduce_of(f.name(), a.reduce);
  if (group->rank() != root && a.others == kZero) {
    const Tensor own = apart(f.in[0], f.out[0]);
    op::clear(f.out[0]);
    return {group, group->reduce({own}, root, op, mode)};
  }
  settle(f.out[0], f.in[0]);
  return {group, group->reduce({f.out[0]}, root, op, mode)};
}

Tensors reduce_grad(const GradCall& c, const ReduceAttrs& a);

ARGOSY_OP(reduce_to, ReduceAttrs)
    .doc(
        "x reduced over the ranks of a group, at its rank `root`. The others have their own x, or "
        "zeros.")
    .input("x")
    .output("out")
    .infer(reduce_infer)
    .kernel("group", run_whole<reduce_call>)
    .overwrites()
    .gradient(reduce_grad)
    .effect(op::Effect::communicates)
    .on_host()
    .done();

[[maybe_unused]] const bool reduce_to_begins = describe_begin(reduce_to_op, reduce_call);
[[maybe_unused]] const bool reduce_to_described =
    describe_exchange("reduce_to", [](const op::Inputs& in, const void* attrs) {
      const auto& a = as<ReduceAttrs>(attrs);
      return exchange(Kind::reduce, a.group, in.list(0), reduce_of("reduce_to", a.reduce), a.root);
    });

void broadcast_infer(InferContext& c, const BroadcastAttrs& a) {
  check_others(c.name(), a.others, kRoot, kOwn);
}

Begun broadcast_call(KernelFrame& f, Mode mode, const BroadcastAttrs& a) {
  const auto group = Groups::current().find(a.group, f.name());
  const auto root = static_cast<int>(a.root);
  if (a.others != kOwn) {
    settle(f.out[0], f.in[0]);
    return {group, group->broadcast({f.out[0]}, root, mode)};
  }
  const Tensor own = apart(f.in[0], f.out[0]);
  settle(f.out[0], f.in[0]);
  auto work = group->broadcast({f.out[0]}, root);  // what is left to do here needs its result
  if (group->rank() != root) op::copy_into(f.out[0], ops::add(f.out[0], own));
  return {group, work};
}

Tensors broadcast_grad(const GradCall& c, const BroadcastAttrs& a);

ARGOSY_OP(broadcast_from, BroadcastAttrs)
    .doc("What rank `root` of a group has; plus the own x at the others if these say `own`.")
    .input("x")
    .output("out")
    .infer(broadcast_infer)
    .kernel("group", run_whole<broadcast_call>)
    .overwrites()
    .gradient(broadcast_grad)
    .effect(op::Effect::communicates)
    .on_host()
    .done();

[[maybe_unused]] const bool broadcast_from_begins =
    describe_begin(broadcast_from_op, broadcast_call);
[[maybe_unused]] const bool broadcast_from_described =
    describe_exchange("broadcast_from", [](const op::Inputs& in, const void* attrs) {
      const auto& a = as<BroadcastAttrs>(attrs);
      return exchange(Kind::broadcast, a.group, in.list(0), Reduce::none, a.root);
    });

// Of own tensors that stay, the gradient stays too.
Tensors reduce_grad(const GradCall& c, const ReduceAttrs& a) {
  if (a.reduce != "sum") no_gradient(c.op.name.c_str(), a.reduce);
  return broadcast_from_op(
      c.dy(), {.root = a.root, .group = a.group, .others = a.others == kOwn ? kOwn : kRoot});
}

Tensors broadcast_grad(const GradCall& c, const BroadcastAttrs& a) {
  return reduce_to_op(c.dy(), {.root = a.root,
                               .group = a.group,
                               .reduce = "sum",
                               .others = a.others == kOwn ? kOwn : kZero});
}

}  // namespace
}  // namespace argosy::comm
