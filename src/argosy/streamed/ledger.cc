#include "argosy/streamed/ledger.h"

#include <algorithm>
#include <ranges>

#include "argosy/base/error.h"

namespace argosy::streamed {

void Clock::add(Moment m) {
  if (positions_.size() <= m.stream) positions_.resize(m.stream + 1, 0);
  positions_[m.stream] = std::max(positions_[m.stream], m.position);
}

void Clock::add(const Clock& other) {
  if (positions_.size() < other.positions_.size()) positions_.resize(other.positions_.size(), 0);
  for (size_t i = 0; i < other.positions_.size(); ++i)
    positions_[i] = std::max(positions_[i], other.positions_[i]);
}

void Ledger::open(uintptr_t begin, size_t bytes, Moment at) {
  const uintptr_t end = begin + bytes;
  blocks_.emplace(begin, Block{end, at.stream, {}, {{{begin, end, true}, at, "allocation"}}});
}

Ledger::Blocks::iterator Ledger::find(uintptr_t address) {
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return blocks_.end();
  auto block = std::prev(after);
  return address < block->second.end ? block : blocks_.end();
}

void Ledger::record_use(uintptr_t address, uint32_t stream) {
  auto block = find(address);
  if (block != blocks_.end()) block->second.users.push_back(stream);
}

std::string Ledger::conflict(const Operation& operation, const Use& use, const Block& block) const {
  for (const Past& past : std::views::reverse(block.past)) {  // the newest says most
    const bool apart = past.use.end <= use.begin || use.end <= past.use.begin;
    if (apart || !(past.use.writes || use.writes) || operation.before.covers(past.at)) continue;
    Message m;
    m << '[' << operation.name << "] on stream " << operation.at.stream
      << (use.writes ? " writes" : " reads") << " memory that [" << past.name << "] on stream "
      << past.at.stream << (past.use.writes ? " writes" : " reads")
      << ", and no event puts one before the other. Do this: record an event after [" << past.name
      << "] and let stream " << operation.at.stream << " wait for it (stream.wait_event).";
    return m.str();
  }
  return {};
}

// A later use that is after the new one is also after those that the new one hides.
void Ledger::note(const Operation& operation, const Use& use, Block& block) {
  std::erase_if(block.past, [&](const Past& past) {
    const bool inside = use.begin <= past.use.begin && past.use.end <= use.end;
    const bool hides = use.writes || !past.use.writes;
    return inside && hides && operation.before.covers(past.at);
  });
  block.past.push_back({use, operation.at, operation.name});
}

std::string Ledger::use(const Operation& operation, const std::vector<Use>& uses) {
  for (const Use& use : uses) {
    auto block = find(use.begin);
    if (block == blocks_.end() || use.end > block->second.end) {
      Message m;
      m << '[' << operation.name << "] on stream " << operation.at.stream
        << " uses memory that was freed. Do this: keep the tensor until the call.";
      return m.str();
    }
    std::string wrong = conflict(operation, use, block->second);
    if (!wrong.empty()) return wrong;
  }
  for (const Use& use : uses) note(operation, use, find(use.begin)->second);
  return {};
}

Ledger::Closing Ledger::close(uintptr_t begin, const Clock& before) {
  Closing closing;
  auto node = blocks_.extract(begin);
  if (node.empty()) return closing;
  const Block& block = node.mapped();
  for (const Past& past : block.past) {
    if (past.at.stream == block.stream || before.covers(past.at)) continue;
    closing.wait_for.push_back(past.at);
    if (std::ranges::count(block.users, past.at.stream)) continue;
    Message m;
    m << '[' << past.name << "] on stream " << past.at.stream << " uses memory of stream "
      << block.stream << ", which was freed while that may not be done. Do this: call "
      << "tensor.record_stream(stream) after it, or let stream " << block.stream << " wait.";
    closing.wrong = m.str();
  }
  return closing;
}

std::vector<Ledger::Held> Ledger::held() const {
  std::vector<Held> all;
  for (const auto& [begin, block] : blocks_) {
    const auto writer = std::ranges::find_if(block.past.rbegin(), block.past.rend(),
                                             [](const Past& p) { return p.use.writes; });
    all.push_back(
        {writer == block.past.rend() ? "" : writer->name, block.end - begin, block.stream});
  }
  return all;
}

uint32_t Ledger::stream_of(uintptr_t begin) {
  return find(begin)->second.stream;
}

}  // namespace argosy::streamed
