#include "argosy/op/placing.h"

#include <algorithm>
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

}  // namespace

bool Placing::reads_on_host(const InputDef& input) const {
  return std::ranges::find(host_inputs, input.name) != host_inputs.end();
}

Placing on_host(std::vector<std::string> host_inputs) {
  return {.on_host = true, .host_inputs = std::move(host_inputs)};
}

bool place_op(std::string_view op, Placing placing) {
  placings().emplace(op, std::move(placing));
  return true;
}

const Placing* placing_of(const OpDef& op) {
  const auto found = placings().find(op.name);
  if (found != placings().end()) return &found->second;
  static const Placing io = on_host();
  return op.effect == Effect::io ? &io : nullptr;
}

MakesOnHost::MakesOnHost() : before_(thread_state.place) {
  if (device::find(before_.kind)) thread_state.place = Place{};
}
MakesOnHost::~MakesOnHost() {
  thread_state.place = before_;
}

}  // namespace argosy::op
