#include "argosy/ps/service/row_share.h"

#include <algorithm>
#include <string>

#include "argosy/ps/service/server_tasks.h"

namespace argosy::ps {

RowShare::RowShare(Windows* windows, uint64_t most, ClientId client, SparseTable* table,
                   std::span<const Key> keys)
    : windows_(windows), client_(client) {
  if (!most || !table || keys.empty()) return;
  if (!windows->known(client))
    throw Refusal{{Code::unknown_client, "the server does not know this client"}};
  taken_ = table->lacking(keys);
  if (taken_ && !windows->take_rows(client, taken_, most))
    throw Refusal{{Code::bad_request, "this client has made " +
                                          std::to_string(windows->rows(client)) +
                                          " rows, and may make " + std::to_string(most) +
                                          " (max_client_rows of the server); the call has " +
                                          std::to_string(taken_) + " keys without a row"}};
}

RowShare::~RowShare() {
  if (taken_) windows_->give_rows(client_, taken_);
}

void RowShare::made(uint64_t rows) {
  const uint64_t more = taken_ - std::min(rows, taken_);
  if (more) windows_->give_rows(client_, more);
  taken_ = 0;
}

}  // namespace argosy::ps
