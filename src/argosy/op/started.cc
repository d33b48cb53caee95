#include "argosy/op/started.h"

namespace argosy::op {

void (*settle_started)() = nullptr;

}  // namespace argosy::op
