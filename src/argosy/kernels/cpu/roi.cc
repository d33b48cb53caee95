#include "argosy/kernels/cpu/roi.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "argosy/base/parallel.h"

namespace argosy::cpu {
namespace {

// Four pixels and their weights.
template <class T>
struct Sample {
  int64_t at[4] = {};
  T weight[4] = {};
};

// At (y, x); coordinates up to one pixel outside count as the border, others are in no pixel.
template <class T>
Sample<T> sample_at(T y, T x, int64_t height, int64_t width) {
  Sample<T> s;
  if (!(y >= -1 && y <= static_cast<T>(height) && x >= -1 && x <= static_cast<T>(width))) return s;
  y = std::max(y, T(0));
  x = std::max(x, T(0));
  int64_t low_y = static_cast<int64_t>(y), low_x = static_cast<int64_t>(x);
  int64_t high_y = low_y + 1, high_x = low_x + 1;
  if (low_y >= height - 1) {
    low_y = high_y = height - 1;
    y = static_cast<T>(low_y);
  }
  if (low_x >= width - 1) {
    low_x = high_x = width - 1;
    x = static_cast<T>(low_x);
  }
  const T down = y - static_cast<T>(low_y), right = x - static_cast<T>(low_x);
  const T up = 1 - down, left = 1 - right;
  return {{low_y * width + low_x, low_y * width + high_x, high_y * width + low_x,
           high_y * width + high_x},
          {up * left, up * right, down * left, down * right}};
}

// The cells of one region, for roi_align.
template <class T>
struct Cells {
  T top, left, height, width;
  int64_t rows, columns;  // samples in a cell
  Cells(const T* box, const RoiShape& s, int64_t sampling_ratio, bool aligned) {
    const T scale = static_cast<T>(s.scale), shift = aligned ? T(0.5) : T(0);
    left = box[0] * scale - shift;
    top = box[1] * scale - shift;
    T w = box[2] * scale - shift - left, h = box[3] * scale - shift - top;
    if (!aligned) {
      w = std::max(w, T(1));
      h = std::max(h, T(1));
    }
    height = h / static_cast<T>(s.pooled_height);
    width = w / static_cast<T>(s.pooled_width);
    rows = sampling_ratio > 0 ? sampling_ratio : static_cast<int64_t>(std::ceil(height));
    columns = sampling_ratio > 0 ? sampling_ratio : static_cast<int64_t>(std::ceil(width));
  }
  T count() const { return static_cast<T>(std::max<int64_t>(rows * columns, 1)); }
  // visit(sample) for each sample of cell (i, j); images without pixels have none.
  template <class Visit>
  void each(int64_t i, int64_t j, const RoiShape& s, Visit visit) const {
    if (s.height == 0 || s.width == 0) return;
    for (int64_t a = 0; a < rows; ++a) {
      const T y = top + static_cast<T>(i) * height +
                  (static_cast<T>(a) + T(0.5)) * height / static_cast<T>(rows);
      for (int64_t b = 0; b < columns; ++b) {
        const T x = left + static_cast<T>(j) * width +
                    (static_cast<T>(b) + T(0.5)) * width / static_cast<T>(columns);
        visit(sample_at(y, x, s.height, s.width));
      }
    }
  }
};

// Bounds of the cells of a region in whole pixels.
struct Bounds {
  int64_t y0, y1, x0, x1;
};

template <class T>
Bounds pool_bounds(const T* box, int64_t i, int64_t j, const RoiShape& s) {
  auto rounded = [&](T v) { return static_cast<int64_t>(std::round(v * static_cast<T>(s.scale))); };
  const int64_t left = rounded(box[0]), top = rounded(box[1]);
  const int64_t w = std::max<int64_t>(rounded(box[2]) - left + 1, 1);
  const int64_t h = std::max<int64_t>(rounded(box[3]) - top + 1, 1);
  const T cell_h = static_cast<T>(h) / static_cast<T>(s.pooled_height);
  const T cell_w = static_cast<T>(w) / static_cast<T>(s.pooled_width);
  auto bound = [](T v, int64_t start, int64_t size) {
    return std::clamp<int64_t>(static_cast<int64_t>(v) + start, 0, size);
  };
  return {bound(std::floor(static_cast<T>(i) * cell_h), top, s.height),
          bound(std::ceil(static_cast<T>(i + 1) * cell_h), top, s.height),
          bound(std::floor(static_cast<T>(j) * cell_w), left, s.width),
          bound(std::ceil(static_cast<T>(j + 1) * cell_w), left, s.width)};
}

template <class T>
Bounds psroi_bounds(const T* box, int64_t i, int64_t j, const RoiShape& s) {
  const T scale = static_cast<T>(s.scale);
  const T left = std::round(box[0]) * scale, top = std::round(box[1]) * scale;
  const T right = (std::round(box[2]) + 1) * scale, bottom = (std::round(box[3]) + 1) * scale;
  const T cell_h = std::max(bottom - top, T(0.1)) / static_cast<T>(s.pooled_height);
  const T cell_w = std::max(right - left, T(0.1)) / static_cast<T>(s.pooled_width);
  auto bound = [](T v, int64_t size) {
    return std::clamp<int64_t>(static_cast<int64_t>(v), 0, size);
  };
  return {bound(std::floor(cell_h * static_cast<T>(i) + top), s.height),
          bound(std::ceil(cell_h * static_cast<T>(i + 1) + top), s.height),
          bound(std::floor(cell_w * static_cast<T>(j) + left), s.width),
          bound(std::ceil(cell_w * static_cast<T>(j + 1) + left), s.width)};
}

// Regions add into the same image, so the parts of a gradient go by channels.
void each_channel(int64_t channels, FunctionRef<void(int64_t)> body) {
  parallel_for(channels, 1, [&](int64_t first, int64_t last) {
    for (int64_t c = first; c < last; ++c) body(c);
  });
}

}  // namespace

namespace {

// Each cell from what its samples are: add(sum so far, pixels of a channel, sample, is it the
// first?), then finish(sum, samples).
template <class T, class Add, class Finish>
void each_cell(const T* x, const T* boxes, const int64_t* image, T* y, const RoiShape& s,
               int64_t sampling_ratio, bool aligned, Add add, Finish finish) {
  const int64_t plane = s.height * s.width, cells = s.pooled_height * s.pooled_width;
  parallel_for(s.regions, 1, [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) {
      const Cells<T> grid(boxes + 4 * r, s, sampling_ratio, aligned);
      const T* from = x + image[r] * s.channels * plane;
      T* to = y + r * s.channels * cells;
      for (int64_t i = 0; i < s.pooled_height; ++i) {
        for (int64_t j = 0; j < s.pooled_width; ++j) {
          T* cell = to + i * s.pooled_width + j;
          for (int64_t c = 0; c < s.channels; ++c) cell[c * cells] = 0;
          bool begun = false;
          grid.each(i, j, s, [&](const Sample<T>& p) {
            for (int64_t c = 0; c < s.channels; ++c)
              cell[c * cells] = add(cell[c * cells], from + c * plane, p, !begun);
            begun = true;
          });
          for (int64_t c = 0; c < s.channels; ++c)
            cell[c * cells] = finish(cell[c * cells], grid.count());
        }
      }
    }
  });
}

}  // namespace

template <class T>
void roi_align(const T* x, const T* boxes, const int64_t* image, T* y, const RoiShape& s,
               int64_t sampling_ratio, bool aligned) {
  each_cell(
      x, boxes, image, y, s, sampling_ratio, aligned,
      [](T sum, const T* px, const Sample<T>& p, bool) {
        return sum + (p.weight[0] * px[p.at[0]] + p.weight[1] * px[p.at[1]] +
                      p.weight[2] * px[p.at[2]] + p.weight[3] * px[p.at[3]]);
      },
      [](T sum, T count) { return sum / count; });
}

template <class T>
void roi_align_max(const T* x, const T* boxes, const int64_t* image, T* y, const RoiShape& s,
                   int64_t sampling_ratio, bool aligned) {
  each_cell(
      x, boxes, image, y, s, sampling_ratio, aligned,
      [](T most, const T* px, const Sample<T>& p, bool first) {
        for (int k = 0; k < 4; ++k) {
          const T part = p.weight[k] * px[p.at[k]];
          most = first && k == 0 ? part : std::max(most, part);
        }
        return most;
      },
      [](T most, T) { return most; });
}

template <class T>
void roi_align_grad(const T* dy, const T* boxes, const int64_t* image, T* dx, const RoiShape& s,
                    int64_t sampling_ratio, bool aligned) {
  const int64_t plane = s.height * s.width, cells = s.pooled_height * s.pooled_width;
  each_channel(s.channels, [&](int64_t c) {
    for (int64_t r = 0; r < s.regions; ++r) {
      const Cells<T> grid(boxes + 4 * r, s, sampling_ratio, aligned);
      T* to = dx + (image[r] * s.channels + c) * plane;
      const T* from = dy + (r * s.channels + c) * cells;
      for (int64_t i = 0; i < s.pooled_height; ++i)
        for (int64_t j = 0; j < s.pooled_width; ++j) {
          const T part = from[i * s.pooled_width + j] / grid.count();
          grid.each(i, j, s, [&](const Sample<T>& p) {
            for (int k = 0; k < 4; ++k) to[p.at[k]] += part * p.weight[k];
          });
        }
    }
  });
}

template <class T>
void roi_pool(const T* x, const T* boxes, const int64_t* image, T* y, int64_t* argmax,
              const RoiShape& s) {
  const int64_t plane = s.height * s.width;
  parallel_for(s.regions * s.channels, 1, [&](int64_t first, int64_t last) {
    for (int64_t at = first; at < last; ++at) {
      const int64_t r = at / s.channels, c = at % s.channels;
      const T* from = x + (image[r] * s.channels + c) * plane;
      for (int64_t i = 0; i < s.pooled_height; ++i)
        for (int64_t j = 0; j < s.pooled_width; ++j) {
          const Bounds b = pool_bounds(boxes + 4 * r, i, j, s);
          T best = std::numeric_limits<T>::lowest();
          int64_t place = -1;
          for (int64_t h = b.y0; h < b.y1; ++h)
            for (int64_t w = b.x0; w < b.x1; ++w)
              if (from[h * s.width + w] > best) {
                best = from[h * s.width + w];
                place = h * s.width + w;
              }
          const int64_t out = (at * s.pooled_height + i) * s.pooled_width + j;
          y[out] = b.y1 <= b.y0 || b.x1 <= b.x0 ? T(0) : best;
          argmax[out] = place;
        }
    }
  });
}

template <class T>
void roi_pool_grad(const T* dy, const int64_t* argmax, const int64_t* image, T* dx,
                   const RoiShape& s) {
  const int64_t plane = s.height * s.width, cells = s.pooled_height * s.pooled_width;
  each_channel(s.channels, [&](int64_t c) {
    for (int64_t r = 0; r < s.regions; ++r) {
      T* to = dx + (image[r] * s.channels + c) * plane;
      const int64_t at = (r * s.channels + c) * cells;
      for (int64_t k = at; k < at + cells; ++k)
        if (argmax[k] >= 0) to[argmax[k]] += dy[k];
    }
  });
}

template <class T>
void psroi_pool(const T* x, const T* boxes, const int64_t* image, T* y, const RoiShape& s) {
  const int64_t plane = s.height * s.width, cells = s.pooled_height * s.pooled_width;
  const int64_t channels = s.channels / cells;
  parallel_for(s.regions, 1, [&](int64_t first, int64_t last) {
    for (int64_t at = first * s.channels; at < last * s.channels; ++at) {
      const int64_t r = at / s.channels, source = at % s.channels;
      const int64_t c = source / cells, i = source % cells / s.pooled_width,
                    j = source % s.pooled_width;
      const T* from = x + (image[r] * s.channels + source) * plane;
      const Bounds b = psroi_bounds(boxes + 4 * r, i, j, s);
      T sum = 0;
      for (int64_t h = b.y0; h < b.y1; ++h)
        for (int64_t w = b.x0; w < b.x1; ++w) sum += from[h * s.width + w];
      const int64_t area = std::max<int64_t>((b.y1 - b.y0), 0) * std::max<int64_t>(b.x1 - b.x0, 0);
      y[(r * channels + c) * cells + i * s.pooled_width + j] =
          area ? sum / static_cast<T>(area) : T(0);
    }
  });
}

template <class T>
void psroi_pool_grad(const T* dy, const T* boxes, const int64_t* image, T* dx, const RoiShape& s) {
  const int64_t plane = s.height * s.width, cells = s.pooled_height * s.pooled_width;
  const int64_t channels = s.channels / cells;
  each_channel(s.channels, [&](int64_t source) {
    const int64_t c = source / cells, i = source % cells / s.pooled_width,
                  j = source % s.pooled_width;
    for (int64_t r = 0; r < s.regions; ++r) {
      const Bounds b = psroi_bounds(boxes + 4 * r, i, j, s);
      if (b.y1 <= b.y0 || b.x1 <= b.x0) continue;
      const T part = dy[(r * channels + c) * cells + i * s.pooled_width + j] /
                     static_cast<T>((b.y1 - b.y0) * (b.x1 - b.x0));
      T* to = dx + (image[r] * s.channels + source) * plane;
      for (int64_t h = b.y0; h < b.y1; ++h)
        for (int64_t w = b.x0; w < b.x1; ++w) to[h * s.width + w] += part;
    }
  });
}

namespace {

// Where the kernel's element (i, j) of deformable group g looks for the output (oh, ow).
template <class T>
struct Place {
  T y, x;
  int64_t offset_y, offset_x, mask;  // elements of offset and mask
  Place(const T* offset, const DeformShape& s, int64_t n, int64_t g, int64_t i, int64_t j,
        int64_t oh, int64_t ow) {
    const int64_t area = s.out_height * s.out_width, cell = oh * s.out_width + ow;
    const int64_t k =
        (n * s.groups + g) * s.kernel_height * s.kernel_width + i * s.kernel_width + j;
    offset_y = 2 * k * area + cell;
    offset_x = offset_y + area;
    mask = k * area + cell;
    y = static_cast<T>(oh * s.stride[0] - s.padding[0] + i * s.dilation[0]) + offset[offset_y];
    x = static_cast<T>(ow * s.stride[1] - s.padding[1] + j * s.dilation[1]) + offset[offset_x];
  }
  bool inside(const DeformShape& s) const {
    return y > -1 && x > -1 && y < static_cast<T>(s.height) && x < static_cast<T>(s.width);
  }
};

template <class T>
struct Corners {
  int64_t at[4];
  bool valid[4];
  T down, right;
  Corners(T y, T x, const DeformShape& s) {
    const T floor_y = std::floor(y), floor_x = std::floor(x);
    const int64_t low_y = static_cast<int64_t>(floor_y), low_x = static_cast<int64_t>(floor_x);
    down = y - floor_y;
    right = x - floor_x;
    for (int k = 0; k < 4; ++k) {
      const int64_t py = low_y + k / 2, px = low_x + k % 2;
      valid[k] = py >= 0 && px >= 0 && py < s.height && px < s.width;
      at[k] = py * s.width + px;
    }
  }
  T weight(int k) const { return (k / 2 ? down : 1 - down) * (k % 2 ? right : 1 - right); }
  // Derivatives of the weight.
  T by_y(int k) const { return (k / 2 ? T(1) : T(-1)) * (k % 2 ? right : 1 - right); }
  T by_x(int k) const { return (k % 2 ? T(1) : T(-1)) * (k / 2 ? down : 1 - down); }
};

}  // namespace

template <class T>
void deform_columns(const T* x, const T* offset, const T* mask, T* columns, const DeformShape& s) {
  const int64_t area = s.out_height * s.out_width, plane = s.height * s.width;
  const int64_t taps = s.kernel_height * s.kernel_width, share = s.channels / s.groups;
  parallel_for(s.images * s.channels, 1, [&](int64_t first, int64_t last) {
    for (int64_t nc = first; nc < last; ++nc) {
      const int64_t n = nc / s.channels, g = nc % s.channels / share;
      const T* from = x + nc * plane;
      for (int64_t k = 0; k < taps; ++k) {
        T* to = columns + (nc * taps + k) * area;
        for (int64_t oh = 0; oh < s.out_height; ++oh)
          for (int64_t ow = 0; ow < s.out_width; ++ow) {
            const Place<T> p(offset, s, n, g, k / s.kernel_width, k % s.kernel_width, oh, ow);
            T value = 0;
            if (p.inside(s)) {
              const Corners<T> corners(p.y, p.x, s);
              for (int q = 0; q < 4; ++q)
                if (corners.valid[q]) value += corners.weight(q) * from[corners.at[q]];
            }
            to[oh * s.out_width + ow] = mask ? value * mask[p.mask] : value;
          }
      }
    }
  });
}

template <class T>
void deform_columns_grad(const T* dcolumns, const T* x, const T* offset, const T* mask, T* dx,
                         T* doffset, T* dmask, const DeformShape& s) {
  const int64_t area = s.out_height * s.out_width, plane = s.height * s.width;
  const int64_t taps = s.kernel_height * s.kernel_width, share = s.channels / s.groups;
  // A group's channels share offsets and masks, so one thread takes them all.
  parallel_for(s.images * s.groups, 1, [&](int64_t first, int64_t last) {
    for (int64_t ng = first; ng < last; ++ng) {
      const int64_t n = ng / s.groups, g = ng % s.groups;
      for (int64_t k = 0; k < taps; ++k)
        for (int64_t oh = 0; oh < s.out_height; ++oh)
          for (int64_t ow = 0; ow < s.out_width; ++ow) {
            const Place<T> p(offset, s, n, g, k / s.kernel_width, k % s.kernel_width, oh, ow);
            T by_y = 0, by_x = 0, by_mask = 0;
            if (p.inside(s)) {
              const Corners<T> corners(p.y, p.x, s);
              const T factor = mask ? mask[p.mask] : T(1);
              for (int64_t c = g * share; c < (g + 1) * share; ++c) {
                const int64_t nc = n * s.channels + c;
                const T d = dcolumns[(nc * taps + k) * area + oh * s.out_width + ow];
                for (int q = 0; q < 4; ++q) {
                  if (!corners.valid[q]) continue;
                  const T value = x[nc * plane + corners.at[q]];
                  dx[nc * plane + corners.at[q]] += d * factor * corners.weight(q);
                  by_y += d * factor * value * corners.by_y(q);
                  by_x += d * factor * value * corners.by_x(q);
                  by_mask += d * value * corners.weight(q);
                }
              }
            }
            doffset[p.offset_y] = by_y;
            doffset[p.offset_x] = by_x;
            if (dmask) dmask[p.mask] = by_mask;
          }
    }
  });
}

template <class T>
int64_t suppress(const T* boxes, int64_t n, double threshold, double extra, double eta,
                 int64_t* kept) {
  const T more = static_cast<T>(extra);
  T limit = static_cast<T>(threshold);
  auto area = [&](const T* b) { return (b[2] - b[0] + more) * (b[3] - b[1] + more); };
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T* a = boxes + 4 * i;
    bool keep = true;
    for (int64_t k = 0; k < count && keep; ++k) {
      const T* b = boxes + 4 * kept[k];
      const T w = std::max(std::min(a[2], b[2]) - std::max(a[0], b[0]) + more, T(0));
      const T h = std::max(std::min(a[3], b[3]) - std::max(a[1], b[1]) + more, T(0));
      const bool apart = a[0] > b[2] || b[0] > a[2] || a[1] > b[3] || b[1] > a[3];
      const T common = apart ? T(0) : w * h;
      keep = !(common / (area(a) + area(b) - common) > limit);
    }
    if (!keep) continue;
    kept[count++] = i;
    if (eta < 1 && limit > T(0.5)) limit *= static_cast<T>(eta);
  }
  return count;
}

#define ARGOSY_INSTANTIATE(T)                                                                      \
  template void roi_align<T>(const T*, const T*, const int64_t*, T*, const RoiShape&, int64_t,     \
                             bool);                                                                \
  template void roi_align_max<T>(const T*, const T*, const int64_t*, T*, const RoiShape&, int64_t, \
                                 bool);                                                            \
  template void roi_align_grad<T>(const T*, const T*, const int64_t*, T*, const RoiShape&,         \
                                  int64_t, bool);                                                  \
  template void roi_pool<T>(const T*, const T*, const int64_t*, T*, int64_t*, const RoiShape&);    \
  template void roi_pool_grad<T>(const T*, const int64_t*, const int64_t*, T*, const RoiShape&);   \
  template void psroi_pool<T>(const T*, const T*, const int64_t*, T*, const RoiShape&);            \
  template void psroi_pool_grad<T>(const T*, const T*, const int64_t*, T*, const RoiShape&);       \
  template void deform_columns<T>(const T*, const T*, const T*, T*, const DeformShape&);           \
  template void deform_columns_grad<T>(const T*, const T*, const T*, const T*, T*, T*, T*,         \
                                       const DeformShape&);                                        \
  template int64_t suppress<T>(const T*, int64_t, double, double, double, int64_t*);
ARGOSY_INSTANTIATE(float)
ARGOSY_INSTANTIATE(double)
#undef ARGOSY_INSTANTIATE

}  // namespace argosy::cpu
