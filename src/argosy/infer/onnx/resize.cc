#include "argosy/infer/onnx/resize.h"

#include <cmath>

#include "argosy/infer/onnx/common.h"

namespace argosy::infer::onnx {
namespace {

struct Form {
  std::string mode, coordinates, nearest, policy;
  double cubic = -0.75, outside = 0;
  bool exclude_outside = false, antialias = false;
};

// One dimension that changes.
struct Axis {
  int at = 0;
  double scale = 1;  // of places
  int64_t in = kUnknown;
  int64_t out = kUnknown;
  double begin = 0, end = 1;  // of the region, as parts of the dimension
};

// The place in the input of place i of the result.
double source(const Form& f, const Axis& a, double i) {
  const double in = static_cast<double>(a.in), out = static_cast<double>(a.out);
  if (f.coordinates == "align_corners")  // by the size that the scale says, before it is rounded
    return out == 1 ? 0 : i * (in - 1) / (in * a.scale - 1);
  if (f.coordinates == "asymmetric") return i / a.scale;
  if (f.coordinates == "pytorch_half_pixel") return out > 1 ? (i + 0.5) / a.scale - 0.5 : 0;
  if (f.coordinates == "tf_half_pixel_for_nn") return (i + 0.5) / a.scale;
  if (f.coordinates == "tf_crop_and_resize") {
    // Rounded to float32 where ONNX's reference does, which says where ties of "nearest" go.
    const auto begin = static_cast<float>(a.begin);
    const double start = begin * static_cast<float>(in - 1);
    const double part = static_cast<float>(a.end) - begin;
    return start + (out > 1 ? i * part * (in - 1) / (out - 1) : part * (in - 1) / 2);
  }
  if (f.coordinates == "half_pixel_symmetric") {
    const double adjustment = out / (a.scale * in);
    const double center = in / 2;
    return center * (1 - adjustment) + (i + 0.5) / a.scale - 0.5;
  }
  return (i + 0.5) / a.scale - 0.5;
}

int64_t nearest_place(const Form& f, double x) {
  if (f.nearest == "floor") return static_cast<int64_t>(std::floor(x));
  if (f.nearest == "ceil") return static_cast<int64_t>(std::ceil(x));
  if (f.nearest == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + 0.5));
  return static_cast<int64_t>(std::ceil(x - 0.5));
}

double cubic_weight(double a, double x) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// Weights of the input's places in each place of the result: [out, in].
Tensor weights(const Form& f, const Axis& a, DType dtype) {
  Tensor w = Tensor::empty({a.out, a.in}, DType::float64);
  std::fill_n(w.data<double>(), w.numel(), 0.0);
  const bool linear = f.mode == "linear";
  // Wider when it shrinks, so that every place of the input counts.
  const double widen = f.antialias ? std::min(a.scale, 1.0) : 1;
  const double reach = (linear ? 1 : 2) / widen;
  for (int64_t i = 0; i < a.out; ++i) {
    double* row = w.data<double>() + i * a.in;
    const double x = source(f, a, static_cast<double>(i));
    const auto first = static_cast<int64_t>(std::floor(x - reach)),
               last = static_cast<int64_t>(std::ceil(x + reach));
    double sum = 0;
    for (int64_t k = first; k <= last; ++k) {
      const double far = (static_cast<double>(k) - x) * widen;
      const double part = linear ? std::max(0.0, 1 - std::abs(far)) : cubic_weight(f.cubic, far);
      const bool inside = k >= 0 && k < a.in;
      if (!inside && f.exclude_outside) continue;
      sum += part;
      row[std::clamp<int64_t>(k, 0, a.in - 1)] += part;
    }
    for (int64_t k = 0; k < a.in; ++k) row[k] /= sum != 0 ? sum : 1;
  }
  return as(w, dtype);
}

Tensor resize_axis(const Form& f, const Axis& a, const Tensor& x) {
  if (f.mode == "nearest") {
    std::vector<int64_t> places;
    for (int64_t i = 0; i < a.out; ++i)
      places.push_back(
          std::clamp<int64_t>(nearest_place(f, source(f, a, static_cast<double>(i))), 0, a.in - 1));
    return ops::take_slices(x, vector_of(places), a.at);
  }
  std::vector<int64_t> perm = iota(0, x.rank());
  std::swap(perm[static_cast<size_t>(a.at)], perm.back());
  const Tensor wide = kFloating.has(x.dtype()) ? x : as(x, DType::float32);
  const Tensor y = ops::matmul(transposed(wide, perm), weights(f, a, wide.dtype()), false, true);
  return transposed(y, perm);
}

// What lies outside of the input is a value of its own.
Tensor with_outside(const Form& f, const Axis& a, const Tensor& y) {
  Tensor outside = Tensor::empty({a.out}, DType::bool_);
  bool any = false;
  for (int64_t i = 0; i < a.out; ++i) {
    const double x = source(f, a, static_cast<double>(i));
    outside.data<bool>()[i] = x < 0 || x > static_cast<double>(a.in - 1);
    any = any || outside.data<bool>()[i];
  }
  if (!any) return y;
  return ops::where(along(outside, a.at, y.rank()), number(f.outside, y), y);
}

// Our op does the usual forms, on sizes that only a run knows as well. Undefined where it does not.
Tensor by_interpolate(const Form& f, const Tensor& x, const std::vector<double>& scales,
                      const op::IntArray& sizes) {
  const int dims = x.rank() - 2;
  if (dims < 1 || dims > 3 || f.antialias || f.exclude_outside || f.policy != "stretch") return {};
  bool whole = true;  // scales are whole numbers
  for (double s : scales) whole = whole && s >= 1 && s == std::floor(s);
  const bool scaled = !scales.empty();
  if (scaled && (scales[0] != 1 || scales[1] != 1)) return {};
  if (!scaled && (sizes.size() != static_cast<size_t>(x.rank()))) return {};
  if (!scaled)
    for (size_t d = 0; d < 2; ++d)
      if (sizes[d] >= 0 && x.dim(static_cast<int>(d)) >= 0 &&
          sizes[d] != x.dim(static_cast<int>(d)))
        return {};
  // The op rounds the sizes of scales first, and takes the middle where a size is 1.
  for (int d = 2; d < x.rank(); ++d) {
    const auto i = static_cast<size_t>(d);
    const int64_t in = x.dim(d);
    if (scaled && in >= 0 && f.mode != "nearest") {
      const double size = static_cast<double>(in) * scales[i];
      if (size != std::floor(size) || size <= 1) return {};
    }
    if (!scaled && sizes[i] == 1) return {};
  }
  const bool floors = f.coordinates == "asymmetric" && f.nearest == "floor";
  const bool same = whole && scaled && f.nearest.starts_with("round") &&
                    (f.coordinates == "half_pixel" || f.coordinates == "pytorch_half_pixel");
  const bool corners = f.coordinates == "align_corners";
  const bool halves = f.coordinates == "half_pixel";
  std::string mode = "nearest";
  if (f.mode == "nearest") {
    if (!floors && !same) return {};
  } else if (f.mode == "linear") {
    if (!corners && !halves && f.coordinates != "asymmetric") return {};
    mode = dims == 1 ? "linear" : dims == 2 ? "bilinear" : "trilinear";
  } else {
    return {};
  }
  if (!kFloating.has(x.dtype()) && mode != "nearest") return {};
  op::IntArray size;
  std::vector<double> scale;
  if (scaled)
    scale.assign(scales.begin() + 2, scales.end());
  else
    for (size_t d = 2; d < sizes.size(); ++d) push(size, sizes, d);
  return call("interpolate", {x},
              {{"size", size},
               {"scale", scale},
               {"mode", mode},
               {"align_corners", corners},
               {"align_mode", halves ? 0 : 1}});
}

// With one scale for all axes, so that the result is as large as asked for at most, or at least.
void keep_ratio(const Form& f, std::vector<Axis>* axes) {
  if (f.policy == "stretch" || axes->empty()) return;
  double scale = (*axes)[0].scale;
  for (const Axis& a : *axes)
    scale = f.policy == "not_larger" ? std::min(scale, a.scale) : std::max(scale, a.scale);
  for (Axis& a : *axes) {
    a.scale = scale;
    a.out = static_cast<int64_t>(std::floor(scale * static_cast<double>(a.in) + 0.5));
  }
}

Tensor resized(const Node& n, const Form& f, const Tensor& x, const std::vector<int64_t>& which,
               const std::vector<double>& scales, const op::IntArray& given_sizes,
               const std::vector<double>& region) {
  op::IntArray sizes = given_sizes;
  const bool all = which == iota(0, x.rank());
  if (f.mode != "nearest" && f.mode != "linear" && f.mode != "cubic")
    n.unsupported("mode " + f.mode);
  if (all && f.coordinates != "tf_crop_and_resize")
    if (const Tensor y = by_interpolate(f, x, scales, sizes); y.defined()) return y;
  if (!given_sizes.symbols.empty()) sizes = op::IntArray(std::span<const int64_t>(n.known(3)));
  std::vector<Axis> axes;
  for (size_t i = 0; i < which.size(); ++i) {
    Axis a;
    a.at = n.axis(which[i], x.rank());
    a.in = x.dim(a.at);
    if (a.in < 0) n.session.need_shapes(n);
    n.expect(scales.empty() ? i < sizes.size() : i < scales.size(),
             "one number for each axis is expected");
    if (scales.empty()) {
      a.out = sizes[i];
      a.scale = static_cast<double>(a.out) / static_cast<double>(a.in);
    } else {
      a.scale = scales[i];
      a.out = static_cast<int64_t>(std::floor(static_cast<double>(a.in) * a.scale));
    }
    if (!region.empty()) {
      n.expect(region.size() == 2 * which.size(),
               "two numbers of the region for each axis are expected");
      a.begin = region[i];
      a.end = region[which.size() + i];
      if (f.coordinates == "tf_crop_and_resize" && !scales.empty())
        a.out = static_cast<int64_t>(
            std::floor(static_cast<double>(a.in) * (a.end - a.begin) * a.scale));
    }
    n.expect(a.out > 0 && a.in > 0 && a.out <= kMaxFolded / a.in, "a size of the result cannot be");
    axes.push_back(a);
  }
  if (scales.empty()) keep_ratio(f, &axes);
  Tensor y = x;
  for (const Axis& a : axes)
    if (a.out != a.in || a.scale != 1 || f.coordinates == "tf_crop_and_resize")
      y = resize_axis(f, a, y);
  if (f.coordinates == "tf_crop_and_resize")
    for (const Axis& a : axes) y = with_outside(f, a, y);
  return as(y, x.dtype());
}

std::vector<double> reals_of(const Node& n, size_t i) {
  const Tensor t = op::contiguous(as(n.known_tensor(i), DType::float32));
  return {t.data<float>(), t.data<float>() + t.numel()};
}

}  // namespace

Items resize(const Node& n) {
  const Tensor& x = n.in(0);
  Form f;
  f.mode = n.text("mode", "nearest");
  const bool first = n.opset < 11;  // scales are the second input, places are not said
  f.coordinates = n.text("coordinate_transformation_mode", first ? "asymmetric" : "half_pixel");
  f.nearest = n.text("nearest_mode", first ? "floor" : "round_prefer_floor");
  f.policy = n.text("keep_aspect_ratio_policy", "stretch");
  f.cubic = n.real("cubic_coeff_a", -0.75);
  f.outside = n.real("extrapolation_value", 0);
  f.exclude_outside = n.flag("exclude_outside");
  f.antialias = n.flag("antialias");
  const std::vector<int64_t> axes = n.integers("axes", iota(0, x.rank()));
  const size_t at = first ? 1 : 2;
  std::vector<double> scales, region;
  op::IntArray sizes;
  if (n.has(at) && n.in(at).numel() != 0) scales = reals_of(n, at);
  if (scales.empty()) sizes = n.sizes(3);
  if (f.coordinates == "tf_crop_and_resize" && n.has(1)) region = reals_of(n, 1);
  return {resized(n, f, x, axes, scales, sizes, region)};
}

Items upsample(const Node& n) {
  const Tensor& x = n.in(0);
  Form f;
  f.mode = n.text("mode", "nearest");
  f.coordinates = "asymmetric";
  f.nearest = "floor";
  f.policy = "stretch";
  const std::vector<double> scales = n.opset < 9 ? n.reals("scales") : reals_of(n, 1);
  return {resized(n, f, x, iota(0, x.rank()), scales, {}, {})};
}

}  // namespace argosy::infer::onnx
