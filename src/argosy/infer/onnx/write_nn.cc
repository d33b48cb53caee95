#include <cmath>
#include <limits>

#include "argosy/infer/onnx/emit.h"
#include "argosy/op/dispatch.h"

// Layers: products, convolutions, pools, norms, activations, recurrent layers.
namespace argosy::infer::onnx {
namespace {

// --- activations ---

void leaky_relu(Emit& e) {
  e.give(e.node("LeakyRelu", {e.in(0)}, {{"alpha", e.real("negative_slope")}}));
}
template <ForeignName op>
void with_alpha(Emit& e) {
  e.give(e.node(op.text, {e.in(0)}, {{"alpha", e.real("alpha")}}));
}
void selu(Emit& e) {
  e.give(e.node("Selu", {e.in(0)}, {{"alpha", e.real("alpha")}, {"gamma", e.real("scale")}}));
}
void hard_sigmoid(Emit& e) {
  e.give(
      e.node("HardSigmoid", {e.in(0)}, {{"alpha", e.real("slope")}, {"beta", e.real("offset")}}));
}
void hard_tanh(Emit& e) {
  e.give(e.node("Clip", {e.in(0), e.number(e.real("min")), e.number(e.real("max"))}));
}
void relu6(Emit& e) {
  e.give(e.node("Clip", {e.in(0), e.number(0), e.number(6)}));
}
void silu(Emit& e) {
  e.give(e.node("Mul", {e.in(0), e.node("Sigmoid", {e.in(0)})}));
}
void mish(Emit& e) {
  e.give(e.node("Mul", {e.in(0), e.node("Tanh", {e.node("Softplus", {e.in(0)})})}));
}
void log_sigmoid(Emit& e) {
  e.give(e.node("Neg", {e.node("Softplus", {e.node("Neg", {e.in(0)})})}));
}
void softplus(Emit& e) {
  const double beta = e.real("beta"), threshold = e.real("threshold");
  const std::string x = beta == 1 ? e.in(0) : e.node("Mul", {e.in(0), e.number(beta)});
  std::string y = e.node("Softplus", {x});
  if (beta != 1) y = e.node("Div", {y, e.number(beta)});
  // Beyond the threshold x itself, which from 18 on is what is there to the last bit of float32.
  if (threshold < 18 || (e.dtype() == DType::float64 && threshold < 40))
    y = e.node("Where", {e.node("Greater", {x, e.number(threshold)}), e.in(0), y});
  e.give(y);
}
void gelu(Emit& e) {
  const std::string x = e.in(0);
  std::string inner;
  if (e.flag("approximate")) {
    const std::string cube = e.node("Mul", {e.node("Mul", {x, x}), x});
    const std::string sum = e.node("Add", {x, e.node("Mul", {cube, e.number(0.044715)})});
    inner = e.node("Tanh", {e.node("Mul", {sum, e.number(std::sqrt(2 / M_PI))})});
  } else {
    inner = e.node("Erf", {e.node("Mul", {x, e.number(std::sqrt(0.5))})});
  }
  const std::string half = e.node("Mul", {x, e.number(0.5)});
  e.give(e.node("Mul", {half, e.node("Add", {inner, e.number(1)})}));
}
template <ForeignName op>
void along_axis(Emit& e) {
  const DType dtype = e.result().dtype;
  const std::string x = e.dtype() == dtype ? e.in(0) : e.to.cast(e.in(0), dtype);
  if (e.rank() == 0)
    return e.give(std::string_view(op.text) == "Softmax" ? e.to.number(1, dtype)
                                                         : e.to.number(0, dtype));
  e.give(e.node(op.text, {x}, {{"axis", e.integer("axis")}}));
}
void prelu(Emit& e) {
  std::string slope = e.in(1);
  const bool one = e.shape(1).numel() == 1;
  const bool first = e.text("data_format").substr(0, 2) == "NC";
  if (one) {
    slope = e.reshape(slope, e.to.integers({1}));
  } else if (first) {
    // One number for each channel.
    std::vector<int64_t> sizes(static_cast<size_t>(std::max(e.rank() - 1, 1)), 1);
    sizes[0] = -1;
    slope = e.reshape(slope, e.to.integers(std::span<const int64_t>(sizes)));
  }
  e.give(e.node("PRelu", {e.in(0), slope}));
}

// --- products ---

std::string flipped(Emit& e, size_t i) {
  std::vector<int64_t> perm;
  for (int d = 0; d < e.rank(i); ++d) perm.push_back(d);
  if (perm.size() > 1) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return e.transposed(e.in(i), perm);
}

void matmul(Emit& e) {
  const std::string x = e.flag("transpose_x") && e.rank(0) > 1 ? flipped(e, 0) : e.in(0);
  const std::string y = e.flag("transpose_y") && e.rank(1) > 1 ? flipped(e, 1) : e.in(1);
  e.give(e.node("MatMul", {x, y}));
}

void linear(Emit& e) {
  if (e.rank() == 2 && e.has(2)) return e.give(e.node("Gemm", {e.in(0), e.in(1), e.in(2)}));
  const std::string y = e.node("MatMul", {e.in(0), e.in(1)});
  e.give(e.has(2) ? e.node("Add", {y, e.in(2)}) : y);
}

void embedding(Emit& e) {
  const std::string rows = e.node("Gather", {e.in(1), e.in(0)});
  const int64_t padding = e.integer("padding_idx");
  if (padding < 0) return e.give(rows);
  const std::string is_padding =
      e.node("Equal", {e.in(0), e.to.number(static_cast<double>(padding), e.dtype(0))});
  e.give(e.node("Where", {e.unsqueeze(is_padding, {e.rank(0)}), e.to.number(0, e.dtype(1)), rows}));
}

// What comes after the row of the last two dimensions becomes a value.
void fill_future(Emit& e) {
  const std::string form = e.node("Shape", {e.in(0)});
  auto places = [&](int d) {
    const std::string size = e.node("Gather", {form, e.to.number(e.rank() + d, DType::int64)});
    return e.node("Range", {e.to.number(0, DType::int64), size, e.to.number(1, DType::int64)});
  };
  const std::string seen = e.node("LessOrEqual", {places(-1), e.unsqueeze(places(-2), {1})});
  e.give(e.node("Where", {seen, e.in(0), e.number(e.real("value"))}));
}

// --- windows ---

std::vector<int64_t> begins_and_ends(const std::vector<int64_t>& pairs) {
  std::vector<int64_t> pads;
  for (size_t side = 0; side < 2; ++side)
    for (size_t d = 0; 2 * d + side < pairs.size(); ++d) pads.push_back(pairs[2 * d + side]);
  return pads;
}

// x with channels first, and back.
std::string channels_first(Emit& e, size_t i = 0) {
  if (!e.flag("cl")) return e.in(i);
  std::vector<int64_t> perm{0, e.rank(i) - 1};
  for (int d = 1; d < e.rank(i) - 1; ++d) perm.push_back(d);
  return e.transposed(e.in(i), perm);
}
void give_back(Emit& e, std::string y) {
  if (e.flag("cl")) {
    std::vector<int64_t> perm{0};
    for (int d = 2; d < e.rank(); ++d) perm.push_back(d);
    perm.push_back(1);
    y = e.transposed(y, perm);
  }
  e.give(y);
}

std::vector<int64_t> kernel_of(Emit& e) {
  std::vector<int64_t> kernel;
  for (int d = 2; d < e.rank(1); ++d) kernel.push_back(e.shape(1)[d]);
  return kernel;
}

void conv(Emit& e) {
  const std::string& how = e.text("pad_alg");
  std::vector<int64_t> dilation = e.integers("dilation");
  const std::vector<int64_t> kernel = kernel_of(e);
  const char* pad = how == "SAME" ? "SAME_UPPER" : how == "VALID" ? "VALID" : "NOTSET";
  if (how == "SAME") dilation.assign(dilation.size(), 1);
  const std::vector<int64_t> pads = how == "EXPLICIT" ? begins_and_ends(e.integers("padding"))
                                                      : std::vector<int64_t>(2 * kernel.size(), 0);
  if (how == "EXPLICIT")
    return give_back(e, e.to.node("Conv", {channels_first(e), e.in(1), e.in(2)},
                                  {{"kernel_shape", kernel},
                                   {"strides", e.integers("stride")},
                                   {"dilations", dilation},
                                   {"group", e.integer("groups")},
                                   {"pads", pads}}));
  give_back(e, e.to.node("Conv", {channels_first(e), e.in(1), e.in(2)},
                         {{"kernel_shape", kernel},
                          {"strides", e.integers("stride")},
                          {"dilations", dilation},
                          {"group", e.integer("groups")},
                          {"auto_pad", pad}}));
}

void conv_transpose(Emit& e) {
  if (e.text("pad_alg") == "SAME") e.unsupported("padding SAME of a transposed convolution");
  const std::vector<int64_t> kernel = kernel_of(e);
  std::vector<int64_t> pads(2 * kernel.size(), 0), more = e.integers("output_padding");
  if (e.text("pad_alg") == "EXPLICIT") pads = begins_and_ends(e.integers("padding"));
  more.resize(kernel.size());
  if (e.attr<op::IntArray>("output_size").size()) {
    // As the padding that gives this size.
    const std::vector<int64_t> wanted = e.known("output_size");
    for (size_t d = 0; d < kernel.size(); ++d) {
      const int64_t in = e.shape()[static_cast<int>(d) + (e.flag("cl") ? 1 : 2)];
      if (in < 0) e.unsupported("output_size of an input whose size only a run knows");
      more[d] =
          wanted[d] - ((in - 1) * e.integers("stride")[d] - pads[d] - pads[kernel.size() + d] +
                       e.integers("dilation")[d] * (kernel[d] - 1) + 1);
    }
  }
  give_back(e, e.to.node("ConvTranspose", {channels_first(e), e.in(1), e.in(2)},
                         {{"kernel_shape", kernel},
                          {"strides", e.integers("stride")},
                          {"dilations", e.integers("dilation")},
                          {"group", e.integer("groups")},
                          {"pads", pads},
                          {"output_padding", more}}));
}

// Strides that are not given are the kernel's.
std::vector<int64_t> strides_of(Emit& e) {
  return e.integers("stride").empty() ? e.integers("kernel") : e.integers("stride");
}

// Of a pool, padding as numbers.
std::vector<int64_t> pool_pads(Emit& e) {
  const size_t dims = e.integers("kernel").size();
  const std::string& how = e.text("pad_alg");
  if (how == "EXPLICIT") return begins_and_ends(e.integers("padding"));
  std::vector<int64_t> pads(2 * dims, 0);
  for (size_t d = 0; d < dims && how == "SAME"; ++d) {
    const int64_t in = e.shape()[static_cast<int>(d) + (e.flag("cl") ? 1 : 2)];
    if (in < 0) e.unsupported("padding SAME of a pool over sizes that only a run knows");
    const int64_t stride = strides_of(e)[d];
    const int64_t sum = std::max<int64_t>(
        0, ((in + stride - 1) / stride - 1) * stride + e.integers("kernel")[d] - in);
    pads[d] = sum / 2;
    pads[dims + d] = sum - sum / 2;
  }
  return pads;
}

void max_pool(Emit& e) {
  give_back(e, e.to.node("MaxPool", {channels_first(e)},
                         {{"kernel_shape", e.integers("kernel")},
                          {"strides", strides_of(e)},
                          {"pads", pool_pads(e)},
                          {"ceil_mode", e.flag("ceil_mode")}}));
}

void average_pool(Emit& e) {
  const double divisor = e.real("divisor_override");
  const std::vector<int64_t> pads = pool_pads(e);
  for (size_t d = 0; d < pads.size() / 2; ++d)
    if (!e.flag("exclusive") && divisor <= 0 && pads[d + pads.size() / 2] > pads[d])
      e.unsupported("more padding behind than before with exclusive=False");
  std::string y = e.to.node("AveragePool", {channels_first(e)},
                            {{"kernel_shape", e.integers("kernel")},
                             {"strides", strides_of(e)},
                             {"pads", pads},
                             {"ceil_mode", e.flag("ceil_mode")},
                             {"count_include_pad", !e.flag("exclusive") || divisor > 0}});
  if (divisor > 0) {
    if (e.flag("ceil_mode")) e.unsupported("divisor_override with ceil_mode");
    double count = 1;
    for (int64_t k : e.integers("kernel")) count *= static_cast<double>(k);
    y = e.node("Mul", {y, e.number(count / divisor)});
  }
  give_back(e, y);
}

// Sums of powers are means times how many there are.
void lp_pool(Emit& e) {
  if (e.flag("ceil_mode")) e.unsupported("ceil_mode");
  double count = 1;
  for (int64_t k : e.integers("kernel")) count *= static_cast<double>(k);
  const double p = e.real("norm_type");
  const std::string powers = e.node("Pow", {channels_first(e), e.number(p)});
  const std::string mean = e.node("AveragePool", {powers},
                                  {{"kernel_shape", e.integers("kernel")},
                                   {"strides", strides_of(e)},
                                   {"pads", pool_pads(e)},
                                   {"count_include_pad", true}});
  const std::string sum = e.node("Mul", {mean, e.number(count)});
  give_back(e, e.node("Pow", {sum, e.number(1 / p)}));
}

// The sum of what is moved by each place of the window.
void channel_window_sum(Emit& e) {
  const int64_t before = e.integer("before"), after = e.integer("after");
  std::vector<int64_t> pads(static_cast<size_t>(2 * e.rank()), 0);
  const auto axis = static_cast<size_t>(e.integer("axis"));
  pads[axis] = before;
  pads[axis + static_cast<size_t>(e.rank())] = after;
  const std::string wide = e.node("Pad", {e.in(0), e.to.integers(pads), e.number(0)});
  std::vector<std::string> parts;
  for (int64_t i = 0; i <= before + after; ++i) {
    const int64_t left = before + after - i;
    const int64_t end = left ? -left : std::numeric_limits<int64_t>::max();
    parts.push_back(e.node("Slice", {wide, e.to.integers({i}), e.to.integers({end}),
                                     e.to.integers({e.integer("axis")})}));
  }
  e.give(e.to.node("Sum", parts));
}

// Means of parts of an axis as a product: [out, in].
std::string averaging(Emit& e, int64_t in, int64_t out) {
  Tensor w = Tensor::empty({out, in}, DType::float32);
  for (int64_t i = 0; i < out; ++i) {
    const int64_t begin = i * in / out, end = ((i + 1) * in + out - 1) / out;
    for (int64_t k = 0; k < in; ++k)
      w.data<float>()[i * in + k] =
          k >= begin && k < end ? 1.0f / static_cast<float>(end - begin) : 0.0f;
  }
  const std::string name = e.to.constant(w);
  return e.dtype() == DType::float32 ? name : e.to.cast(name, e.dtype());
}

// Sizes that are asked for, those of the input where it is -1.
std::vector<int64_t> adaptive_sizes(Emit& e) {
  std::vector<int64_t> size = e.known("output_size");
  const size_t dims = static_cast<size_t>(e.rank() - 2);
  if (size.size() == 1) size.assign(dims, size[0]);
  for (size_t d = 0; d < dims; ++d)
    if (size[d] == -1) size[d] = e.shape()[static_cast<int>(d) + (e.flag("cl") ? 1 : 2)];
  return size;
}

void adaptive_average(Emit& e) {
  const std::vector<int64_t> size = adaptive_sizes(e);
  std::string x = channels_first(e);
  if (std::all_of(size.begin(), size.end(), [](int64_t s) { return s == 1; }))
    return give_back(e, e.node("GlobalAveragePool", {x}));
  for (size_t d = 0; d < size.size(); ++d) {
    const int64_t in = e.shape()[static_cast<int>(d) + (e.flag("cl") ? 1 : 2)];
    if (in < 0) e.unsupported("a size other than 1 of an input whose size only a run knows");
    if (in == size[d]) continue;
    // The axis last, times the parts.
    std::vector<int64_t> perm;
    for (int k = 0; k < e.rank(); ++k) perm.push_back(k);
    std::swap(perm[2 + d], perm.back());
    const std::string last = e.transposed(x, perm);
    const std::string parts = e.transposed(averaging(e, in, size[d]), {1, 0});
    x = e.transposed(e.node("MatMul", {last, parts}), perm);
  }
  give_back(e, x);
}

void adaptive_max(Emit& e) {
  const std::vector<int64_t> size = adaptive_sizes(e);
  const std::string x = channels_first(e);
  if (std::all_of(size.begin(), size.end(), [](int64_t s) { return s == 1; }))
    return give_back(e, e.node("GlobalMaxPool", {x}));
  std::vector<int64_t> kernel;
  for (size_t d = 0; d < size.size(); ++d) {
    const int64_t in = e.shape()[static_cast<int>(d) + (e.flag("cl") ? 1 : 2)];
    if (in < 0 || in % size[d]) e.unsupported("a size that does not divide the input's");
    kernel.push_back(in / size[d]);
  }
  give_back(e, e.node("MaxPool", {x}, {{"kernel_shape", kernel}, {"strides", kernel}}));
}

void interpolate(Emit& e) {
  const std::string& mode = e.text("mode");
  const std::string x = channels_first(e);
  const char* theirs = mode == "nearest" ? "nearest" : mode == "bicubic" ? "cubic" : "linear";
  const bool halves = e.integer("align_mode") == 0;
  if (e.flag("antialias") && e.to.opset() < 18) e.unsupported("antialias before opset_version 18");
  const char* places = mode == "nearest"             ? "asymmetric"
                       : e.flag("align_corners")     ? "align_corners"
                       : halves || mode == "bicubic" ? "half_pixel"
                                                     : "asymmetric";
  const bool sized = !e.attr<op::IntArray>("size").none && e.attr<op::IntArray>("size").size();
  std::string scales, sizes;
  const int dims = e.rank() - 2;
  if (sized) {
    const std::string head =
        e.node("Slice", {e.node("Shape", {x}), e.to.integers({0}), e.to.integers({2})});
    sizes = e.node("Concat", {head, e.sizes("size")}, {{"axis", 0}});
  } else {
    Tensor s = Tensor::empty({e.rank()}, DType::float32);
    const std::vector<double>& given = e.attr<std::vector<double>>("scale");
    for (int d = 0; d < e.rank(); ++d)
      s.data<float>()[d] =
          d < 2 ? 1.0f
                : static_cast<float>(given[given.size() == 1 ? 0 : static_cast<size_t>(d - 2)]);
    scales = e.to.constant(s);
  }
  if (dims < 1) e.unsupported("an input without spatial dimensions");
  give_back(e, e.node("Resize", {x, "", scales, sizes},
                      {{"mode", theirs},
                       {"coordinate_transformation_mode", places},
                       {"nearest_mode", "floor"},
                       {"cubic_coeff_a", -0.75}}));
}

void pixel_shuffle(Emit& e) {
  if (e.text("data_format") != "NCHW") e.unsupported("channels last");
  e.give(e.node("DepthToSpace", {e.in(0)},
                {{"blocksize", e.integer("upscale_factor")}, {"mode", "CRD"}}));
}

void channel_shuffle(Emit& e) {
  if (e.text("data_format") != "NCHW") e.unsupported("channels last");
  const int64_t groups = e.integer("groups");
  const std::string form = e.node("Shape", {e.in(0)});
  const std::string head = e.size(0, 0);
  const std::string tail = e.node("Slice", {form, e.to.integers({2}), e.to.integers({4})});
  const std::string apart =
      e.node("Concat", {head, e.to.integers({groups, -1}), tail}, {{"axis", 0}});
  e.give(e.reshape(e.transposed(e.reshape(e.in(0), apart), {0, 2, 1, 3, 4}), form));
}

// --- norms ---

std::string vector_or(Emit& e, size_t i, double value, int64_t size) {
  if (e.has(i)) return e.in(i);
  if (size < 0) e.unsupported("a number of channels that only a run knows");
  return e.node("Expand", {e.number(value), e.to.integers({size})});
}

void batch_norm(Emit& e) {
  if (e.flag("batch_stats")) e.unsupported("the statistics of the batch (call eval() first)");
  const bool last = e.flag("channel_last") && e.rank() > 2;
  const int64_t channels = e.shape(1)[0];
  std::string x = e.in(0);
  std::vector<int64_t> there{0, e.rank() - 1}, back{0};
  for (int d = 1; d < e.rank() - 1; ++d) there.push_back(d);
  for (int d = 2; d < e.rank(); ++d) back.push_back(d);
  back.push_back(1);
  if (last) x = e.transposed(x, there);
  x = e.node("BatchNormalization",
             {x, vector_or(e, 3, 1, channels), vector_or(e, 4, 0, channels), e.in(1), e.in(2)},
             {{"epsilon", e.real("epsilon")}});
  e.give(last ? e.transposed(x, back) : x);
}

void layer_norm(Emit& e) {
  const int64_t axis = e.integer("begin_norm_axis");
  std::vector<int64_t> sizes;
  for (int d = static_cast<int>(axis); d < e.rank(); ++d) sizes.push_back(e.shape()[d]);
  const std::string form = e.node(
      "Slice", {e.node("Shape", {e.in(0)}), e.to.integers({axis}), e.to.integers({e.rank()})});
  // Our weights are vectors of all normalized elements.
  auto shaped = [&](size_t i, double otherwise) {
    if (!e.has(i)) return e.node("Expand", {e.number(otherwise), form});
    return sizes.size() == 1 ? e.in(i) : e.reshape(e.in(i), form);
  };
  const std::string weight = shaped(1, 1), bias = e.has(2) ? shaped(2, 0) : "";
  e.give(e.node("LayerNormalization", {e.in(0), weight, bias},
                {{"axis", axis}, {"epsilon", e.real("epsilon")}}));
}

void rms_norm(Emit& e) {
  std::vector<int64_t> axes;
  for (int64_t d = e.integer("begin_norm_axis"); d < e.rank(); ++d) axes.push_back(d);
  const std::string square = e.reduce("ReduceMean", e.node("Mul", {e.in(0), e.in(0)}), axes, true);
  const std::string root = e.node("Sqrt", {e.node("Add", {square, e.number(e.real("epsilon"))})});
  std::string y = e.node("Div", {e.in(0), root});
  if (e.has(1)) y = e.node("Mul", {y, e.in(1)});
  if (e.has(2)) y = e.node("Add", {y, e.in(2)});
  e.give(y);
}

// weight and bias of channels for x with `rank` dimensions.
std::string by_channels(Emit& e, std::string x) {
  std::vector<int64_t> sizes(static_cast<size_t>(e.rank() - 1), 1);
  sizes[0] = -1;
  auto shaped = [&](size_t i) {
    return e.reshape(e.in(i), e.to.integers(std::span<const int64_t>(sizes)));
  };
  if (e.has(1)) x = e.node("Mul", {x, shaped(1)});
  if (e.has(2)) x = e.node("Add", {x, shaped(2)});
  return x;
}

void group_norm(Emit& e) {
  if (e.flag("channel_last")) e.unsupported("channels last");
  const int64_t groups = e.integer("num_groups");
  const std::string form = e.node("Shape", {e.in(0)});
  const std::string apart = e.reshape(e.in(0), e.to.integers({0, groups, -1}));
  const std::string y = e.node("InstanceNormalization",
                               {apart, vector_or(e, 9, 1, groups), vector_or(e, 9, 0, groups)},
                               {{"epsilon", e.real("epsilon")}});
  e.give(by_channels(e, e.reshape(y, form)));
}

void instance_norm(Emit& e) {
  if (e.flag("channel_last")) e.unsupported("channels last");
  const int64_t channels = e.shape()[1];
  e.give(e.node("InstanceNormalization",
                {e.in(0), vector_or(e, 1, 1, channels), vector_or(e, 2, 0, channels)},
                {{"epsilon", e.real("epsilon")}}));
}

void grid_sample(Emit& e) {
  e.give(e.node("GridSample", {e.in(0), e.in(1)},
                {{"mode", e.text("mode").c_str()},
                 {"padding_mode", e.text("padding_mode").c_str()},
                 {"align_corners", e.flag("align_corners")}}));
}

// --- recurrent layers ---

void rnn_direction(Emit& e) {
  const std::string& mode = e.text("mode");
  const int64_t hidden = e.shape(4)[1];
  const bool lstm = mode == "LSTM", gru = mode == "GRU";
  // Our gates in ONNX's order.
  const std::vector<int64_t> order = lstm  ? std::vector<int64_t>{0, 3, 1, 2}
                                     : gru ? std::vector<int64_t>{1, 0, 2}
                                           : std::vector<int64_t>{0};
  std::vector<int64_t> rows;
  for (int64_t gate : order)
    for (int64_t i = 0; i < hidden; ++i) rows.push_back(gate * hidden + i);
  const std::string places = e.to.integers(std::span<const int64_t>(rows));
  auto gates = [&](size_t i) {
    return order.size() == 1 ? e.in(i) : e.node("Gather", {e.in(i), places});
  };
  std::string bias;
  if (e.has(5) || e.has(6)) {
    const int64_t count = static_cast<int64_t>(order.size()) * hidden;
    auto or_zeros = [&](size_t i) { return e.has(i) ? gates(i) : vector_or(e, i, 0, count); };
    bias = e.unsqueeze(e.node("Concat", {or_zeros(5), or_zeros(6)}, {{"axis", 0}}), {0});
  }
  const std::string x = e.flag("time_major") ? e.in(0) : e.transposed(e.in(0), {1, 0, 2});
  std::string lengths = e.has(7) ? e.to.cast(e.in(7), DType::int32) : "";
  std::vector<std::string> in{x,       e.unsqueeze(gates(3), {0}), e.unsqueeze(gates(4), {0}), bias,
                              lengths, e.unsqueeze(e.in(1), {0})};
  if (lstm) in.push_back(e.unsqueeze(e.in(2), {0}));
  const char* way = e.flag("reverse") ? "reverse" : "forward";
  std::vector<std::string> out;
  if (lstm)
    out = e.to.nodes("LSTM", in, 3, {{"hidden_size", hidden}, {"direction", way}});
  else if (gru)
    out = e.to.nodes("GRU", in, 2,
                     {{"hidden_size", hidden}, {"direction", way}, {"linear_before_reset", 1}});
  else if (mode == "RNN_TANH")
    out = e.to.nodes("RNN", in, 2, {{"hidden_size", hidden}, {"direction", way}});
  else
    e.unsupported("a relu layer");
  const std::string y = e.squeeze(out[0], {1});
  e.give(e.flag("time_major") ? y : e.transposed(y, {1, 0, 2}), 0);
  e.give(e.squeeze(out[1], {0}), 1);
  if (lstm) e.give(e.squeeze(out[2], {0}), 2);
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
    {"batch_norm", batch_norm},
    {"celu", with_alpha<"Celu">},
    {"channel_shuffle", channel_shuffle},
    {"channel_window_sum", channel_window_sum},
    {"conv1d", conv},
    {"conv1d_transpose", conv_transpose},
    {"conv2d", conv},
    {"conv2d_transpose", conv_transpose},
    {"conv3d", conv},
    {"conv3d_transpose", conv_transpose},
    {"elu", with_alpha<"Elu">},
    {"embedding", embedding},
    {"fill_future", fill_future},
    {"gelu", gelu},
    {"grid_sample", grid_sample},
    {"group_norm", group_norm},
    {"hardsigmoid", hard_sigmoid},
    {"hardswish", same_node<"HardSwish">},
    {"hardtanh", hard_tanh},
    {"instance_norm", instance_norm},
    {"interpolate", interpolate},
    {"layer_norm", layer_norm},
    {"leaky_relu", leaky_relu},
    {"linear", linear},
    {"log_sigmoid", log_sigmoid},
    {"log_softmax", along_axis<"LogSoftmax">},
    {"lp_pool1d", lp_pool},
    {"lp_pool2d", lp_pool},
    {"matmul", matmul},
    {"max_pool1d", max_pool},
    {"max_pool2d", max_pool},
    {"max_pool3d", max_pool},
    {"mish", mish},
    {"pixel_shuffle", pixel_shuffle},
    {"prelu", prelu},
    {"relu", same_node<"Relu">},
    {"relu6", relu6},
    {"rms_norm", rms_norm},
    {"rnn_direction", rnn_direction},
    {"selu", selu},
    {"silu", silu},
    {"softmax", along_axis<"Softmax">},
    {"softplus", softplus},
    {"softsign", same_node<"Softsign">},
};

}  // namespace

std::span<const WriteRow> write_nn_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx
