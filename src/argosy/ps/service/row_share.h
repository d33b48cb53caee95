#pragma once

#include <cstdint>
#include <span>

#include "argosy/ps/key.h"
#include "argosy/ps/service/window.h"
#include "argosy/ps/table/table.h"

namespace argosy::ps {

// What one call takes of the rows that its client may make (max_client_rows). Taken before the call
// changes anything, so that calls at once cannot make more together; what it did not make goes back
// at its end.
class RowShare {
 public:
  // `most`: that the client may make, 0 for any number. Without a table, or keys, no rows are made.
  // Throws Refusal if the keys that have no row are more than what is left.
  RowShare(Windows* windows, uint64_t most, ClientId client, SparseTable* table,
           std::span<const Key> keys);
  ~RowShare();
  RowShare(const RowShare&) = delete;
  RowShare& operator=(const RowShare&) = delete;

  void made(uint64_t rows);
  void made_all() { taken_ = 0; }

 private:
  Windows* const windows_;
  const ClientId client_;
  uint64_t taken_ = 0;
};

}  // namespace argosy::ps
