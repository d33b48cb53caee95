#include "argosy/op/started.h"

namespace argosy::op {

constinit thread_local const void* run_of_thread = nullptr;
void (*settle_started)() = nullptr;

}  // namespace argosy::op
