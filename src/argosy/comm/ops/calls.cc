#include "argosy/comm/ops/calls.h"

#include <array>

#include "argosy/comm/combine.h"

namespace argosy::comm {

Reduce reduce_of(const char* what, const std::string& name) {
  static constexpr std::array kAll = {Reduce::sum, Reduce::prod, Reduce::max, Reduce::min,
                                      Reduce::avg};
  for (Reduce r : kAll)
    if (name == name_of(r)) return r;
  ARGOSY_THROW(invalid_argument) << '[' << what << "] reduce: expected sum, prod, max, min or avg,"
                                 << " got '" << name << "'. Do this: pass one of them.";
}

Reduce reduce_of(const char* what, const std::string& name, DType dtype) {
  const Reduce op = reduce_of(what, name);
  ARGOSY_CHECK(reduces(op, dtype), type)
      << '[' << what << "] " << name << " of " << dtype
      << " means nothing: expected another dtype or op (avg: floating and complex; max, min: real;"
         " sum, prod: all but float8). Do this: cast the tensor.";
  return op;
}

void check_ranks(const char* what, int64_t ranks) {
  ARGOSY_CHECK(ranks > 0, invalid_argument)
      << '[' << what << "] ranks: expected the number of the group's ranks, got " << ranks
      << ". Do this: pass get_world_size(group).";
}

std::shared_ptr<ProcessGroup> group_of(const char* what, int64_t number, int64_t ranks) {
  std::shared_ptr<ProcessGroup> group = Groups::current().find(number, what);
  ARGOSY_CHECK(group->size() == ranks, invalid_argument)
      << '[' << what << "] the Program was made for a group of " << ranks
      << " ranks: expected group " << number << " to be one, got " << group->size()
      << " ranks. Do this: start as many processes, or make the Program anew.";
  return group;
}

void infer_ended(op::InferContext& c, size_t begun) {
  const Tensor& number = c.in.list(begun)[0];
  ARGOSY_CHECK(number.dtype() == DType::int64 && (number.numel() == 1 || number.numel() < 0),
               invalid_argument)
      << '[' << c.name() << "] what was begun must be one int64, got " << number
      << ". Do this: pass what the operation that began it gave.";
  const auto xs = c.in.list(0);
  c.out.resize(xs.size());
  for (size_t i = 0; i < xs.size(); ++i) c.out[i] = {xs[i].shape(), xs[i].dtype()};
}

int64_t begun_number(const op::KernelFrame& f, size_t begun) {
  const Tensor& number = f.in.list(begun)[0];
  ARGOSY_CHECK(number.numel() == 1, invalid_argument)
      << '[' << f.name() << "] what was begun must be one int64, got " << number
      << ". Do this: pass what the operation that began it gave.";
  return *number.data<int64_t>();
}

Shape stacked(const Shape& shape, int64_t ranks) {
  Shape out = shape;
  out.insert(0, ranks);
  return out;
}

Shape unstacked(const char* what, const Tensor& x, int64_t ranks) {
  ARGOSY_CHECK(x.rank() >= 1 && (x.dim(0) == ranks || x.dim(0) == kUnknown), invalid_argument)
      << '[' << what << "] expected a tensor of " << ranks
      << " rows, one for each rank of the group, got " << x << ". Do this: stack what is for each.";
  Shape out = x.shape();
  out.erase(0);
  return out;
}

TensorList rows_of(const Tensor& x) {
  Shape shape = x.shape(), strides = x.strides();
  shape.erase(0);
  strides.erase(0);
  TensorList rows;
  for (int64_t r = 0; r < x.dim(0); ++r) rows.push_back(x.view(shape, strides, r * x.strides()[0]));
  return rows;
}

void settle(const Tensor& to, const Tensor& from) {
  if (to.raw() != from.raw()) op::copy_into(to, from);
}

}  // namespace argosy::comm
