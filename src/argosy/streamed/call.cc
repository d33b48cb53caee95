#include "argosy/streamed/call.h"

#include <algorithm>

#include "argosy/op/dispatch.h"
#include "argosy/streamed/pinned.h"

namespace argosy::streamed {

Call::Call(const op::KernelDef& kernel, const op::KernelFrame& frame, const void* attrs,
           const Mirror& mirror)
    : kernel_(kernel), op_(frame.op), attrs_(*frame.op.attrs, attrs), mirror_(mirror) {
  const auto flat = frame.in.flat();
  if (const uint32_t* ends = frame.in.ends()) ends_.assign(ends, ends + op_.inputs.size());
  for (size_t i = 0; i < op_.inputs.size(); ++i) {
    for (const Tensor& t : frame.in.list(i))
      in_.push_back(op_.inputs[i].host ? Descriptor::of_host(t) : Descriptor(t, mirror));
  }
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
  return std::ranges::any_of(out_,
                             [](const Descriptor& o) { return o.defined() && !o.has_data(); });
}

void Call::run() {
  const std::vector<Kept> kept = keep();
  run_kernel();
  for (const Kept& k : kept)
    ARGOSY_CHECK(fingerprint(k.bytes, k.count) == k.before, device)
        << "its kernel " << kernel_.name << " changed an operand that it may only read. Do this: "
        << "describe it by .updates or .writes, or write to outputs alone.";
}

std::vector<Call::Kept> Call::keep() const {
  std::vector<Kept> kept;
  for (const Use& use : uses_) {
    const auto overlaps = [&](const Use& other) {
      return other.writes && other.begin < use.end && use.begin < other.end;
    };
    if (std::ranges::any_of(uses_, overlaps)) continue;
    const char* bytes = mirror_.alias(reinterpret_cast<const void*>(use.begin));
    const size_t count = use.end - use.begin;
    kept.push_back({bytes, count, fingerprint(bytes, count)});
  }
  return kept;
}

void Call::run_kernel() {
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
