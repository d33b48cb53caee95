#include "argosy/comm/error.h"

namespace argosy::comm {

namespace {

ErrorKind kind_of(Failure failure) {
  switch (failure) {
    case Failure::disagreement:
      return ErrorKind::invalid_argument;
    case Failure::timeout:
      return ErrorKind::timeout;
    default:
      return ErrorKind::runtime;
  }
}

}  // namespace

CommError::CommError(Failure failure, const Message& text)
    : Error(kind_of(failure), text.str()), failure_(failure) {}

}  // namespace argosy::comm
