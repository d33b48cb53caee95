#include "argosy/infer/importer.h"
#include "argosy/infer/paddle.h"

// Models of Paddle for whoever asks infer::load: predictors.
namespace argosy::infer {
namespace {

Import load(const ImportOptions& options) {
  return {load_paddle(options)};
}

[[maybe_unused]] const bool registered = register_importer({"paddle", recognizes_paddle, load});

}  // namespace
}  // namespace argosy::infer
