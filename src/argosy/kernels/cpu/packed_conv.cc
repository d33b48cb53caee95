#include "argosy/kernels/cpu/packed_conv.h"

namespace argosy::cpu {
namespace {

struct Way {
  int64_t (*bytes)(const ConvShape&);
  void (*pack)(const ConvShape&, const float*, void*);
  void (*run)(const ConvShape&, const ConvShape&, const float*, const void*, const PackedEpilogue&,
              float*);
};

const Way& way_of(const ConvShape& form) {
  static constexpr Way kWindows{windows_bytes, pack_windows, windows},
      kDepthwise{depthwise_bytes, pack_depthwise, depthwise},
      kGrouped{grouped_bytes, pack_grouped, grouped};
  if (form.groups == 1) return kWindows;
  const bool single = form.groups == form.in_channels && form.groups == form.out_channels;
  return single ? kDepthwise : kGrouped;
}

}  // namespace

int64_t packed_conv_bytes(const ConvShape& form) {
  return way_of(form).bytes(form);
}

void pack_conv(const ConvShape& form, const float* w, void* packed) {
  way_of(form).pack(form, w, packed);
}

void packed_conv(const ConvShape& form, const ConvShape& shape, const float* x, const void* packed,
                 const PackedEpilogue& epilogue, float* y) {
  way_of(form).run(form, shape, x, packed, epilogue, y);
}

}  // namespace argosy::cpu
