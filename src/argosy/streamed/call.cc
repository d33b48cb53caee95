#include "argosy/streamed/call.h"

#include <algorithm>

#include "argosy/op/dispatch.h"

namespace argosy::streamed {

Call::Call(const op::KernelDef& kernel, const op::KernelFrame& frame, const void* attrs,
           const Mirror& mirror)
    : kernel_(kernel), op_(frame.op), attrs_(*frame.op.attrs, attrs) {
  const auto flat = frame.in.flat();
  if (const uint32_t* ends = frame.in.ends()) ends_.assign(ends, ends + op_.inputs.size());
  for (const Tensor& t : flat) in_.emplace_back(t, mirror);
  for (const Tensor& t : frame.out) {
    out_.emplace_back(t, mirror);
    const auto same =
        std::ranges::find_if(flat, [&](const Tensor& input) { return t.defined() && input.is(t); });
    same_as_.push_back(same == flat.end() ? -1 : static_cast<int32_t>(same - flat.begin()));
  }
  results_.resize(out_.size());
  find_uses(frame, attrs);
}

void Call::find_uses(const op::KernelFrame& frame, const void* attrs) {
  const bool updates = !op_.updates_if || op_.updates_if(frame.in, attrs);
  for (size_t i = 0; i < op_.inputs.size(); ++i) {
    if (op_.inputs[i].reads == op::Reads::shape) continue;
    const bool writes = updates && std::ranges::count(op_.updates, static_cast<uint32_t>(i)) > 0;
    const size_t begin = frame.in.place_of(i), count = frame.in.list(i).size();
    for (size_t k = begin; k < begin + count; ++k) in_[k].add_uses(writes, uses_);
  }
  for (const Descriptor& out : out_) out.add_uses(true, uses_);
}

bool Call::waits() const {
  return op_.effect == op::Effect::random || std::ranges::any_of(out_, [](const Descriptor& o) {
           return o.defined() && !o.has_data();
         });
}

void Call::run() {
  op::GradMode off(false);
  std::vector<Tensor> in;
  for (const Descriptor& d : in_) in.push_back(d.tensor());
  Tensors given;
  for (size_t i = 0; i < out_.size(); ++i)
    given.push_back(same_as_[i] >= 0 ? in[static_cast<size_t>(same_as_[i])] : out_[i].tensor());
  Tensors out = given;
  op::KernelFrame frame{op_, op::Inputs(in, ends_.empty() ? nullptr : ends_.data()), out};
  kernel_.run(frame, attrs_.get());
  for (size_t i = 0; i < out_.size(); ++i) {
    if (!out_[i].defined()) continue;
    if (!out_[i].has_data())
      results_[i] = out[i];
    else if (!out[i].is(given[i]))  // some kernels hand out another tensor than they were given
      op::copy_into(given[i], out[i]);
  }
}

}  // namespace argosy::streamed
