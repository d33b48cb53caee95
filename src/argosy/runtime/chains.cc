#include "argosy/runtime/chains.h"

#include <algorithm>

#include "argosy/op/launch.h"

namespace argosy::runtime {
namespace {

bool plain(const MemorySlot& s) {
  return s.known && s.layout == Layout::strided;
}

bool may_join(const Plan& plan, const Step& s) {
  if (s.kind != Step::Kind::kernel || !s.kernel || !s.kernel->on_loops || s.effect) return false;
  if (s.place != plan.place || !s.copies.empty() || !s.frees.empty() || s.spare_bytes) return false;
  const op::OpDef& op = *s.operation->op;
  if (op.placed()) return false;
  if (op.effect != op::Effect::pure && op.effect != op::Effect::writes_input) return false;
  if (s.out.empty() || s.out[0] == kNone) return false;
  const auto known = [&](uint32_t k) { return k == kNone || plain(plan.slots[k]); };
  return std::ranges::all_of(s.in, known) && std::ranges::all_of(s.out, known);
}

const Shape& shape_of(const Plan& plan, const Step& s) {
  return plan.slots[s.out[0]].shape;
}

}  // namespace

void find_chains(Plan& plan, std::span<const uint32_t> last) {
  if (plan.place.kind == DeviceKind::cpu || !op::launcher(plan.place.kind).chains()) return;
  for (const BlockPlan& block : plan.blocks) {
    for (uint32_t i = block.begin; i < block.end;) {
      if (!may_join(plan, plan.steps[i])) {
        ++i;
        continue;
      }
      Chain chain{i, i + 1};
      uint32_t kernels = 1;
      for (uint32_t k = i + 1; k < block.end; ++k) {
        const Step& s = plan.steps[k];
        const bool view = s.kind == Step::Kind::view && s.frees.empty();
        if (view) continue;
        if (!may_join(plan, s) || shape_of(plan, s) != shape_of(plan, plan.steps[i])) break;
        chain.end = k + 1;
        ++kernels;
      }
      i = chain.end;
      if (kernels < 2) continue;
      for (uint32_t k = chain.begin; k < chain.end; ++k)
        plan.steps[k].unread = std::ranges::all_of(plan.steps[k].out, [&](uint32_t slot) {
          return slot == kNone || (last[slot] != kNone && last[slot] < chain.end);
        });
      plan.chains.push_back(chain);
    }
  }
  std::ranges::sort(plan.chains, {}, &Chain::begin);
}

}  // namespace argosy::runtime
