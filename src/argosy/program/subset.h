#pragma once

#include <string>

#include "argosy/program/program.h"

// Programs that are part of another. Values keep their ids.
namespace argosy::program {

// The forward operations, as in evaluation: what is of role backward or optimize is gone, with all
// that reads its results; dropout passes its input on (or scales it, where it did not in training),
// batch norm uses its running statistics. What only these wrote a run leaves as it is.
ARGOSY_API std::shared_ptr<Program> clone_for_test(const Program& p);

// What `targets` (values of p's main block) need, if `feeds` (also values of p) are fed: the inputs
// of the result are the feeds, in order. writes: keep what state needs to be written, too, and what
// prints or calls Python as far as it is fed; otherwise state is not written. The places among p's
// inputs of those that would be needed and are not fed go to `missing`.
ARGOSY_API std::shared_ptr<Program> extract(const Program& p, std::span<const Ref<Value>> feeds,
                                            std::span<const Ref<Value>> targets, bool writes,
                                            std::vector<size_t>* missing);

// p as if each input had been declared with only the first ranks[i] of its sizes: all operations
// are inferred anew. Throws where that does not suit an operation, or what p writes to its state.
ARGOSY_API std::shared_ptr<Program> with_ranks(const Program& p, std::span<const int> ranks);

}  // namespace argosy::program
