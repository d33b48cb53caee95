#pragma once

#include "argosy/comm/ops/calls.h"

// Collectives in two parts, between which the executor goes on. Of an op X that can begin there is
// X_begin: it takes X's operands and attributes, and gives X's results and behind them the number
// of what it has begun. Nobody may read these results before collective_end, which gives them
// again, nor write an operand: collective_end has both as operands, so the memory of both is kept
// until it has run. (all_reduce works in the memory of its operands instead: all_reduce_start,
// all_reduce_wait.)
namespace argosy::comm {

// What a call has begun, or has done.
struct Begun {
  std::shared_ptr<ProcessGroup> group;
  std::shared_ptr<Work> work;
};

// Of X's kernel, which may begin: on return of an async one, its operands are still read and its
// results written.
template <class A>
using Call = Begun (*)(op::KernelFrame& f, Mode mode, const A& attrs);

// X's kernel.
template <auto call, class A>
void run_whole(op::KernelFrame& f, const A& attrs) {
  call(f, Mode::sync, attrs);
}

namespace detail {
using AnyCall = op::Erased<Begun, op::KernelFrame&, Mode>;
bool describe_begin(const op::OpDef& of, AnyCall call);
}  // namespace detail

// Beside the description of X: makes X_begin. True, for static initializers.
template <class A>
bool describe_begin(const op::Handle<A>& of, Call<A> call) {
  return detail::describe_begin(of.def(), op::detail::erase(call));
}

}  // namespace argosy::comm
