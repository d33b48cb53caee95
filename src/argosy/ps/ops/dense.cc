#include <cstring>

#include "argosy/op/define.h"
#include "argosy/ps/remote.h"

// Parameters that servers hold as one block of numbers, one after another in the order of the list:
// ps_pull_dense, ps_push_dense; and the end of a step, ps_end_step.
namespace argosy::ps {
namespace {

using op::InferContext;
using op::KernelFrame;

size_t total(std::span<const Tensor> list) {
  size_t n = 0;
  for (const Tensor& t : list) n += static_cast<size_t>(t.numel());
  return n;
}

struct PullAttrs {
  int64_t table = 0;
};
ARGOSY_ATTRS(PullAttrs, table)

void pull_infer(InferContext& c, const PullAttrs&) {
  const auto params = c.in.list(0);
  c.out.resize(params.size());
  for (size_t i = 0; i < params.size(); ++i) c.out[i] = {params[i].shape(), params[i].dtype()};
}

// A buffer of this thread for all elements of `tensors`.
std::vector<float>& block_of(std::span<const Tensor> tensors) {
  static thread_local std::vector<float> block;
  block.resize(total(tensors));
  return block;
}

void pull_run(KernelFrame& f, const PullAttrs& a) {
  const auto params = f.in.list(0);
  std::vector<float>& block = block_of(params);
  remote()->pull_dense(static_cast<uint32_t>(a.table), block);
  const float* from = block.data();
  for (const Tensor& t : f.out) {
    std::memcpy(t.raw(), from, t.nbytes());
    from += t.numel();
  }
}

ARGOSY_OP(ps_pull_dense, PullAttrs)
    .doc("The parameters of a dense table of the parameter server, as they are now.")
    .list_input("params", only(DType::float32))
    .list_output("out")
    .writes({0})
    .infer(pull_infer)
    .kernel("remote", pull_run)
    .effect(op::Effect::communicates)
    .done();

struct PushAttrs {
  int64_t table = 0;
  op::Scalar lr = -1.0;  // below 0: the table's own
  double lr_scale = 1;
};
ARGOSY_ATTRS(PushAttrs, table, lr, lr_scale)

void push_infer(InferContext&, const PushAttrs&) {}

void push_run(KernelFrame& f, const PushAttrs& a) {
  const auto gradients = f.in.list(0);
  std::vector<float>& block = block_of(gradients);
  float* to = block.data();
  for (const Tensor& t : gradients) {
    std::memcpy(to, t.raw(), t.nbytes());
    to += t.numel();
  }
  const double lr = a.lr.real();
  remote()->push_dense(static_cast<uint32_t>(a.table), block,
                       static_cast<float>(lr < 0 ? lr : lr * a.lr_scale));
}

ARGOSY_OP(ps_push_dense, PushAttrs)
    .doc("Gradients of all parameters of a dense table, to the servers, with the learning rate.")
    .list_input("gradients", only(DType::float32))
    .infer(push_infer)
    .kernel("remote", push_run)
    .effect(op::Effect::communicates)
    .done();

void end_infer(InferContext&, const op::NoAttrs&) {}
void end_run(KernelFrame&, const op::NoAttrs&) {
  remote()->end_step();
}

ARGOSY_OP(ps_end_step, op::NoAttrs)
    .doc("Ends a step of training against the parameter server: what was pushed in it goes out.")
    .infer(end_infer)
    .kernel("remote", end_run)
    .effect(op::Effect::communicates)
    .done();

}  // namespace
}  // namespace argosy::ps
