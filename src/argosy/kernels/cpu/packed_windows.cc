#include <algorithm>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/packed_conv.h"
#include "argosy/kernels/cpu/packed_panels.h"
#include "argosy/kernels/cpu/scratch.h"

// Convolutions as products whose rows are windows of the image. A row is never put together: it is
// read pixel by pixel where it lies, pixels outside of the image from zeros.
namespace argosy::cpu {
namespace {

int64_t taps_of(const ConvShape& s) {
  return s.kernel[0] * s.kernel[1];
}
int64_t depth_of(const ConvShape& s) {
  return taps_of(s) * s.in_channels;
}

// Where the pixels of some windows lie.
class Table {
 public:
  Table(const ConvShape& s, int64_t windows)
      : s_(s),
        step_(windows),
        memory_(static_cast<size_t>(taps_of(s) * windows) * sizeof(float*) +
                static_cast<size_t>(s.in_channels) * sizeof(float)),
        at_(memory_.as<const float*>()),
        zeros_(reinterpret_cast<float*>(at_ + taps_of(s) * windows)) {
    std::fill_n(zeros_, s.in_channels, 0.0f);
  }

  // Of output pixels [begin, end), counted over all images.
  void fill(const float* x, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t left = i % s_.out[1] * s_.stride[1] - s_.pad[1], line = i / s_.out[1];
      const int64_t top = line % s_.out[0] * s_.stride[0] - s_.pad[0];
      const float* image = x + line / s_.out[0] * s_.in[0] * s_.in[1] * s_.in_channels;
      const float** to = at_ + (i - begin);
      for (int64_t r = 0; r < s_.kernel[0]; ++r) {
        const int64_t row = top + r * s_.dilation[0];
        const bool inside = row >= 0 && row < s_.in[0];
        for (int64_t c = 0; c < s_.kernel[1]; ++c, to += step_) {
          const int64_t column = left + c * s_.dilation[1];
          *to = inside && column >= 0 && column < s_.in[1]
                    ? image + (row * s_.in[1] + column) * s_.in_channels
                    : zeros_;
        }
      }
    }
  }

  // From pixel `first` of the windows on.
  const float* const* pieces(int64_t first) const { return at_ + first * step_; }
  int64_t step() const { return step_; }

 private:
  const ConvShape& s_;
  const int64_t step_;
  const Scratch memory_;
  const float** const at_;  // [pixels of a window, windows]
  float* const zeros_;
};

}  // namespace

int64_t windows_bytes(const ConvShape& form) {
  return bytes_of_panels(depth_of(form), form.out_channels);
}

void pack_windows(const ConvShape& form, const float* w, void* packed) {
  const int64_t taps = taps_of(form), channels = form.in_channels;
  pack_panels(taps, channels, form.out_channels, static_cast<float*>(packed),
              [&](int64_t tap, int64_t channel, int64_t j) {
                return w[(j * channels + channel) * taps + tap];
              });
}

void windows(const ConvShape&, const ConvShape& s, const float* x, const void* packed,
             const PackedEpilogue& epilogue, float* y) {
  const int64_t m = s.batch * s.out[0] * s.out[1], k = depth_of(s), n = s.out_channels;
  if (m == 0) return;
  const int64_t pixels = s.batch * s.in[0] * s.in[1];
  const PanelCut c =
      cut_panels(m, k, n, pixels * s.in_channels * static_cast<int64_t>(sizeof(float)));
  const PanelMatrix w{k, n, static_cast<const float*>(packed)};
  const int64_t at_once = std::max<int64_t>(1, kPanelDepth / s.in_channels);
  parallel_for(c.tasks(), 1, [&](int64_t begin, int64_t end) {
    Table table(s, c.rows);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t row = c.chunk_of(task) * c.rows;
      PanelProduct p{};
      p.m = std::min(c.rows, m - row);
      table.fill(x, row, row + p.m);
      p.pieces_step = table.step();
      multiply_panels(p, c, task, w, row, epilogue, y, [&](PanelProduct& block, int64_t q) {
        const int64_t pixel = q / s.in_channels;
        block.segments = std::min(at_once, taps_of(s) - pixel);
        block.pieces = table.pieces(pixel);
        block.k = block.segments * s.in_channels;
      });
    }
  });
}

}  // namespace argosy::cpu
