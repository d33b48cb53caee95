#include "argosy/infer/paddle/common.h"

// Resizing, padding, rearranging of images.
namespace argosy::infer::paddle {
namespace {

std::string mode_of(const Node& n) {
  const std::string method = n.text("interp_method", "");
  if (method == "linear" || method == "bilinear" || method == "trilinear" || method == "nearest" ||
      method == "bicubic")
    return method;
  const std::string name = n.op.type;
  return name.substr(0, name.find('_'));
}

// Which is used: sizes in a list of tensors, in a tensor, factors, sizes in attributes.
void interpolate(const Node& n) {
  const Tensor x = n.in("X");
  const int dims = x.rank() - 2;
  op::IntArray size = n.numbers("", "OutSize", "SizeTensor");
  std::vector<double> scale;
  if (size.size() == 0) {
    if (n.has("Scale")) {
      const Tensor t = n.in("Scale");
      const Tensor known = t.symbolic() ? n.session.builder().known(t) : t;
      if (!known.defined()) n.need_value(t, "factors that only a run knows");
      const Tensor wide = op::contiguous(as(known, DType::float64));
      scale.assign(wide.data<double>(), wide.data<double>() + wide.numel());
    } else {
      scale = n.reals("scale");
    }
    if (scale.size() == 1) scale.assign(static_cast<size_t>(dims), scale.front());
    const bool scales =
        !scale.empty() && std::ranges::all_of(scale, [](double s) { return s > 0; });
    if (!scales) {
      scale.clear();
      const char* const names[] = {"out_d", "out_h", "out_w"};
      for (int d = 3 - dims; d < 3; ++d) size.values.push_back(n.integer(names[d], -1));
    }
  }
  n.out("Out", call("interpolate", {x},
                    {{"size", size},
                     {"scale", scale},
                     {"mode", mode_of(n)},
                     {"align_corners", n.flag("align_corners", true)},
                     {"align_mode", n.integer("align_mode", 1)},
                     {"cl", channels_last(n)},
                     {"antialias", n.op.type == "interp_antialias"}}));
}

// A constant that is padded may grow to a size that the file alone decides.
void check_padded(const Node& n, const Tensor& x, const op::IntArray& paddings) {
  if (x.symbolic()) return;
  op::IntArray size;
  for (size_t d = 0; d < static_cast<size_t>(x.rank()) && 2 * d + 1 < paddings.size(); ++d) {
    int64_t sum = x.dim(static_cast<int>(d));
    for (const size_t i : {2 * d, 2 * d + 1})
      if (__builtin_add_overflow(sum, paddings[i], &sum)) n.fail("paddings are impossible");
    size.values.push_back(sum);
  }
  check_folded(n, size);
}

// (before, after) of each dimension, first to last.
void pad(const Node& n) {
  const Tensor x = n.in("X");
  const op::IntArray paddings = n.numbers("paddings", "Paddings");
  check_padded(n, x, paddings);
  n.out("Out", call("pad", {x},
                    {{"paddings", paddings}, {"value", n.scalar("pad_value", 0, "PadValue")}}));
}

// Of the spatial dimensions alone; those of pad3d run from the last to the first.
void pad_spatial(const Node& n, bool from_last) {
  const Tensor x = n.in("X");
  const op::IntArray given = n.numbers("paddings", "Paddings");
  const size_t dims = given.size() / 2;
  n.expect(given.size() % 2 == 0 && static_cast<int>(dims) + 2 == x.rank(),
           "paddings are of another number of dimensions");
  op::IntArray all;
  const auto none = [&](int count) {
    for (int i = 0; i < count; ++i) all.values.push_back(0);
  };
  none(channels_last(n) ? 2 : 4);
  for (size_t d = 0; d < dims; ++d) {
    const size_t from = 2 * (from_last ? dims - 1 - d : d);
    push(all, given, from);
    push(all, given, from + 1);
  }
  if (channels_last(n)) none(2);
  check_padded(n, x, all);
  const std::string mode = n.text("mode", "constant");
  n.out("Out", call("pad", {x},
                    {{"paddings", all},
                     {"mode", mode == "edge" ? "replicate" : mode},
                     {"value", op::Scalar(n.real("pad_value", n.real("value", 0)))}}));
}
void pad2d(const Node& n) {
  pad_spatial(n, false);
}
void pad3d(const Node& n) {
  pad_spatial(n, true);
}

void pixel_shuffle(const Node& n) {
  n.out("Out", call("pixel_shuffle", {n.in("X")},
                    {{"upscale_factor", n.integer("upscale_factor", 1)},
                     {"data_format", n.text("data_format", "NCHW")}}));
}

void pixel_unshuffle(const Node& n) {
  n.out("Out", call("pixel_unshuffle", {n.in("X")},
                    {{"downscale_factor", n.integer("downscale_factor", 1)},
                     {"data_format", n.text("data_format", "NCHW")}}));
}

void fold(const Node& n) {
  n.out("Y", call("fold", {n.in("X")},
                  {{"output_size", n.integers("output_sizes")},
                   {"kernel", n.integers("kernel_sizes")},
                   {"stride", n.integers("strides")},
                   {"padding", n.integers("paddings")},
                   {"dilation", n.integers("dilations")}}));
}

void shuffle_channel(const Node& n) {
  n.out("Out", call("channel_shuffle", {n.in("X")},
                    {{"groups", n.integer("group", n.integer("groups", 1))},
                     {"data_format", n.text("data_format", "NCHW")}}));
}

void temporal_shift(const Node& n) {
  n.out("Out", call("temporal_shift", {n.in("X")},
                    {{"seg_num", n.integer("seg_num", 1)},
                     {"shift_ratio", n.real("shift_ratio", 0.25)},
                     {"data_format", n.text("data_format", "NCHW")}}));
}

void unfold(const Node& n) {
  n.out("Y", call("unfold", {n.in("X")},
                  {{"kernel", n.integers("kernel_sizes")},
                   {"stride", n.integers("strides")},
                   {"padding", n.integers("paddings")},
                   {"dilation", n.integers("dilations")}}));
}

void grid_sampler(const Node& n) {
  n.out("Output", call("grid_sample", {n.in("X"), n.in("Grid")},
                       {{"mode", n.text("mode", "bilinear")},
                        {"padding_mode", n.text("padding_mode", "zeros")},
                        {"align_corners", n.flag("align_corners", true)}}));
}

void affine_grid(const Node& n) {
  n.out("Output", call("affine_grid", {n.in("Theta")},
                       {{"out_shape", n.numbers("output_shape", "OutputShape")},
                        {"align_corners", n.flag("align_corners", true)}}));
}

constexpr Row kRows[] = {
    {"bilinear_interp", interpolate},
    {"bilinear_interp_v2", interpolate},
    {"nearest_interp", interpolate},
    {"nearest_interp_v2", interpolate},
    {"bicubic_interp", interpolate},
    {"bicubic_interp_v2", interpolate},
    {"trilinear_interp", interpolate},
    {"trilinear_interp_v2", interpolate},
    {"linear_interp", interpolate},
    {"linear_interp_v2", interpolate},
    {"interp_antialias", interpolate},
    {"pad", pad},
    {"pad2d", pad2d},
    {"pad3d", pad3d},
    {"pixel_shuffle", pixel_shuffle},
    {"pixel_unshuffle", pixel_unshuffle},
    {"channel_shuffle", shuffle_channel},
    {"fold", fold},
    {"shuffle_channel", shuffle_channel},
    {"temporal_shift", temporal_shift},
    {"unfold", unfold},
    {"grid_sampler", grid_sampler},
    {"affine_grid", affine_grid},
};

}  // namespace

std::span<const Row> vision_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle
