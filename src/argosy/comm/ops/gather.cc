#include "argosy/comm/ops/begin.h"
#include "argosy/comm/ops/exchange.h"
#include "argosy/op/copy.h"
#include "argosy/ops/math/math.h"

// Collectives between one tensor a rank, [*s], and a tensor that has one for each, [ranks, *s]:
// all_gather, reduce_scatter, gather_to, scatter_from. They are each other's gradients.
namespace argosy::comm {
namespace {

using op::GradCall;
using op::InferContext;
using op::KernelFrame;

struct AllGatherAttrs {
  int64_t ranks = 1;
  int64_t group = 0;
};
ARGOSY_ATTRS(AllGatherAttrs, ranks, group)

void all_gather_infer(InferContext& c, const AllGatherAttrs& a) {
  check_ranks(c.name(), a.ranks);
  c.out[0].shape = stacked(c.in[0].shape(), a.ranks);
}

Begun all_gather_call(KernelFrame& f, Mode mode, const AllGatherAttrs& a) {
  const auto group = group_of(f.name(), a.group, a.ranks);
  return {group, group->all_gather(rows_of(f.out[0]), f.in[0], false, mode)};
}

Tensors all_gather_grad(const GradCall& c, const AllGatherAttrs& a) {
  return reduce_scatter(c.dy(), a.ranks, name_of(Reduce::sum), a.group);
}

ARGOSY_OP(all_gather, AllGatherAttrs)
    .doc("What each rank of a group has: out[r] is rank r's x.")
    .input("x")
    .output("out")
    .infer(all_gather_infer)
    .kernel("group", run_whole<all_gather_call>)
    .strided()
    .gradient(all_gather_grad)
    .effect(op::Effect::communicates)
    .on_host()
    .done();

[[maybe_unused]] const bool all_gather_begins = describe_begin(all_gather_op, all_gather_call);
[[maybe_unused]] const bool all_gather_described =
    describe_exchange("all_gather", [](const op::Inputs& in, const void* attrs) {
      const auto& a = as<AllGatherAttrs>(attrs);
      return exchange(Kind::all_gather, a.group, in.list(0));
    });

struct ReduceScatterAttrs {
  int64_t ranks = 1;
  int64_t group = 0;
  std::string reduce = "sum";
};
ARGOSY_ATTRS(ReduceScatterAttrs, ranks, group, reduce)

void reduce_scatter_infer(InferContext& c, const ReduceScatterAttrs& a) {
  check_ranks(c.name(), a.ranks);
  reduce_of(c.name(), a.reduce, c.in[0].dtype());
  c.out[0].shape = unstacked(c.name(), c.in[0], a.ranks);
}

Begun reduce_scatter_call(KernelFrame& f, Mode mode, const ReduceScatterAttrs& a) {
  const auto group = group_of(f.name(), a.group, a.ranks);
  return {group,
          group->reduce_scatter(f.out[0], rows_of(f.in[0]), reduce_of(f.name(), a.reduce), mode)};
}

Tensors reduce_scatter_grad(const GradCall& c, const ReduceScatterAttrs& a) {
  const Reduce op = reduce_of(c.op.name.c_str(), a.reduce);
  ARGOSY_CHECK(op == Reduce::sum || op == Reduce::avg, not_implemented)
      << '[' << c.op.name << "] reduce=" << a.reduce
      << " has no gradient: expected sum or avg. Do this: detach its operand.";
  const Tensor dy = op == Reduce::sum ? c.dy() : ops::scale(c.dy(), 1.0 / double(a.ranks));
  return all_gather(dy, a.ranks, a.group);
}

ARGOSY_OP(reduce_scatter, ReduceScatterAttrs)
    .doc("Row r of x, reduced over the ranks of a group, at rank r.")
    .input("x")
    .output("out")
    .infer(reduce_scatter_infer)
    .kernel("group", run_whole<reduce_scatter_call>)
    .strided()
    .gradient(reduce_scatter_grad)
    .effect(op::Effect::communicates)
    .on_host()
    .done();

[[maybe_unused]] const bool reduce_scatter_begins =
    describe_begin(reduce_scatter_op, reduce_scatter_call);
[[maybe_unused]] const bool reduce_scatter_described =
    describe_exchange("reduce_scatter", [](const op::Inputs& in, const void* attrs) {
      const auto& a = as<ReduceScatterAttrs>(attrs);
      return exchange(Kind::reduce_scatter, a.group, in.list(0),
                      reduce_of("reduce_scatter", a.reduce));
    });

// --- from and to one rank ---

struct RootAttrs {
  int64_t root = 0;
  int64_t ranks = 1;
  int64_t group = 0;
};
ARGOSY_ATTRS(RootAttrs, root, ranks, group)

void gather_to_infer(InferContext& c, const RootAttrs& a) {
  check_ranks(c.name(), a.ranks);
  c.out[0].shape = stacked(c.in[0].shape(), a.ranks);
}

Begun gather_to_call(KernelFrame& f, Mode mode, const RootAttrs& a) {
  const auto group = group_of(f.name(), a.group, a.ranks);
  const bool root = group->rank() == a.root;
  if (!root) op::clear(f.out[0]);
  return {group, group->gather(root ? rows_of(f.out[0]) : TensorList(), f.in[0],
                               static_cast<int>(a.root), mode)};
}

Tensors gather_to_grad(const GradCall& c, const RootAttrs& a);

ARGOSY_OP(gather_to, RootAttrs)
    .doc("What each rank of a group has, at its rank `root`; zeros at the others.")
    .input("x", kAny, op::Save::shape)
    .output("out")
    .infer(gather_to_infer)
    .kernel("group", run_whole<gather_to_call>)
    .strided()
    .gradient(gather_to_grad)
    .effect(op::Effect::communicates)
    .on_host()
    .done();

[[maybe_unused]] const bool gather_to_begins = describe_begin(gather_to_op, gather_to_call);
[[maybe_unused]] const bool gather_to_described =
    describe_exchange("gather_to", [](const op::Inputs& in, const void* attrs) {
      const auto& a = as<RootAttrs>(attrs);
      return exchange(Kind::gather, a.group, in.list(0), Reduce::none, a.root);
    });

void scatter_from_infer(InferContext& c, const RootAttrs& a) {
  check_ranks(c.name(), a.ranks);
  if (!c.in[1].defined()) return;
  const Shape row = unstacked(c.name(), c.in[1], a.ranks), &like = c.in[0].shape();
  bool fits = row.rank() == like.rank() && c.in[1].dtype() == c.in[0].dtype();
  for (int i = 0; fits && i < row.rank(); ++i)
    fits = row[i] == like[i] || row[i] == kUnknown || like[i] == kUnknown;
  ARGOSY_CHECK(fits, invalid_argument)
      << '[' << c.name() << "] expected rows of the form of `like`, " << c.in[0] << ", got "
      << c.in[1] << ". Do this: stack one such tensor for each rank.";
}

Begun scatter_from_call(KernelFrame& f, Mode mode, const RootAttrs& a) {
  const auto group = group_of(f.name(), a.group, a.ranks);
  const bool root = group->rank() == a.root;
  ARGOSY_CHECK(!root || f.in[1].defined(), invalid_argument)
      << '[' << f.name() << "] rank " << a.root
      << " has to have what is scattered: expected x there, got none. Do this: pass the list of "
         "tensors at src.";
  return {group, group->scatter(f.out[0], root ? rows_of(f.in[1]) : TensorList(),
                                static_cast<int>(a.root), mode)};
}

Tensors scatter_from_grad(const GradCall& c, const RootAttrs& a);

ARGOSY_OP(scatter_from, RootAttrs)
    .doc("Row r of the x of a group's rank `root`, at rank r. Others need no x.")
    .input("like")
    .shape_only()
    .optional_input("x")
    .output("out")
    .infer(scatter_from_infer)
    .kernel("group", run_whole<scatter_from_call>)
    .strided()
    .gradient(scatter_from_grad)
    .effect(op::Effect::communicates)
    .on_host()
    .done();

[[maybe_unused]] const bool scatter_from_begins =
    describe_begin(scatter_from_op, scatter_from_call);
[[maybe_unused]] const bool scatter_from_described =
    describe_exchange("scatter_from", [](const op::Inputs& in, const void* attrs) {
      const auto& a = as<RootAttrs>(attrs);
      return exchange(Kind::scatter, a.group, in.list(0), Reduce::none, a.root);
    });

Tensors gather_to_grad(const GradCall& c, const RootAttrs& a) {
  const Tensor in[] = {c.in[0], c.dy()};
  return scatter_from_op.one(in, a);
}

Tensors scatter_from_grad(const GradCall& c, const RootAttrs& a) {
  return {Tensor(), gather_to_op(c.dy(), a)};
}

}  // namespace

Tensor all_gather(const Tensor& x, int64_t ranks, int64_t group) {
  return all_gather_op(x, {.ranks = ranks, .group = group});
}

Tensor reduce_scatter(const Tensor& x, int64_t ranks, const std::string& reduce, int64_t group) {
  return reduce_scatter_op(x, {.ranks = ranks, .group = group, .reduce = reduce});
}

}  // namespace argosy::comm
