#include "argosy/passes/pass.h"
#include "argosy/program/inference.h"

// Batch normalization by the running statistics.
namespace argosy::passes {
namespace {

bool run(Program& p, const PassContext&) {
  return program::become_inference(p, [](const op::OpDef& op) { return !op.updates.empty(); });
}

ARGOSY_PASS(batch_norm_inference, Rounding::meaning,
            "Batch normalization uses the running statistics and leaves them as they are. Not "
            "where a gradient reads those of the batch.",
            run)

}  // namespace
}  // namespace argosy::passes
