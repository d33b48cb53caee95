#include "argosy/runtime/graphs.h"

#include <algorithm>
#include <atomic>

#include "argosy/base/flags.h"
#include "argosy/op/launch.h"
#include "argosy/runtime/frame.h"

namespace argosy::runtime {
namespace {

// A shorter one gains nothing over its calls.
constexpr uint32_t kShortest = 4;

bool dense(const Tensor& t) {
  return !t.defined() || t.layout() == Layout::strided;
}

std::atomic<uint64_t> launches{0};

void launch(DeviceGraph& graph) {
  launches.fetch_add(1, std::memory_order_relaxed);
  graph.launch();
}

// Whether the step enqueues the same work each time that its operands lie in the same memory, and
// asks nothing of the host.
bool repeats(const FrameStep& s, const Plan& plan) {
  const Step& p = *s.plan;
  if (p.kind == Step::Kind::view) return true;
  if (p.kind != Step::Kind::kernel || !p.kernel || !p.frees.empty()) return false;
  if (p.place != plan.place) return false;
  // A copy of unknown size takes memory.
  for (const Copy& c : p.copies)
    if (!plan.slots[c.to].known) return false;
  if (p.kernel->device != op::launcher(p.place.kind).kernels() && !p.kernel->on_loops) return false;
  if (s.op->effect != op::Effect::pure && s.op->effect != op::Effect::writes_input) return false;
  if (s.op->placed()) return false;
  return std::ranges::all_of(s.in.flat(), dense) && std::ranges::all_of(s.out, dense);
}

// The end of the chain that begins at step i, or of the step.
uint32_t end_of_chain(const Plan& plan, uint32_t i) {
  const auto c = std::ranges::lower_bound(plan.chains, i, {}, &Chain::begin);
  return c != plan.chains.end() && c->begin == i ? c->end : i + 1;
}

}  // namespace

uint64_t graph_launches() {
  return launches.load(std::memory_order_relaxed);
}

std::vector<Stretch> stretches_of(std::span<const FrameStep> steps, uint32_t begin, uint32_t end,
                                  const Plan& plan, bool taking_memory) {
  std::vector<Stretch> found;
  static const bool wanted = flags::find("ARGOSY_DEVICE_GRAPHS").boolean();
  const Device* device = device::find(plan.place.kind);
  if (!wanted || !device || !device->has_graphs()) return found;
  for (uint32_t i = begin; i < end;) {
    uint32_t k = i, next = i + 1;
    bool takes = false;
    while (k < end) {
      // A chain is recorded whole, or not at all.
      const uint32_t whole = end_of_chain(plan, k);
      bool all_repeat = true, takes_here = false;
      for (uint32_t j = k; j < whole; ++j) {
        all_repeat &= repeats(steps[j], plan);
        takes_here |= !steps[j].plan->allocates.empty();
      }
      next = whole;
      if (!all_repeat || (takes_here && !taking_memory)) break;
      takes |= takes_here;
      k = whole;
    }
    if (k - i >= kShortest) found.push_back({i, k, takes});
    i = next;
  }
  return found;
}

Ref<DeviceGraph> StretchGraphs::record(Stream stream, const std::function<void()>& run) {
  Device& device = device::of(stream.place);
  if (!device.begin_graph(stream)) return {};
  bool whole = true;
  try {
    run();
  } catch (const Error&) {
    whole = false;
  } catch (...) {
    device.end_graph(stream);
    throw;
  }
  Ref<DeviceGraph> graph = device.end_graph(stream);
  return whole ? graph : Ref<DeviceGraph>();
}

void StretchGraphs::run(std::span<const FrameStep> steps, std::span<const Tensor> slots,
                        Place place, const std::function<void()>& run) {
  if (given_up_) return run();
  Met now{device::current(place), {}};
  const auto note = [&](const Tensor& t) { now.memory.push_back(t.defined() ? t.raw() : nullptr); };
  for (const FrameStep& s : steps) {
    if (s.plan->kind == Step::Kind::view) continue;
    std::ranges::for_each(s.in.flat(), note);
    std::ranges::for_each(s.out, note);
    for (const Copy& c : s.plan->copies) note(slots[c.from]);
  }
  const auto found = std::ranges::find(recorded_, now, &Recorded::met);
  if (found != recorded_.end()) {
    std::rotate(recorded_.begin(), found, found + 1);
    misses_ = 0;
    return launch(*recorded_.front().graph);
  }
  given_up_ = ++misses_ > kPatience;
  // What was never run makes handles and takes decisions first.
  const auto before = std::ranges::find(seen_, now);
  if (before == seen_.end()) {
    if (seen_.size() == kMost) seen_.pop_back();
    seen_.insert(seen_.begin(), std::move(now));
    return run();
  }
  seen_.erase(before);
  Ref<DeviceGraph> graph = record(now.stream, run);
  if (!graph) {
    // An error that is not of the recording is raised here.
    given_up_ = true;
    return run();
  }
  if (recorded_.size() == kMost) recorded_.pop_back();
  recorded_.insert(recorded_.begin(), {std::move(now), graph});
  launch(*graph);
}

}  // namespace argosy::runtime
