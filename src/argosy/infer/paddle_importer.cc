#include "argosy/infer/importer.h"
#include "argosy/infer/paddle.h"

// Models of Paddle for whoever asks infer::load: predictors.
namespace argosy::infer {
namespace {

[[maybe_unused]] const bool registered =
    register_importer({"paddle", recognizes_paddle, load_paddle});

}  // namespace
}  // namespace argosy::infer
