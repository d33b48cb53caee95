#pragma once

#include <memory>
#include <string>

#include "argosy/comm/groups.h"
#include "argosy/op/define.h"

// What the ops of collectives share. Their group is a number, looked up when they run
// (comm/groups.h), so one Program serves all ranks. Roots and peers are numbers in the group.
namespace argosy::comm {

// sum, prod, max, min or avg. Throws in the name of `what` for another word.
Reduce reduce_of(const char* what, const std::string& name);
// The same, which has to mean something for the dtype.
Reduce reduce_of(const char* what, const std::string& name, DType dtype);
// Unknown ranks are unknown sizes in Programs: an op whose results depend on their number has it as
// an attribute.
void check_ranks(const char* what, int64_t ranks);
// The group, which has to have so many ranks.
std::shared_ptr<ProcessGroup> group_of(const char* what, int64_t number, int64_t ranks);

// The forms of the first list of operands, once what operand list `begun` numbers has ended; raises
// unless that is a number.
void infer_ended(op::InferContext& c, size_t begun);
// That number in a run, whose sizes a Program may not have known.
int64_t begun_number(const op::KernelFrame& f, size_t begun);

// [ranks, *shape], and what is left of it.
Shape stacked(const Shape& shape, int64_t ranks);
Shape unstacked(const char* what, const Tensor& x, int64_t ranks);
// Views of the rows.
TensorList rows_of(const Tensor& x);

// `to` gets the elements of `from`, unless it is that tensor's memory.
void settle(const Tensor& to, const Tensor& from);

// --- ops, for gradient rules of each other ---

Tensor all_reduce(const Tensor& x, const std::string& reduce, int64_t group);
// out[r] of every rank is what rank r has: [ranks, *x].
Tensor all_gather(const Tensor& x, int64_t ranks, int64_t group);
Tensor reduce_scatter(const Tensor& x, int64_t ranks, const std::string& reduce, int64_t group);
// outputs[r], of the form of likes[r], gets rank r's xs[this rank].
Tensors alltoall(std::span<const Tensor> xs, std::span<const Tensor> likes, int64_t group);

}  // namespace argosy::comm
