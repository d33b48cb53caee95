#pragma once

#include <functional>
#include <memory>

#include "argosy/tensor/tensor.h"

// What a user does with the values that the tape keeps for backward, e.g. write them to disk.
namespace argosy::autograd {

// `pack` gives what is kept in place of a value; `unpack` gives the value back, each time a
// gradient rule needs it. `pack` runs in the thread of the op, `unpack` in that of backward.
struct SavedHooks {
  std::function<std::shared_ptr<void>(const Tensor&)> pack;
  std::function<Tensor(void*)> unpack;
};

// For the ops recorded by this thread from now on; null for none.
ARGOSY_API void set_saved_hooks(std::shared_ptr<const SavedHooks> hooks);
ARGOSY_API bool has_saved_hooks();

}  // namespace argosy::autograd
