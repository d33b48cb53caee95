#pragma once

#include <cstdint>

namespace argosy {

enum class DeviceKind : uint8_t { cpu, null, cuda };
inline constexpr int kDeviceKinds = 3;

struct Place {
  DeviceKind kind = DeviceKind::cpu;
  int16_t index = 0;
  bool operator==(const Place&) const = default;
};

}  // namespace argosy
