#include <mutex>

#include "argosy/base/export.h"

namespace argosy {

// Libraries that are loaded later (gRPC, with the parameter server) need the thread-local variables
// of libstdc++ in the static block, where the loader puts them no more once a thread has used them:
// after the first exception they would be refused ("cannot allocate memory in static TLS block").
// This reference puts them there when this library is loaded; all of it is compiled with
// -ftls-model=initial-exec.
ARGOSY_API void* libstdcxx_thread_block() {
  return &std::__once_callable;
}

}  // namespace argosy
