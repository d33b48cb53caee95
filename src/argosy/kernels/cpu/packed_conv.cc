#include "argosy/kernels/cpu/packed_conv.h"

#include "argosy/base/error.h"

namespace argosy::cpu {
namespace {

struct Way {
  int64_t (*bytes)(const ConvShape&);
  void (*pack)(const ConvShape&, const float*, void*);
  void (*run)(const ConvShape&, const ConvShape&, const float*, const void*, const PackedEpilogue&,
              float*);
};

// --- in groups ---

void run_groups(const ConvShape& form, const ConvShape& s, const float* x, const void* packed,
                const PackedEpilogue& epilogue, float* y) {
  ARGOSY_CHECK(onednn(form, s, x, packed, epilogue, y), not_implemented)
      << "[packed_conv2d] there is no vector code for an input of " << s.in[0] << " x " << s.in[1]
      << ". Do this: leave out the pass channels_last.";
}

// --- of few channels: weights in both orders, as oneDNN has no code for some shapes ---

int64_t bytes_before(const ConvShape& form) {
  return (onednn_bytes(form) + 63) / 64 * 64;
}
int64_t few_bytes(const ConvShape& form) {
  return bytes_before(form) + windows_bytes(form);
}
void pack_few(const ConvShape& form, const float* w, void* packed) {
  pack_onednn(form, w, packed);
  pack_windows(form, w, static_cast<char*>(packed) + bytes_before(form));
}
void run_few(const ConvShape& form, const ConvShape& s, const float* x, const void* packed,
             const PackedEpilogue& epilogue, float* y) {
  if (!onednn(form, s, x, packed, epilogue, y))
    windows(form, s, x, static_cast<const char*>(packed) + bytes_before(form), epilogue, y);
}

const Way& way_of(const ConvShape& form) {
  static constexpr Way kWindows{windows_bytes, pack_windows, windows},
      kFew{few_bytes, pack_few, run_few}, kDepthwise{depthwise_bytes, pack_depthwise, depthwise},
      kGroups{onednn_bytes, pack_onednn, run_groups};
  constexpr int64_t kFewChannels = 16;  // less than a vector: windows would be read in crumbs
  if (form.groups == 1)
    return form.in_channels < kFewChannels && onednn_bytes(form) > 0 ? kFew : kWindows;
  const bool single = form.groups == form.in_channels && form.groups == form.out_channels;
  return single ? kDepthwise : kGroups;
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
