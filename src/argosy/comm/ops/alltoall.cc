#include "argosy/comm/ops/begin.h"
#include "argosy/comm/ops/exchange.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/math/math.h"

// Collectives of lists with one tensor for each rank, of any sizes: alltoall, all_gather_unequal.
// `likes` say the forms of what comes, which a Program has to know.
namespace argosy::comm {
namespace {

using op::GradCall;
using op::InferContext;
using op::KernelFrame;

struct GroupAttrs {
  int64_t group = 0;
};
ARGOSY_ATTRS(GroupAttrs, group)

void infer_likes(InferContext& c, std::span<const Tensor> likes, DType dtype) {
  c.out.resize(likes.size());
  for (size_t r = 0; r < likes.size(); ++r) {
    ARGOSY_CHECK(likes[r].dtype() == dtype, type)
        << '[' << c.name() << "] tensors of one call have one dtype: expected " << dtype << ", got "
        << likes[r] << ". Do this: cast them before.";
    c.out[r] = {likes[r].shape(), dtype};
  }
}

void alltoall_infer(InferContext& c, const GroupAttrs&) {
  const auto xs = c.in.list(0), likes = c.in.list(1);
  ARGOSY_CHECK(!xs.empty() && xs.size() == likes.size(), invalid_argument)
      << '[' << c.name() << "] expected a tensor to send and one to receive for each rank, got "
      << xs.size() << " and " << likes.size() << ". Do this: pass lists of one length.";
  infer_likes(c, likes, xs[0].dtype());
}

Begun alltoall_call(KernelFrame& f, Mode mode, const GroupAttrs& a) {
  const auto xs = f.in.list(0);
  const auto group = group_of(f.name(), a.group, static_cast<int64_t>(xs.size()));
  return {group, group->alltoall({f.out.begin(), f.out.end()}, {xs.begin(), xs.end()}, mode)};
}

// A gradient goes back where its tensor came from.
Tensors alltoall_grad(const GradCall& c, const GroupAttrs& a) {
  const auto xs = c.in.list(0), likes = c.in.list(1);
  Tensors dys;
  for (size_t r = 0; r < likes.size(); ++r)
    dys.push_back(c.dy(r).defined() ? c.dy(r) : ops::zeros_like(likes[r]));
  Tensors out = alltoall({dys.begin(), dys.end()}, xs, a.group);
  for (size_t r = 0; r < likes.size(); ++r) out.push_back(Tensor());
  return out;
}

ARGOSY_OP(alltoall, GroupAttrs)
    .doc(
        "out[r], of the form of likes[r], gets what rank r of a group has for this one: its "
        "x[this rank].")
    .list_input("x", kAny, op::Save::shape)
    .list_input("likes", kAny, op::Save::shape)
    .shape_only()
    .list_output("out")
    .infer(alltoall_infer)
    .kernel("group", run_whole<alltoall_call>)
    .strided()
    .gradient(alltoall_grad)
    .effect(op::Effect::communicates)
    .on_host()
    .done();

[[maybe_unused]] const bool alltoall_begins = describe_begin(alltoall_op, alltoall_call);
[[maybe_unused]] const bool alltoall_described =
    describe_exchange("alltoall", [](const op::Inputs& in, const void* attrs) {
      const auto& a = as<GroupAttrs>(attrs);
      return exchange(Kind::alltoall, a.group, in.list(0));
    });

void all_gather_unequal_infer(InferContext& c, const GroupAttrs&) {
  const auto likes = c.in.list(1);
  check_ranks(c.name(), static_cast<int64_t>(likes.size()));
  infer_likes(c, likes, c.in[0].dtype());
}

Begun all_gather_unequal_call(KernelFrame& f, Mode mode, const GroupAttrs& a) {
  const auto group = group_of(f.name(), a.group, static_cast<int64_t>(f.in.list(1).size()));
  return {group, group->all_gather({f.out.begin(), f.out.end()}, f.in[0], true, mode)};
}

// Everybody has part of the gradient of x: they are sent here and added.
Tensors all_gather_unequal_grad(const GradCall& c, const GroupAttrs& a) {
  const auto likes = c.in.list(1);
  std::vector<Tensor> dys;
  for (size_t r = 0; r < likes.size(); ++r)
    dys.push_back(c.dy(r).defined() ? c.dy(r) : ops::zeros_like(likes[r]));
  const std::vector<Tensor> mine(likes.size(), c.in[0]);
  const Tensors parts = alltoall(dys, mine, a.group);
  Tensors out{parts[0]};
  for (size_t r = 1; r < parts.size(); ++r) out[0] = ops::add(out[0], parts[r]);
  for (size_t r = 0; r < likes.size(); ++r) out.push_back(Tensor());
  return out;
}

ARGOSY_OP(all_gather_unequal, GroupAttrs)
    .doc("What each rank of a group has: out[r], of the form of likes[r], is rank r's x.")
    .input("x", kAny, op::Save::shape)
    .list_input("likes", kAny, op::Save::shape)
    .shape_only()
    .list_output("out")
    .infer(all_gather_unequal_infer)
    .kernel("group", run_whole<all_gather_unequal_call>)
    .strided()
    .gradient(all_gather_unequal_grad)
    .effect(op::Effect::communicates)
    .on_host()
    .done();

[[maybe_unused]] const bool all_gather_unequal_begins =
    describe_begin(all_gather_unequal_op, all_gather_unequal_call);
[[maybe_unused]] const bool all_gather_unequal_described =
    describe_exchange("all_gather_unequal", [](const op::Inputs& in, const void* attrs) {
      const auto& a = as<GroupAttrs>(attrs);
      return exchange(Kind::all_gather_v, a.group, in.list(0));
    });

}  // namespace

Tensors alltoall(std::span<const Tensor> xs, std::span<const Tensor> likes, int64_t group) {
  std::vector<Tensor> in(xs.begin(), xs.end());
  in.insert(in.end(), likes.begin(), likes.end());
  const uint32_t ends[] = {static_cast<uint32_t>(xs.size()), static_cast<uint32_t>(in.size())};
  return alltoall_op.all(op::Inputs(in, ends), {.group = group});
}

}  // namespace argosy::comm
