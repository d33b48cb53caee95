#pragma once

#include <cstdint>

#include "argosy/base/error.h"

namespace argosy::comm {

// Why a group can no longer be used. In Python: argosy.distributed.CommunicationError and its
// kinds.
enum class Failure : uint8_t {
  disagreement,  // ranks called different collectives
  lost,          // a rank's process has ended, or has left the group
  timeout,       // a rank has not come in time
  closed,        // the group was destroyed, or belongs to the parent of a forked process
  connection,    // the ranks could not be connected
};

// What every collective throws once its group has failed: the same text on every rank.
class ARGOSY_API CommError : public Error {
 public:
  CommError(Failure failure, const Message& text);
  Failure failure() const { return failure_; }

 private:
  Failure failure_;
};

}  // namespace argosy::comm
