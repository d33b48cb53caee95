#include "argosy/infer/paddle/common.h"

// Convolutions and pools.
namespace argosy::infer::paddle {

bool channels_last(const Node& n, const char* attribute) {
  const std::string format = n.text(
      attribute, n.has_attribute("data_layout") ? n.text("data_layout", "").c_str() : "NCHW");
  return format == "NHWC" || format == "NDHWC" || format == "NLC";
}

namespace {

// One number for each side of each dimension, of one for each dimension or of those.
std::vector<int64_t> both_sides(const Node& n, const std::vector<int64_t>& given, size_t dims) {
  if (given.size() == 2 * dims) return given;
  std::vector<int64_t> all;
  if (given.size() == dims) {
    for (const int64_t p : given) all.insert(all.end(), {p, p});
    return all;
  }
  // Two for each of all dimensions, those of batch and channels among them.
  const size_t skip = channels_last(n) ? 2 : 4;
  n.expect(given.size() == 2 * dims + 4, "paddings are of another number of dimensions");
  return {given.begin() + static_cast<std::ptrdiff_t>(skip),
          given.begin() + static_cast<std::ptrdiff_t>(skip + 2 * dims)};
}

std::vector<int64_t> for_each(const Node& n, std::vector<int64_t> given, size_t dims) {
  if (given.size() == 1 && dims > 1) given.assign(dims, given.front());
  n.expect(given.size() == dims, "an attribute is of another number of dimensions");
  return given;
}

size_t dims_of(const Tensor& x) {
  return static_cast<size_t>(std::max(x.rank() - 2, 0));
}

std::string with_dims(const char* op, size_t dims, const char* tail = "") {
  return op + std::to_string(dims) + "d" + tail;
}

Tensor convolve(const Node& n, const Tensor& bias) {
  const Tensor x = n.in("Input"), weight = n.in("Filter");
  const size_t dims = dims_of(x);
  n.expect(dims >= 1 && dims <= 3, "input of a convolution of an impossible rank");
  // Depthwise is known by its name; the groups of old files may be 1.
  const int64_t groups = n.integer("groups", 1);
  return call(with_dims("conv", dims), {x, weight, bias},
              {{"stride", for_each(n, n.integers("strides", {1}), dims)},
               {"padding", both_sides(n, n.integers("paddings", std::vector<int64_t>(dims)), dims)},
               {"pad_alg", n.text("padding_algorithm", "EXPLICIT")},
               {"dilation", for_each(n, n.integers("dilations", {1}), dims)},
               {"groups", groups},
               {"cl", channels_last(n)}});
}

void conv(const Node& n) {
  Tensor out = convolve(n, n.optional("Bias"));
  if (n.has("ResidualData")) out = ops::add(out, n.in("ResidualData"));
  const char* activation = n.has_attribute("activation") ? "activation" : "fuse_activation";
  out = activate(n, out, n.text(activation, ""));
  n.out("Output", out);
}

void conv_transpose(const Node& n) {
  const Tensor x = n.in("Input");
  const size_t dims = dims_of(x);
  n.expect(dims >= 1 && dims <= 3, "input of a convolution of an impossible rank");
  std::vector<int64_t> output_padding = n.integers("output_padding");
  if (output_padding.empty()) output_padding.assign(dims, 0);
  n.out("Output",
        call(with_dims("conv", dims, "_transpose"), {x, n.in("Filter"), n.optional("Bias")},
             {{"stride", for_each(n, n.integers("strides", {1}), dims)},
              {"padding", both_sides(n, n.integers("paddings", std::vector<int64_t>(dims)), dims)},
              {"pad_alg", n.text("padding_algorithm", "EXPLICIT")},
              {"output_padding", for_each(n, output_padding, dims)},
              {"dilation", for_each(n, n.integers("dilations", {1}), dims)},
              {"groups", n.integer("groups", 1)},
              {"output_size", n.numbers("output_size", "OutputSize")},
              {"cl", channels_last(n)}}));
}

// --- pools ---

struct Pool {
  size_t dims;
  std::vector<int64_t> kernel, stride, padding;
  bool all = false;  // one window, the whole
};

Pool pool_of(const Node& n, const Tensor& x) {
  Pool p{dims_of(x), {}, {}, {}};
  n.expect(p.dims >= 1 && p.dims <= 3, "input of a pool of an impossible rank");
  p.kernel = n.known_numbers("ksize", "KSize");
  p.kernel = for_each(n, p.kernel, p.dims);
  p.all = n.flag("global_pooling");
  p.stride = for_each(n, n.integers("strides", p.kernel), p.dims);
  p.padding = both_sides(n, n.integers("paddings", std::vector<int64_t>(p.dims)), p.dims);
  return p;
}

Tensors adaptive(const Node& n, const Tensor& x, const Pool& p, bool max) {
  const std::vector<int64_t> ones(p.dims, 1);
  std::vector<Arg> args{{"output_size", int_array(p.all ? ones : p.kernel)}};
  const std::string name = max ? "adaptive_max_pool" : "adaptive_avg_pool";
  args.emplace_back("cl", channels_last(n));
  return call_all(with_dims(name.c_str(), p.dims), std::span(&x, 1), args);
}

void pool(const Node& n) {
  const Tensor x = n.in("X");
  const Pool p = pool_of(n, x);
  const bool max = n.text("pooling_type", "max") == "max";
  if (p.all || n.flag("adaptive")) return n.out("Out", adaptive(n, x, p, max)[0]);
  std::vector<Arg> args{{"kernel", p.kernel},
                        {"stride", p.stride},
                        {"padding", p.padding},
                        {"pad_alg", n.text("padding_algorithm", "EXPLICIT")},
                        {"ceil_mode", n.flag("ceil_mode")},
                        {"cl", channels_last(n)}};
  if (!max) args.emplace_back("exclusive", n.flag("exclusive", true));
  n.out("Out",
        call_all(with_dims(max ? "max_pool" : "avg_pool", p.dims), std::span(&x, 1), args)[0]);
}

void max_pool_with_index(const Node& n) {
  const Tensor x = n.in("X");
  const Pool p = pool_of(n, x);
  const Tensors both = p.all || n.flag("adaptive") ? adaptive(n, x, p, true)
                                                   : call_all(with_dims("max_pool", p.dims), {x},
                                                              {{"kernel", p.kernel},
                                                               {"stride", p.stride},
                                                               {"padding", p.padding},
                                                               {"ceil_mode", n.flag("ceil_mode")}});
  n.out("Out", both[0]);
  n.out("Mask", as(both[1], DType::int32));
}

void unpool(const Node& n) {
  const Tensor x = n.in("X");
  const size_t dims = dims_of(x);
  const std::vector<int64_t> kernel = n.integers("ksize"), stride = n.integers("strides"),
                             padding = n.integers("paddings");
  op::IntArray size = n.numbers("output_size", "OutputSize");
  if (size.size() == 0) {
    for (size_t d = 0; d < dims; ++d) {
      const int64_t before = x.dim(static_cast<int>(d) + 2);
      if (before < 0) n.unsupported("an unknown size of what is pooled back");
      size.values.push_back((before - 1) * stride.at(d) - 2 * padding.at(d) + kernel.at(d));
    }
  }
  n.out("Out", call(with_dims("max_unpool", dims), {x, n.in("Indices")}, {{"output_size", size}}));
}

void lp_pool(const Node& n) {
  const Tensor x = n.in("X");
  const Pool p = pool_of(n, x);
  if (p.all || n.flag("adaptive")) n.unsupported("lp_pool2d over all places");
  n.out("Out", call("lp_pool2d", {x},
                    {{"norm_type", n.real("norm_type", 2)},
                     {"kernel", p.kernel},
                     {"stride", p.stride},
                     {"padding", p.padding},
                     {"pad_alg", n.text("padding_algorithm", "EXPLICIT")},
                     {"ceil_mode", n.flag("ceil_mode")},
                     {"cl", channels_last(n)}}));
}

// Windows whose bounds a number in (0, 1) decides, which is drawn where the file has none.
void fractional_max_pool(const Node& n) {
  const Tensor x = n.in("x");
  std::vector<int64_t> kernel = n.integers("kernel_size");
  if (kernel.empty()) kernel.assign(dims_of(x), 0);  // windows that do not overlap
  op::Scalar u(n.real("random_u", 0));
  const auto recording = n.session.recording();
  if (u.real() == 0) {
    const Tensor drawn = call("uniform", std::span<const Tensor>{},
                              {{"shape", op::IntArray{}}, {"min", 0.0}, {"max", 1.0}});
    u.tensor = drawn;
  }
  const size_t dims = dims_of(x);
  const Tensors both =
      call_all(with_dims("fractional_max_pool", dims), {x},
               {{"output_size", n.integers("output_size")}, {"kernel", kernel}, {"u", u}});
  n.out("out", both[0]);
  n.out("mask", as(both[1], DType::int32));
}

constexpr Row kRows[] = {
    {"conv2d", conv},
    {"depthwise_conv2d", conv},
    {"conv3d", conv},
    {"conv1d", conv},
    {"conv2d_fusion", conv},
    {"fused_conv2d", conv},
    {"conv2d_transpose", conv_transpose},
    {"depthwise_conv2d_transpose", conv_transpose},
    {"conv3d_transpose", conv_transpose},
    {"pool2d", pool},
    {"pool3d", pool},
    {"max_pool2d_with_index", max_pool_with_index},
    {"max_pool3d_with_index", max_pool_with_index},
    {"unpool", unpool},
    {"unpool3d", unpool},
    {"lp_pool2d", lp_pool},
    {"fractional_max_pool2d", fractional_max_pool},
    {"fractional_max_pool3d", fractional_max_pool},
};

}  // namespace

std::span<const Row> conv_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle
