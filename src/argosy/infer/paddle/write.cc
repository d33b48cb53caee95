#include "argosy/infer/paddle/write.h"

#include "argosy/infer/paddle/emit.h"
#include "argosy/infer/paddle/weights.h"

namespace argosy::infer::paddle {

PaddleFiles write_model(const program::Program& program, program::Scope* scope,
                        PaddleProgram form) {
  const std::shared_ptr<program::Program> p = for_writing(program);
  for (const program::StateUse& s : p->states)
    ARGOSY_CHECK(!s.last, not_implemented)
        << "[paddle] the model writes the state '" << s.state->name
        << "', which models of Paddle for inference cannot. Do this: call eval() first.";
  check_writable(*p, "paddle", "Paddle", can_write);
  const Document document = Emitter(*p, scope).write();
  return {form == PaddleProgram::pdmodel ? program_of(document) : pir_of(document),
          write_tensors(document.tensors)};
}

}  // namespace argosy::infer::paddle
