#include "argosy/infer/paddle/common.h"

namespace argosy::infer::paddle {

std::span<const Row> detection_rows() {
  return {};
}

}  // namespace argosy::infer::paddle
