#pragma once

#include "argosy/base/device.h"

// Streams as a device's own interface knows them (cudaStream_t), for what is compiled against that:
// ops of users, other libraries. The device's library brings it.
namespace argosy {

// Members are thread safe.
class ARGOSY_API NativeStreams {
 public:
  virtual ~NativeStreams();
  virtual void* handle(Stream stream) = 0;
  // A stream of somebody else, who keeps it until what is enqueued there is done, and the memory
  // that was taken for it given back. The same one for the same handle.
  virtual Stream adopt(Place place, void* handle) = 0;
};

namespace device {

// It lives as long as the process. Null: none.
ARGOSY_API void set_native_streams(DeviceKind kind, NativeStreams* streams);
// Throws not_implemented where the kind has none.
ARGOSY_API NativeStreams& native_streams(Place place);

}  // namespace device
}  // namespace argosy
