#include "argosy/comm/ops/calls.h"
#include "argosy/comm/ops/exchange.h"
#include "argosy/op/copy.h"
#include "argosy/op/placing.h"
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
    .done();
[[maybe_unused]] const bool all_reduce_placed = op::place_op("all_reduce", op::on_host());

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

void reduce_run(KernelFrame& f, const ReduceAttrs& a) {
  settle(f.out[0], f.in[0]);
  const auto group = Groups::current().find(a.group, f.name());
  group->reduce({f.out[0]}, static_cast<int>(a.root), reduce_of(f.name(), a.reduce));
  if (group->rank() != a.root && a.others == kZero) op::clear(f.out[0]);
}

Tensors reduce_grad(const GradCall& c, const ReduceAttrs& a);

ARGOSY_OP(reduce_to, ReduceAttrs)
    .doc(
        "x reduced over the ranks of a group, at its rank `root`. The others have their own x, or "
        "zeros.")
    .input("x")
    .output("out")
    .infer(reduce_infer)
    .kernel("group", reduce_run)
    .overwrites()
    .gradient(reduce_grad)
    .effect(op::Effect::communicates)
    .done();
[[maybe_unused]] const bool reduce_to_placed = op::place_op("reduce_to", op::on_host());

[[maybe_unused]] const bool reduce_to_described =
    describe_exchange("reduce_to", [](const op::Inputs& in, const void* attrs) {
      const auto& a = as<ReduceAttrs>(attrs);
      return exchange(Kind::reduce, a.group, in.list(0), reduce_of("reduce_to", a.reduce), a.root);
    });

void broadcast_infer(InferContext& c, const BroadcastAttrs& a) {
  check_others(c.name(), a.others, kRoot, kOwn);
}

void broadcast_run(KernelFrame& f, const BroadcastAttrs& a) {
  const auto group = Groups::current().find(a.group, f.name());
  const bool adds = a.others == kOwn && group->rank() != a.root;
  Tensor own = f.in[0];
  if (adds && f.out[0].raw() == own.raw()) {
    own = Tensor::empty(own.shape(), own.dtype(), own.place());
    op::copy_into(own, f.in[0]);
  }
  settle(f.out[0], f.in[0]);
  group->broadcast({f.out[0]}, static_cast<int>(a.root));
  if (adds) op::copy_into(f.out[0], ops::add(f.out[0], own));
}

Tensors broadcast_grad(const GradCall& c, const BroadcastAttrs& a);

ARGOSY_OP(broadcast_from, BroadcastAttrs)
    .doc("What rank `root` of a group has; plus the own x at the others if these say `own`.")
    .input("x")
    .output("out")
    .infer(broadcast_infer)
    .kernel("group", broadcast_run)
    .overwrites()
    .gradient(broadcast_grad)
    .effect(op::Effect::communicates)
    .done();
[[maybe_unused]] const bool broadcast_from_placed = op::place_op("broadcast_from", op::on_host());

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
