#include <cstring>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/packed_conv.h"
#include "argosy/kernels/cpu/packed_panels.h"
#include "argosy/kernels/cpu/scratch.h"

// Convolutions as products whose rows are windows of the image. A row is never put together: it is
// read piece by piece where it lies, pieces outside of the image from zeros.
namespace argosy::cpu {
namespace {

// The pieces of a window, in the order of the packed matrix's rows: for each row of the kernel its
// pixels; where a pixel has few channels, all pixels at once.
struct Pieces {
  int64_t rows, columns;  // of pieces
  int64_t pixels;         // in a piece
  int64_t length;         // of a piece, in numbers

  int64_t count() const { return rows * columns; }
};

Pieces pieces_of(const ConvShape& s) {
  constexpr int64_t kFewChannels = 16;
  const bool whole = s.in_channels < kFewChannels && s.dilation[1] == 1;
  const int64_t pixels = whole ? s.kernel[1] : 1;
  return {s.kernel[0], s.kernel[1] / pixels, pixels, pixels * s.in_channels};
}

int64_t depth_of(const ConvShape& s) {
  return s.kernel[0] * s.kernel[1] * s.in_channels;
}

// Where the pieces of some output pixels lie.
class Table {
 public:
  Table(const ConvShape& s, const Pieces& pieces, int64_t pixels)
      : s_(s),
        pieces_(pieces),
        step_(pixels),
        memory_(bytes_for(s, pieces, pixels)),
        at_(memory_.as<const float*>()),
        zeros_(reinterpret_cast<float*>(at_ + pieces.count() * pixels)) {
    std::fill_n(zeros_, pieces_.length, 0.0f);
  }

  // Of pixels [begin, end), counted over all images.
  void fill(const float* x, int64_t begin, int64_t end) {
    patch_ = zeros_ + pieces_.length;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % s_.out[1], line = i / s_.out[1];
      const int64_t top = line % s_.out[0] * s_.stride[0] - s_.pad[0];
      const float* image = x + line / s_.out[0] * s_.in[0] * s_.in[1] * s_.in_channels;
      const int64_t left = column * s_.stride[1] - s_.pad[1];
      const float** to = at_ + (i - begin);
      for (int64_t r = 0; r < pieces_.rows; ++r) {
        const int64_t row = top + r * s_.dilation[0];
        const bool inside = row >= 0 && row < s_.in[0];
        const float* start = image + row * s_.in[1] * s_.in_channels;
        for (int64_t c = 0; c < pieces_.columns; ++c, to += step_)
          *to = inside ? piece(start, left + c * s_.dilation[1]) : zeros_;
      }
    }
  }

  // From piece `first` on.
  const float* const* pieces(int64_t first) const { return at_ + first * step_; }
  int64_t step() const { return step_; }

 private:
  // A piece that is partly inside is put together: at most one for each row of a pixel's window.
  static size_t bytes_for(const ConvShape& s, const Pieces& p, int64_t pixels) {
    const int64_t patches = p.pixels > 1 ? std::min(pixels, edge_pixels(s, pixels)) * p.rows : 0;
    return static_cast<size_t>(p.count() * pixels) * sizeof(float*) +
           static_cast<size_t>((patches + 1) * p.length) * sizeof(float);
  }
  // The most of `pixels` in a row whose windows reach over the left or the right edge.
  static int64_t edge_pixels(const ConvShape& s, int64_t pixels) {
    const int64_t over = s.kernel[1] / s.stride[1] + 1;
    return (pixels / s.out[1] + 2) * 2 * over;
  }

  const float* piece(const float* row, int64_t column) {
    const float* there = row + column * s_.in_channels;
    if (column >= 0 && column + pieces_.pixels <= s_.in[1]) return there;
    const int64_t begin = std::max<int64_t>(column, 0),
                  end = std::min(column + pieces_.pixels, s_.in[1]);
    if (begin >= end) return zeros_;
    float* patch = patch_;
    patch_ += pieces_.length;
    std::fill_n(patch, pieces_.length, 0.0f);
    std::memcpy(patch + (begin - column) * s_.in_channels, row + begin * s_.in_channels,
                static_cast<size_t>((end - begin) * s_.in_channels) * sizeof(float));
    return patch;
  }

  const ConvShape& s_;
  const Pieces& pieces_;
  const int64_t step_;
  const Scratch memory_;
  const float** const at_;  // [pieces, pixels]
  float *const zeros_, *patch_ = nullptr;
};

}  // namespace

int64_t windows_bytes(const ConvShape& form) {
  return bytes_of_panels(depth_of(form), form.out_channels);
}

void pack_windows(const ConvShape& form, const float* w, void* packed) {
  const int64_t taps = form.kernel[0] * form.kernel[1], channels = form.in_channels;
  pack_panels(
      depth_of(form), form.out_channels, static_cast<float*>(packed),
      [&](int64_t i, int64_t j) { return w[(j * channels + i % channels) * taps + i / channels]; });
}

void windows(const ConvShape&, const ConvShape& s, const float* x, const void* packed,
             const PackedEpilogue& epilogue, float* y) {
  const Pieces pieces = pieces_of(s);
  const int64_t m = s.batch * s.out[0] * s.out[1], k = depth_of(s), n = s.out_channels;
  if (m == 0) return;
  const PanelCut c = cut_panels(m, k, n);
  const PanelMatrix w{k, n, static_cast<const float*>(packed)};
  const int64_t at_once = std::max<int64_t>(1, kPanelDepth / pieces.length);
  parallel_for(c.row_chunks * c.groups, 1, [&](int64_t begin, int64_t end) {
    Table table(s, pieces, c.rows);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t row = task / c.groups * c.rows;
      PanelProduct p{};
      p.m = std::min(c.rows, m - row);
      table.fill(x, row, row + p.m);
      p.pieces_step = table.step();
      multiply_panels(p, c, task, w, row, epilogue, y, [&](PanelProduct& block, int64_t q) {
        const int64_t piece = q / pieces.length;
        block.segments = std::min(at_once, pieces.count() - piece);
        block.pieces = table.pieces(piece);
        block.k = block.segments * pieces.length;
      });
    }
  });
}

}  // namespace argosy::cpu
