#include "argosy/runtime/place_memory.h"

#include <algorithm>
#include <span>

#include "argosy/base/memory.h"
#include "argosy/passes/rewrite.h"
#include "argosy/runtime/schedule.h"

namespace argosy::runtime {
namespace {

size_t aligned(size_t bytes) {
  return std::max((bytes + memory::kAlignment - 1) / memory::kAlignment, size_t{1}) *
         memory::kAlignment;
}

class Placer {
 public:
  Placer(Plan& plan, std::vector<BlockMemory>& blocks, Parallel mode)
      : plan_(plan),
        blocks_(blocks),
        // A device runs beside the host anyway, and threads of the pool have other streams than the
        // caller.
        mode_(plan.place.kind == DeviceKind::cpu && plan.arenas.size() == 1 ? mode
                                                                            : Parallel::off) {}

  PlacedMemory run();

 private:
  void place_within(uint32_t index);
  void place_in(uint32_t home, BlockMemory& memory, const MayFollow* may_follow);
  // Steps of the block that use each slot's memory.
  std::vector<std::vector<uint32_t>> users(const BlockPlan& block) const;
  void settle(uint32_t index, uint32_t home, size_t offset);
  void find_spare_memory();
  void find_spare_memory(std::span<const Buffer> buffers, uint32_t at);

  Plan& plan_;
  std::vector<BlockMemory>& blocks_;
  const Parallel mode_;
  size_t parallel_ = 0;
};

PlacedMemory Placer::run() {
  place_within(0);
  PlacedMemory placed;
  for (uint32_t home = 0; home < plan_.arenas.size(); ++home) {
    settle(0, home, 0);
    const Placement& placement = blocks_[0].placements[home];
    plan_.arenas[home].bytes = placement.bytes;
    placed.bytes += placement.bytes;
    placed.lower_bound += placement.lower_bound;
  }
  placed.parallel = parallel_;
  if (plan_.place.kind == DeviceKind::cpu) find_spare_memory();
  return placed;
}

// Offsets within the block. Those of nested blocks come first: their memory is a buffer of this.
void Placer::place_within(uint32_t index) {
  BlockMemory& memory = blocks_[index];
  BlockPlan& block = plan_.blocks[index];
  for (const BlockMemory::Item& item : memory.items)
    if (item.slot == kNone && item.home == 0) place_within(item.block);
  for (BlockMemory::Item& item : memory.items)
    if (item.slot == kNone)
      item.buffer.bytes = aligned(blocks_[item.block].placements[item.home].bytes);
  Schedule schedule(plan_, block, mode_);
  memory.placements.resize(plan_.arenas.size());
  if (!schedule.parallel()) {
    for (uint32_t home = 0; home < plan_.arenas.size(); ++home) place_in(home, memory, nullptr);
    return;
  }
  // There is one arena then.
  const std::vector<std::vector<uint32_t>> users = this->users(block);
  const auto may_follow = [&](uint32_t earlier, uint32_t later) {
    const BlockMemory::Item& before = memory.items[earlier];
    const uint32_t first = memory.items[later].buffer.first;
    if (before.slot == kNone) return schedule.ordered(before.buffer.last, first);
    return std::ranges::all_of(users[before.slot],
                               [&](uint32_t user) { return schedule.ordered(user, first); });
  };
  const MayFollow rule = may_follow;
  place_in(0, memory, &rule);
  block.segments = std::move(schedule.segments);
  block.nodes = std::move(schedule.nodes);
  block.successors = std::move(schedule.successors);
  for (const Segment& s : block.segments)
    if (s.threads) parallel_ += s.end - s.begin;
}

void Placer::place_in(uint32_t home, BlockMemory& memory, const MayFollow* may_follow) {
  std::vector<Buffer> buffers;
  for (const BlockMemory::Item& item : memory.items)
    if (item.home == home) buffers.push_back(item.buffer);
  memory.placements[home] = place_buffers(buffers, may_follow);
  size_t next = 0;
  for (BlockMemory::Item& item : memory.items)
    if (item.home == home) item.buffer = buffers[next++];
}

std::vector<std::vector<uint32_t>> Placer::users(const BlockPlan& block) const {
  std::vector<std::vector<uint32_t>> users(plan_.slots.size());
  const auto use = [&](uint32_t slot, uint32_t step) {
    while (slot != kNone && plan_.slots[slot].base != kNone) slot = plan_.slots[slot].base;
    if (slot != kNone) users[slot].push_back(step);
  };
  for (uint32_t i = 0; i < block.end - block.begin; ++i) {
    const Step& s = plan_.steps[block.begin + i];
    for (size_t k = 0; k < s.in.size(); ++k)
      if (!passes::reads_no_memory(*s.operation, k)) use(s.in[k], i);
    for (uint32_t k : s.out) use(k, i);
    for (const Copy& c : s.copies) use(c.from, i), use(c.to, i);
  }
  return users;
}

void Placer::settle(uint32_t index, uint32_t home, size_t offset) {
  for (const BlockMemory::Item& item : blocks_[index].items) {
    if (item.home != home) continue;
    if (item.slot != kNone)
      plan_.slots[item.slot].offset = static_cast<int64_t>(offset + item.buffer.offset);
    else
      settle(item.block, home, offset + item.buffer.offset);
  }
}

// For long steps of the main block that no other runs beside: the largest gap in the first arena.
void Placer::find_spare_memory() {
  constexpr double kLong = 2e4;
  std::vector<Buffer> buffers;
  for (const BlockMemory::Item& item : blocks_[0].items)
    if (item.home == 0) buffers.push_back(item.buffer);
  std::ranges::sort(buffers, {}, &Buffer::offset);
  const Segment whole{0, plan_.blocks[0].end, 0};
  std::span<const Segment> segments = plan_.blocks[0].segments;
  if (segments.empty()) segments = {&whole, 1};
  for (const Segment& segment : segments) {
    for (uint32_t i = segment.begin; segment.threads == 0 && i < segment.end; ++i) {
      const Step& s = plan_.steps[i];
      if (s.kind == Step::Kind::kernel && s.place == plan_.place && s.cost >= kLong)
        find_spare_memory(buffers, i);
    }
  }
}

// Buffers in the order of their offsets.
void Placer::find_spare_memory(std::span<const Buffer> buffers, uint32_t at) {
  constexpr size_t kLeast = 1 << 16;
  Step& s = plan_.steps[at];
  size_t end = 0;
  const auto gap = [&](size_t next) {
    if (next <= end || next - end < kLeast || next - end <= s.spare_bytes) return;
    s.spare_offset = end;
    s.spare_bytes = next - end;
  };
  for (const Buffer& b : buffers) {
    if (b.first > at || b.last < at) continue;
    gap(b.offset);
    end = std::max(end, b.offset + b.bytes);
  }
  gap(plan_.arenas[0].bytes);
}

}  // namespace

void BlockMemory::add(const Plan& plan, uint32_t slot, uint32_t first, uint32_t last) {
  const MemorySlot& s = plan.slots[slot];
  items.push_back({{aligned(s.nbytes), first, last}, s.home, slot, kNone});
}

void BlockMemory::add_block(const Plan& plan, uint32_t block, uint32_t at) {
  for (uint32_t home = 0; home < plan.arenas.size(); ++home)
    items.push_back({{0, at, at}, home, kNone, block});
}

PlacedMemory place_memory(Plan& plan, std::vector<BlockMemory>& blocks, Parallel mode) {
  return Placer(plan, blocks, mode).run();
}

}  // namespace argosy::runtime
