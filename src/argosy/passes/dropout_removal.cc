#include "argosy/passes/pass.h"
#include "argosy/program/inference.h"

// Dropout and its like as they are when not training.
namespace argosy::passes {
namespace {

bool run(Program& p, const PassContext&) {
  return program::become_inference(p, [](const op::OpDef& op) { return op.updates.empty(); });
}

ARGOSY_PASS(dropout_removal, Rounding::meaning,
            "Dropout, and whatever else draws random numbers for training, computes what it does "
            "when not training: x, or x * (1 - p) in the mode that scales then. No random numbers "
            "are drawn for it. Not where somebody reads these numbers otherwise.",
            run)

}  // namespace
}  // namespace argosy::passes
