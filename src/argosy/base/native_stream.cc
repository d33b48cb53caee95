#include "argosy/base/native_stream.h"

#include <array>
#include <atomic>

#include "argosy/base/error.h"

namespace argosy {

NativeStreams::~NativeStreams() = default;

namespace device {
namespace {

constinit std::array<std::atomic<NativeStreams*>, kDeviceKinds> all{};

}  // namespace

void set_native_streams(DeviceKind kind, NativeStreams* streams) {
  all[static_cast<size_t>(kind)].store(streams);
}

NativeStreams& native_streams(Place place) {
  NativeStreams* streams = all[static_cast<size_t>(place.kind)].load();
  ARGOSY_CHECK(streams, not_implemented)
      << "[device] streams of " << kind_name(place.kind)
      << " have no handles of their own. Do this: use a GPU (device.set_device('gpu:0')).";
  return *streams;
}

}  // namespace device
}  // namespace argosy
