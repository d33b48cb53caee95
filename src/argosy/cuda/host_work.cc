#include <set>
#include <string>

#include "argosy/base/log.h"
#include "argosy/base/mutex.h"
#include "argosy/cuda/launcher.h"
#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/placing.h"

namespace argosy::cuda {
namespace {

void warn_once(const op::OpDef& op) {
  static auto& mutex = *new Mutex;
  static auto& told = *new std::set<std::string>;  // guarded by mutex
  MutexLock lock(mutex);
  if (!told.insert(op.name).second) return;
  ARGOSY_LOG(warning)
      << '[' << op.name
      << "] has no GPU kernel for this call: it runs on the CPU, and its operands travel. "
         "(This is said once for each op.)";
}

bool same_elements(const Tensor& a, const Tensor& b) {
  return a.has_data() && b.has_data() && a.raw() == b.raw() && a.shape() == b.shape() &&
         a.strides() == b.strides();
}

// An operand in the host's memory, in memory of its own, since the kernel may write it.
Tensor here(const Tensor& t) {
  if (!t.defined()) return t;
  if (t.layout() != Layout::strided) return op::to_place(t, Place{});
  if (!t.has_data() && t.numel()) return Tensor::describe(t.shape(), t.dtype());  // shape is read
  return op::to_host(t);
}

}  // namespace

void run_on_host(const op::KernelDef& kernel, op::KernelFrame& frame, const void* attrs,
                 Place place) {
  warn_once(frame.op);
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
  op::KernelFrame host{frame.op, op::Inputs(in, frame.in.ends()), out};
  {
    const op::MakesOnHost on_host;  // what the kernel makes for itself
    kernel.run(host, attrs);
  }
  const auto give_back = [&](const Tensor& to, const Tensor& from) {
    if (to.numel()) op::copy_into(to, from);
  };
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i].defined()) continue;
    if (frame.out[i].defined() && frame.out[i].has_data())
      give_back(frame.out[i], out[i]);
    else
      frame.out[i] = op::to_place(out[i], place);
  }
  for (uint32_t i : frame.op.updates) {
    const size_t begin = frame.in.place_of(i), count = frame.in.list(i).size();
    for (size_t k = begin; k < begin + count; ++k)
      if (in[k].defined() && in[k].has_data()) give_back(frame.in.flat()[k], in[k]);
  }
}

}  // namespace argosy::cuda
