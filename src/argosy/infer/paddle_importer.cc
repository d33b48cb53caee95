#include "argosy/infer/paddle.h"

namespace argosy::infer {
namespace {

[[maybe_unused]] const bool registered =
    register_importer({"paddle", recognizes_paddle, load_paddle});

}  // namespace
}  // namespace argosy::infer
