#include "argosy/base/device.h"
#include "argosy/op/copy.h"
#include "argosy/op/define.h"

// Values of a Program that go to another device.
namespace argosy::ops {
namespace {

struct OnPlaceAttrs {
  std::string device = "cpu";
  int64_t index = 0;
};
ARGOSY_ATTRS(OnPlaceAttrs, device, index)

Place place_of(const OnPlaceAttrs& a) {
  for (int kind = 0; kind < kDeviceKinds; ++kind) {
    const Place place{static_cast<DeviceKind>(kind), static_cast<int16_t>(a.index)};
    if (a.device != device::kind_name(place.kind)) continue;
    if (place.kind != DeviceKind::cpu) device::of(place);  // throws if there is none
    return place;
  }
  ARGOSY_THROW(device) << "[on_place] there is no device '" << a.device
                       << "' in this process. Do this: see device.get_all_custom_device_type().";
}

void on_place_run(op::KernelFrame& f, const OnPlaceAttrs& a) {
  const Place place = place_of(a);
  if (f.out[0].place() == place)
    op::copy_into(f.out[0], f.in[0]);
  else
    f.out[0] = op::to_place(f.in[0], place);
}

ARGOSY_OP(on_place, OnPlaceAttrs)
    .doc("x on another device; no gradient flows through it. [= Paddle's Tensor.to]")
    .input("x")
    .index_output("out")
    .kernel("copy", on_place_run)
    .strided()
    .on_host()
    .result_place(place_of)
    .done();

}  // namespace
}  // namespace argosy::ops
