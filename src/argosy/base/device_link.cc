#include "argosy/base/device_link.h"

#include <array>
#include <atomic>

namespace argosy {

DeviceLink::~DeviceLink() = default;
DeviceLinker::~DeviceLinker() = default;

namespace device {
namespace {

constinit std::array<std::atomic<DeviceLinker*>, kDeviceKinds> linkers{};

}  // namespace

void set_linker(DeviceKind kind, DeviceLinker* linker) {
  linkers[static_cast<size_t>(kind)].store(linker);
}

DeviceLinker* linker(DeviceKind kind) {
  return linkers[static_cast<size_t>(kind)].load();
}

}  // namespace device
}  // namespace argosy
