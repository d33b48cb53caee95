#include "argosy/op/placing.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <unordered_map>

#include "argosy/base/device.h"
#include "argosy/op/dispatch.h"

namespace argosy::op {
namespace {

using Placings = std::unordered_map<std::string, Placing>;

// Complete when libraries have loaded, so reading needs no lock.
Placings& placings() {
  static Placings all;
  return all;
}

// Ops that were looked up and are not there, each in its place or nowhere.
constinit std::atomic<const OpDef*> unplaced[1024];
std::atomic<const OpDef*>& unplaced_at(const OpDef& op) {
  return unplaced[reinterpret_cast<uintptr_t>(&op) * uint64_t{0x9E3779B97F4A7C15} >> 54];
}

}  // namespace

bool Placing::reads_on_host(const InputDef& input) const {
  return std::ranges::find(host_inputs, input.name) != host_inputs.end();
}

Placing on_host(std::vector<std::string> host_inputs) {
  return {.on_host = true, .host_inputs = std::move(host_inputs)};
}

bool place_op(std::string_view op, Placing placing) {
  placings().emplace(op, std::move(placing));
  for (auto& other : unplaced) other.store(nullptr, std::memory_order_relaxed);
  return true;
}

const Placing* placing_of(const OpDef& op) {
  std::atomic<const OpDef*>& known = unplaced_at(op);
  if (known.load(std::memory_order_relaxed) == &op) return nullptr;
  const auto found = placings().find(op.name);
  if (found != placings().end()) return &found->second;
  static const Placing io = on_host();
  if (op.effect == Effect::io) return &io;
  known.store(&op, std::memory_order_relaxed);
  return nullptr;
}

MakesOnHost::MakesOnHost() : before_(thread_state.place) {
  if (device::find(before_.kind)) thread_state.place = Place{};
}
MakesOnHost::~MakesOnHost() {
  thread_state.place = before_;
}

}  // namespace argosy::op
