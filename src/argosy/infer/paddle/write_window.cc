#include <algorithm>

#include "argosy/infer/paddle/emit.h"

// Layers that look at a window of an image: convolutions, pools, and images of other sizes.
// Paddle's have two or three dimensions: those of one get another of size 1.
namespace argosy::infer::paddle {
namespace {

// An image of two dimensions at least, and how it is written.
struct Image {
  Written x;
  bool flat;  // it had one dimension
  bool last;  // channels last
  int dims;   // 2 or 3
  const char* layout() const {
    return dims == 2 ? (last ? "NHWC" : "NCHW") : (last ? "NDHWC" : "NCDHW");
  }
  int64_t added() const { return last ? 1 : 2; }  // the axis that one of one dimension got
};

Image image_of(Emit& e, bool channels_last) {
  const int dims = e.rank() - 2;
  Image image{e.in(0), dims == 1, channels_last, std::max(dims, 2)};
  if (image.flat) image.x = e.to.unsqueeze(image.x, image.added());
  return image;
}

// One number for the dimension that was added, before those of the others.
std::vector<int64_t> with_added(const Image& image, std::vector<int64_t> v, int64_t added) {
  if (image.flat) v.insert(v.begin(), added);
  return v;
}
std::vector<int64_t> pads_of(const Image& image, std::vector<int64_t> pairs) {
  if (image.flat) pairs.insert(pairs.begin(), {0, 0});
  return pairs;
}

// The shape of the first result as `image` has it.
Shape result_shape(Emit& e, const Image& image) {
  Shape shape;
  for (int d = 0; d < e.result().shape.rank(); ++d) {
    if (image.flat && d == image.added()) shape.push_back(1);
    shape.push_back(e.result().shape[d]);
  }
  return shape;
}
void give_image(Emit& e, const Image& image, const Written& y) {
  e.give(image.flat ? e.to.squeeze(y, image.added()) : y);
}

Written with_bias(Emit& e, const Image& image, const Written& y) {
  if (!e.has(2)) return y;
  Written bias = e.in(2);
  if (!image.last) {
    std::vector<int64_t> sizes(static_cast<size_t>(image.dims + 2), 1);
    sizes[1] = -1;
    Shape shape;
    for (const int64_t s : sizes) shape.push_back(s < 0 ? bias.shape[0] : 1);
    bias = e.to.reshape(bias, sizes, shape);
  }
  return e.to.node("add", {y, bias}, {}, y.dtype, y.shape);
}

Written filter_of(Emit& e, const Image& image) {
  return image.flat ? e.to.unsqueeze(e.in(1), 2) : e.in(1);
}

void conv(Emit& e) {
  const Image image = image_of(e, e.flag("cl"));
  const std::string& how = e.text("pad_alg");
  std::vector<int64_t> pads = pads_of(image, e.integers("padding"));
  if (how != "EXPLICIT" || pads.empty()) pads.assign(static_cast<size_t>(image.dims), 0);
  const Written y =
      e.to.node(image.dims == 2 ? "conv2d" : "conv3d", {image.x, filter_of(e, image)},
                {i32s("strides", with_added(image, e.integers("stride"), 1)),
                 i32s("paddings", pads), text("padding_algorithm", how),
                 i32s("dilations", with_added(image, e.integers("dilation"), 1)),
                 i32("groups", e.integer("groups")), text("data_format", image.layout())},
                e.result().dtype, result_shape(e, image));
  give_image(e, image, with_bias(e, image, y));
}

void conv_transpose(Emit& e) {
  const Image image = image_of(e, e.flag("cl"));
  const std::string& how = e.text("pad_alg");
  std::vector<int64_t> pads = pads_of(image, e.integers("padding"));
  if (how != "EXPLICIT" || pads.empty()) pads.assign(static_cast<size_t>(image.dims), 0);
  std::vector<int64_t> more = e.integers("output_padding");
  if (!more.empty()) more = with_added(image, more, 0);
  const std::vector<int64_t> given = e.known("output_size");
  const std::vector<int64_t> size = given.empty() ? given : with_added(image, given, 1);
  std::vector<Written> in{image.x, filter_of(e, image)};
  Sets sets{i32s("strides", with_added(image, e.integers("stride"), 1)),
            i32s("paddings", pads),
            i32s("output_padding", more),
            text("padding_algorithm", how),
            i32("groups", e.integer("groups")),
            i32s("dilations", with_added(image, e.integers("dilation"), 1)),
            text("data_format", image.layout())};
  if (image.dims == 2)
    in.push_back(e.to.integers(size));
  else
    sets.push_back(i32s("output_size", size));
  const Written y = e.to.node(image.dims == 2 ? "conv2d_transpose" : "conv3d_transpose", in, sets,
                              e.result().dtype, result_shape(e, image));
  give_image(e, image, with_bias(e, image, y));
}

struct Pool {
  const char* type;
  std::vector<int64_t> kernel, stride, pads;
  std::string how = "EXPLICIT";
  bool ceil = false, exclusive = true, adaptive = false;
};
Written pool_of(Emit& e, const Image& image, const Pool& p) {
  std::vector<Written> in{image.x};
  Sets sets;
  if (image.dims == 2)
    in.push_back(e.to.integers(p.kernel));
  else
    sets.push_back(i64s("kernel_size", p.kernel));
  const Sets others{i64s("strides", p.stride),           i64s("paddings", p.pads),
                    boolean("ceil_mode", p.ceil),        boolean("exclusive", p.exclusive),
                    text("data_format", image.layout()), text("pooling_type", p.type),
                    boolean("global_pooling", false),    boolean("adaptive", p.adaptive),
                    text("padding_algorithm", p.how)};
  sets.insert(sets.end(), others.begin(), others.end());
  return e.to.node(image.dims == 2 ? "pool2d" : "pool3d", in, sets, e.result().dtype,
                   result_shape(e, image));
}

Pool window_of(Emit& e, const Image& image, const char* type) {
  Pool p{type,
         with_added(image, e.integers("kernel"), 1),
         with_added(image,
                    e.integers("stride").empty() ? e.integers("kernel") : e.integers("stride"), 1),
         pads_of(image, e.integers("padding")),
         e.text("pad_alg"),
         e.flag("ceil_mode")};
  if (p.how != "EXPLICIT" || p.pads.empty()) p.pads.assign(static_cast<size_t>(image.dims), 0);
  return p;
}

void max_pool(Emit& e) {
  const Image image = image_of(e, e.flag("cl"));
  give_image(e, image, pool_of(e, image, window_of(e, image, "max")));
}

void average_pool(Emit& e) {
  const Image image = image_of(e, e.flag("cl"));
  Pool p = window_of(e, image, "avg");
  const double divisor = e.real("divisor_override");
  p.exclusive = e.flag("exclusive") && divisor == 0;
  if (divisor > 0 && p.ceil) e.unsupported("divisor_override with ceil_mode");
  Written y = pool_of(e, image, p);
  double count = 1;
  for (const int64_t k : p.kernel) count *= static_cast<double>(k);
  if (divisor > 0) y = e.to.scale(y, count / divisor);
  give_image(e, image, y);
}

std::vector<int64_t> adaptive_sizes(Emit& e, const Image& image) {
  std::vector<int64_t> size = e.known("output_size");
  const auto dims = static_cast<size_t>(e.rank() - 2);
  if (size.size() == 1) size.assign(dims, size[0]);
  for (size_t d = 0; d < dims; ++d) {
    if (size[d] == -1) size[d] = e.shape()[static_cast<int>(d) + (image.last ? 1 : 2)];
    if (size[d] < 0) e.unsupported("the size of an input that only a run knows");
  }
  return with_added(image, size, 1);
}

void adaptive_average(Emit& e) {
  const Image image = image_of(e, e.flag("cl"));
  Pool p{"avg", adaptive_sizes(e, image), {}, {}};
  p.stride.assign(static_cast<size_t>(image.dims), 1);
  p.pads.assign(static_cast<size_t>(image.dims), 0);
  p.adaptive = true;
  give_image(e, image, pool_of(e, image, p));
}

// Paddle's pool2d divides an image in another way for the maximum.
void adaptive_max(Emit& e) {
  if (e.flag("cl")) e.unsupported("channels last");
  const Image image = image_of(e, false);
  const std::vector<int64_t> ones(static_cast<size_t>(image.dims), 1),
      none(static_cast<size_t>(image.dims), 0);
  const Shape shape = result_shape(e, image);
  const std::vector<Written> made = e.to.nodes(
      image.dims == 2 ? "max_pool2d_with_index" : "max_pool3d_with_index", {image.x},
      {i32s("kernel_size", adaptive_sizes(e, image)), i32s("strides", ones), i32s("paddings", none),
       boolean("global_pooling", false), boolean("adaptive", true), boolean("ceil_mode", false)},
      {{0, e.result().dtype, shape}, {0, DType::int32, shape}});
  give_image(e, image, made[0]);
}

void interpolate(Emit& e) {
  const std::string& mode = e.text("mode");
  const int dims = e.rank() - 2;
  if (e.flag("antialias")) e.unsupported("antialias");
  const char* op = mode == "nearest"   ? "nearest_interp"
                   : mode == "bicubic" ? "bicubic_interp"
                   : dims == 1         ? "linear_interp"
                   : dims == 2         ? "bilinear_interp"
                                       : "trilinear_interp";
  int64_t out[3] = {-1, -1, -1};  // depth, height, width
  std::vector<double> scale;
  Written size;
  const auto& given = e.attr<op::IntArray>("size");
  if (given.none || given.size() == 0) {
    scale = e.attr<std::vector<double>>("scale");
    if (scale.size() == 1) scale.assign(static_cast<size_t>(dims), scale[0]);
  } else if (e.is_known("size")) {
    std::vector<int64_t> known = e.known("size");
    if (known.size() == 1) known.assign(static_cast<size_t>(dims), known[0]);
    std::copy(known.begin(), known.end(), out + 3 - dims);
  } else {
    size = e.to.cast(e.sizes("size"), DType::int32);
  }
  e.give(op, {e.in(0), size, {}, {}},
         {text("data_format", e.flag("cl") ? "NHWC" : "NCHW"), i32("out_d", out[0]),
          i32("out_h", out[1]), i32("out_w", out[2]), f64s("scale", scale),
          text("interp_method", mode == "linear" && dims == 2   ? "bilinear"
                                : mode == "linear" && dims == 3 ? "trilinear"
                                                                : mode),
          boolean("align_corners", e.flag("align_corners")),
          i32("align_mode", e.integer("align_mode"))});
}

void unfold(Emit& e) {
  e.give("unfold", {e.in(0)},
         {i32s("kernel_sizes", e.integers("kernel")), i32s("strides", e.integers("stride")),
          i32s("paddings", e.integers("padding")), i32s("dilations", e.integers("dilation"))});
}

constexpr WriteRow kRows[] = {
    {"adaptive_avg_pool1d", adaptive_average},
    {"adaptive_avg_pool2d", adaptive_average},
    {"adaptive_avg_pool3d", adaptive_average},
    {"adaptive_max_pool1d", adaptive_max},
    {"adaptive_max_pool2d", adaptive_max},
    {"adaptive_max_pool3d", adaptive_max},
    {"avg_pool1d", average_pool},
    {"avg_pool2d", average_pool},
    {"avg_pool3d", average_pool},
    {"conv1d", conv},
    {"conv1d_transpose", conv_transpose},
    {"conv2d", conv},
    {"conv2d_transpose", conv_transpose},
    {"conv3d", conv},
    {"conv3d_transpose", conv_transpose},
    {"interpolate", interpolate},
    {"max_pool1d", max_pool},
    {"max_pool2d", max_pool},
    {"max_pool3d", max_pool},
    {"unfold", unfold},
};

}  // namespace

std::span<const WriteRow> write_window_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle
