#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "argosy/tensor/tensor.h"

// Row-sparse tensors: {rows, values} of which repeated rows add up (gradients of embeddings). Their
// parts are memory of their own, which nobody writes.
namespace argosy::ops {

// Which places name the same row. Rows ascend; the places of a row keep their order, so sums over
// them do not depend on threads.
struct RowGroups {
  std::vector<int64_t> rows;    // each once
  std::vector<uint32_t> first;  // group g: places[first[g]] .. places[first[g + 1] - 1]
  std::vector<uint32_t> places;
  size_t size() const { return rows.size(); }
};
// REQUIRES: rows >= 0, fewer than 2^32 of them. Linear in their number: a radix sort.
ARGOSY_API RowGroups group_rows(std::span<const int64_t> rows);

ARGOSY_API Tensor to_dense(const Tensor& x);
ARGOSY_API Tensor concat_rows(const Tensor& a, const Tensor& b);
// Sorted rows, each once.
ARGOSY_API Tensor merge_rows(const Tensor& x);

// --- ops, for Programs as well ---

// The sum of row-sparse tensors: all their rows one after the other.
ARGOSY_API Tensor add_rows(std::span<const Tensor> xs);
// Dense, whatever x is.
ARGOSY_API Tensor rows_to_dense(const Tensor& x);

}  // namespace argosy::ops
