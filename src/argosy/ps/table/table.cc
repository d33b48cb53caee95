#include "argosy/ps/table/table.h"

namespace argosy::ps {

SparseTable::~SparseTable() = default;
DenseTable::~DenseTable() = default;

void Rows::clear() {
  keys.clear();
  offsets.assign(1, 0);
  bytes.clear();
}

}  // namespace argosy::ps
