#include "argosy/op/placing.h"

#include "argosy/base/device.h"
#include "argosy/op/dispatch.h"

namespace argosy::op {

MakesOnHost::MakesOnHost() : before_(thread_state.place) {
  if (device::find(before_.kind)) thread_state.place = Place{};
}
MakesOnHost::~MakesOnHost() {
  thread_state.place = before_;
}

}  // namespace argosy::op
