#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "argosy/op/op.h"

// Gradients that can be computed some rows at a time: the first rows are exchanged with other
// processes while further ones are computed. A word of an op's description, kept beside it because
// few ops have it; said in the file that describes the op:
//
//   [[maybe_unused]] const bool by_rows = op::gradient_by_rows("linear", 1, {applies,
//   weight_rows});
namespace argosy::op {

struct RowGradient {
  // For operands of these shapes.
  bool (*applies)(const Inputs& in);
  // Rows [begin, end), of the first dimension, of what the op's gradient rule computes for the
  // input, but for the rounding of a product that is cut.
  Tensor (*rows)(const GradCall& c, int64_t begin, int64_t end);
};

// REQUIRES: while libraries are loaded, once for each input of an op.
ARGOSY_API bool gradient_by_rows(const std::string& op, size_t input, RowGradient rule);
// Null: there is none.
ARGOSY_API const RowGradient* row_gradient(const OpDef& op, size_t input);

// The same of operations in Programs, where such a gradient is what another op makes: rows
// [begin, end) of output 0 are what the op makes of [begin, end) of one dimension of an operand.
struct RowSource {
  size_t operand;
  int64_t axis;
};
using RowSourceOf = std::optional<RowSource> (*)(const Inputs& in, const void* attrs);
// REQUIRES: while libraries are loaded, once for an op without lists.
ARGOSY_API bool result_by_rows(const std::string& op, RowSourceOf fn);
// Nothing: there is none, or not for operands of these shapes.
ARGOSY_API std::optional<RowSource> row_source(const OpDef& op, const Inputs& in,
                                               const void* attrs);

}  // namespace argosy::op
