#include "argosy/kernels/cuda/walk.h"

#include <algorithm>
#include <utility>

namespace argosy::cuda {
namespace {

constexpr int64_t kMostOfPart = int64_t{1} << 30;

bool one_dimension(const Merged& m, int count, int outer, const View* operands, int inner) {
  for (int k = 0; k < count; ++k)
    if (m.strides[outer][k] != operands[k].strides[inner] * operands[0].shape[inner]) return false;
  return true;
}

}  // namespace

Merged merged(const View* operands, int count, int order) {
  const View& first = operands[0];
  int dims[kMaxRank], kept = 0;
  for (int d = 0; d < first.rank; ++d) {
    if (first.shape[d] == 1) continue;
    dims[kept] = d;
    for (int i = kept++; i > 0; --i) {
      const int64_t* strides = operands[order].strides;
      if (strides[dims[i - 1]] >= strides[dims[i]]) break;
      std::swap(dims[i - 1], dims[i]);
    }
  }
  Merged m;
  for (int i = 0; i < kept; ++i) {
    const int d = dims[i];
    const bool joined = m.rank && one_dimension(m, count, m.rank - 1, operands, d);
    const int to = joined ? m.rank - 1 : m.rank++;
    m.shape[to] = joined ? m.shape[to] * first.shape[d] : first.shape[d];
    for (int k = 0; k < count; ++k) m.strides[to][k] = operands[k].strides[d];
  }
  if (!m.rank) {
    m.rank = 1;
    m.shape[0] = 1;
    for (int k = 0; k < count; ++k) m.strides[0][k] = 1;
  }
  return m;
}

namespace {

bool packs_fit(const Merged& m, void* const* data, const int* item_sizes, int count, int most) {
  const int last = m.rank - 1;
  if (most == 1 || m.rank > kPackedRank || m.strides[last][count - 1] != 1) return false;
  if (m.rank > 1 && m.shape[last] % most) return false;
  for (int k = 0; k < count; ++k) {
    const int64_t inner = m.strides[last][k];
    if (inner != 0 && inner != 1) return false;
    if (inner == 0) continue;
    const auto bytes = static_cast<uintptr_t>(item_sizes[k]) * static_cast<uintptr_t>(most);
    if (reinterpret_cast<uintptr_t>(data[k]) % bytes) return false;
    for (int d = 0; d < last; ++d)
      if (m.strides[d][k] % most) return false;
  }
  return true;
}

}  // namespace

void in_packs(const Merged& m, void* const* data, const int* item_sizes, int count, int most,
              Called<const Merged&, void* const*, int> f) {
  // A second launch takes longer than few elements one by one.
  constexpr int64_t kFew = 1 << 16;
  const int64_t size = m.shape[m.rank - 1], over = size % most;
  if (!packs_fit(m, data, item_sizes, count, most) || (over && size < kFew)) return f(m, data, 1);
  Merged part = m;
  part.shape[m.rank - 1] = size - over;
  f(part, data, most);
  if (!over) return;
  void* at[kMaxOperands];
  for (int k = 0; k < count; ++k)
    at[k] = static_cast<char*>(data[k]) + (size - over) * m.strides[0][k] * item_sizes[k];
  part.shape[0] = over;
  f(part, at, 1);
}

void for_parts(const Merged& m, void* const* data, const int* item_sizes, int count,
               Called<const Merged&, void* const*> f) {
  const int64_t n = m.numel();
  if (n <= kMostOfPart) {
    if (n) f(m, data);
    return;
  }
  const int64_t row = n / m.shape[0];
  const int64_t rows = std::max<int64_t>(1, kMostOfPart / row);
  for (int64_t begin = 0; begin < m.shape[0]; begin += rows) {
    Merged part = m;
    part.shape[0] = std::min(rows, m.shape[0] - begin);
    void* at[kMaxOperands];
    for (int k = 0; k < count; ++k)
      at[k] = static_cast<char*>(data[k]) + begin * m.strides[0][k] * item_sizes[k];
    if (row > kMostOfPart) {
      // One row that is itself too long: its own dimensions.
      Merged inner;
      inner.rank = m.rank - 1;
      std::copy(m.shape + 1, m.shape + m.rank, inner.shape);
      for (int d = 1; d < m.rank; ++d)
        std::copy_n(m.strides[d], kMaxOperands, inner.strides[d - 1]);
      for_parts(inner, at, item_sizes, count, f);
    } else {
      f(part, at);
    }
  }
}

}  // namespace argosy::cuda
