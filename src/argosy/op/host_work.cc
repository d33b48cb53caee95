#include "argosy/op/host_work.h"

#include "argosy/base/device.h"
#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"

namespace argosy::op {
namespace {

bool same_elements(const Tensor& a, const Tensor& b) {
  return a.has_data() && b.has_data() && a.raw() == b.raw() && a.shape() == b.shape() &&
         a.strides() == b.strides();
}

// An operand in the host's memory, in memory of its own, since the kernel may write it.
Tensor here(const Tensor& t) {
  if (!t.defined()) return t;
  if (t.layout() != Layout::strided) return to_place(t, Place{});
  if (!t.has_data() && t.numel()) return Tensor::describe(t.shape(), t.dtype());  // shape is read
  return to_host(t);
}

}  // namespace

void run_on_host(const KernelDef& kernel, KernelFrame& frame, const void* attrs, Place place) {
  InlineVector<Tensor, 4> in;
  for (const Tensor& t : frame.in.flat()) in.push_back(here(t));
  Tensors out;
  for (const Tensor& t : frame.out) {
    Tensor mine;
    // What is written over an operand is that operand.
    for (size_t i = 0; t.defined() && i < in.size() && !mine.defined(); ++i)
      if (const Tensor& x = frame.in.flat()[i]; x.defined() && (x.is(t) || same_elements(x, t)))
        mine = in[i];
    if (!mine.defined() && t.defined()) {
      mine = t.has_data() ? Tensor::empty(t.shape(), t.dtype())
                          : Tensor::describe(t.shape(), t.dtype());
      if (t.layout() != Layout::strided) mine.impl()->layout = t.layout();
    }
    out.push_back(mine);
  }
  KernelFrame host{frame.op, Inputs(in, frame.in.ends()), out};
  {
    const MakesOnHost on_host;  // what the kernel makes for itself
    kernel.run(host, attrs);
  }
  const auto give_back = [&](const Tensor& to, const Tensor& from) {
    if (to.numel()) copy_into(to, from);
  };
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i].defined()) continue;
    if (frame.out[i].defined() && frame.out[i].has_data())
      give_back(frame.out[i], out[i]);
    else
      frame.out[i] = to_place(out[i], place);
  }
  for (uint32_t i : frame.op.updates) {
    const size_t begin = frame.in.place_of(i), count = frame.in.list(i).size();
    for (size_t k = begin; k < begin + count; ++k)
      if (in[k].defined() && in[k].has_data()) give_back(frame.in.flat()[k], in[k]);
  }
}

InlineVector<Tensor, 4> with_host_inputs(const OpDef& op, const Inputs& in) {
  InlineVector<Tensor, 4> operands(in.flat());
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.inputs[i].host) continue;
    const size_t begin = in.place_of(i), count = in.list(i).size();
    for (size_t k = begin; k < begin + count; ++k)
      if (Tensor& t = operands[k]; t.defined()) t = to_host(t);
  }
  return operands;
}

MakesOnHost::MakesOnHost() : before_(thread_state.place) {
  if (device::find(before_.kind)) thread_state.place = Place{};
}
MakesOnHost::~MakesOnHost() {
  thread_state.place = before_;
}

}  // namespace argosy::op
