#include "argosy/runtime/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace argosy::runtime {
namespace {

// Bytes alive at each step, largest.
size_t most_alive(const std::vector<Buffer>& buffers) {
  std::vector<std::pair<uint64_t, int64_t>> changes;
  for (const Buffer& b : buffers) {
    changes.emplace_back(b.first, static_cast<int64_t>(b.bytes));
    changes.emplace_back(uint64_t{b.last} + 1, -static_cast<int64_t>(b.bytes));
  }
  std::sort(changes.begin(), changes.end());  // what ends comes before what starts
  int64_t now = 0, most = 0;
  for (const auto& [step, bytes] : changes) most = std::max(most, now += bytes);
  return static_cast<size_t>(most);
}

// Places buffers in this order, each in the smallest gap that holds it among those placed that live
// at the same time; returns the bytes needed.
size_t place_in_order(std::vector<Buffer>& buffers, const std::vector<uint32_t>& order,
                      const MayFollow* may_follow) {
  std::vector<uint32_t> placed;  // by offset
  size_t total = 0;
  for (uint32_t i : order) {
    Buffer& b = buffers[i];
    size_t best = SIZE_MAX, best_gap = SIZE_MAX, end = 0;
    for (uint32_t k : placed) {
      const Buffer& p = buffers[k];
      if (p.last < b.first && (!may_follow || (*may_follow)(k, i))) continue;
      if (p.first > b.last && (!may_follow || (*may_follow)(i, k))) continue;
      if (p.offset > end && p.offset - end >= b.bytes && p.offset - end < best_gap) {
        best = end;
        best_gap = p.offset - end;
      }
      end = std::max(end, p.offset + p.bytes);
    }
    b.offset = best == SIZE_MAX ? end : best;
    total = std::max(total, b.offset + b.bytes);
    auto at = std::upper_bound(placed.begin(), placed.end(), b.offset,
                               [&](size_t o, uint32_t k) { return o < buffers[k].offset; });
    placed.insert(at, i);
  }
  return total;
}

}  // namespace

// Greedy, by several orders of which the best is taken: large buffers first leaves the small ones
// to fill gaps; by size times lifetime puts what is in everybody's way first.
Placement place_buffers(std::vector<Buffer>& buffers, const MayFollow* may_follow) {
  Placement result{most_alive(buffers), 0};
  std::vector<uint32_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0u);
  auto length = [&](uint32_t i) { return buffers[i].last - buffers[i].first; };
  auto by_size = [&](uint32_t a, uint32_t b) {
    if (buffers[a].bytes != buffers[b].bytes) return buffers[a].bytes > buffers[b].bytes;
    return length(a) > length(b);
  };
  auto by_area = [&](uint32_t a, uint32_t b) {
    return static_cast<double>(buffers[a].bytes) * (length(a) + 1) >
           static_cast<double>(buffers[b].bytes) * (length(b) + 1);
  };
  auto by_length = [&](uint32_t a, uint32_t b) {
    if (length(a) != length(b)) return length(a) > length(b);
    return buffers[a].bytes > buffers[b].bytes;
  };
  std::vector<Buffer> best;
  auto attempt = [&](auto before) {
    std::stable_sort(order.begin(), order.end(), before);
    const size_t bytes = place_in_order(buffers, order, may_follow);
    if (!best.empty() && bytes >= result.bytes) return;
    result.bytes = bytes;
    best = buffers;
  };
  attempt(by_size);
  if (result.bytes > result.lower_bound) attempt(by_area);
  if (result.bytes > result.lower_bound) attempt(by_length);
  if (!best.empty()) buffers = std::move(best);
  return result;
}

}  // namespace argosy::runtime
