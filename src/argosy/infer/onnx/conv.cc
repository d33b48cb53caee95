#include <cmath>
#include <limits>

#include "argosy/infer/onnx/common.h"
#include "argosy/infer/onnx/window.h"

// Convolutions and pools.
namespace argosy::infer::onnx {

namespace {

// Sets the padding of dimension d so that the result has ceil(size / stride) places.
void pad_same(const Node& n, const Tensor& x, size_t d, SamePadding same, Window* w) {
  const int64_t in = x.dim(static_cast<int>(2 + d)), stride = w->stride[d];
  const int64_t reach = (w->kernel[d] - 1) * w->dilation[d];  // from its first to its last place
  int64_t sum = reach;  // for a stride of 1, whatever the size
  if (stride != 1 && in >= 0) {
    sum = std::max<int64_t>(0, (in + stride - 1) / stride * stride - stride + reach + 1 - in);
  } else if (stride != 1) {
    if (same != SamePadding::in_op || w->lower || w->dilation[d] != 1) n.session.need_shapes(n);
    w->algorithm = "SAME";
  }
  w->padding[2 * d] = w->lower ? sum - sum / 2 : sum / 2;
  w->padding[2 * d + 1] = sum - w->padding[2 * d];
}

}  // namespace

Window window_of(const Node& n, const Tensor& x, std::vector<int64_t> kernel, SamePadding same) {
  const auto dims = static_cast<size_t>(std::max(x.rank() - 2, 0));
  Window w;
  w.kernel = std::move(kernel);
  n.expect(dims >= 1 && dims <= 3, "one to three spatial dimensions are supported");
  n.expect(w.kernel.size() == dims, "the kernel has another number of dimensions");
  w.stride = n.integers("strides", std::vector<int64_t>(dims, 1));
  w.dilation = n.integers("dilations", std::vector<int64_t>(dims, 1));
  const std::vector<int64_t> pads = n.integers("pads", std::vector<int64_t>(2 * dims, 0));
  const std::string how = n.text("auto_pad", "NOTSET");
  n.expect(w.stride.size() == dims && w.dilation.size() == dims && pads.size() == 2 * dims,
           "strides, dilations and pads have another number of dimensions");
  for (size_t d = 0; d < dims; ++d)
    n.expect(w.stride[d] > 0 && w.dilation[d] > 0 && w.kernel[d] != 0,
             "strides, dilations and the kernel have to be positive");
  w.lower = how == "SAME_LOWER";
  w.same = w.lower || how == "SAME_UPPER";
  for (size_t d = 0; d < dims; ++d)
    for (size_t side : {d, dims + d}) w.padding.push_back(how == "VALID" ? 0 : pads[side]);
  if (w.same && same != SamePadding::by_caller)
    for (size_t d = 0; d < dims; ++d) pad_same(n, x, d, same, &w);
  // The op makes all of it then, as it would be made here.
  if (w.algorithm == "SAME")
    for (int64_t dilation : w.dilation)
      if (dilation != 1) n.session.need_shapes(n);
  return w;
}

std::string with_dims(const char* op, size_t dims, const char* tail) {
  return std::string(op) + std::to_string(dims) + "d" + tail;
}

Tensor convolve(const Node& n, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  std::vector<int64_t> kernel;
  for (int d = 2; d < weight.rank(); ++d) kernel.push_back(weight.dim(d));
  const std::vector<int64_t> said = n.integers("kernel_shape", kernel);
  n.expect(said == kernel, "kernel_shape is not that of the weight");
  const Window w = window_of(n, x, kernel, SamePadding::in_op);
  return call(with_dims("conv", kernel.size()), {x, weight, bias},
              {{"stride", w.stride},
               {"padding", w.padding},
               {"pad_alg", w.algorithm},
               {"dilation", w.dilation},
               {"groups", n.integer("group", 1)}});
}

namespace {

Items conv(const Node& n) {
  return {convolve(n, n.in(0), n.in(1), n.optional(2))};
}

Items conv_transpose(const Node& n) {
  const Tensor &x = n.in(0), &weight = n.in(1);
  std::vector<int64_t> kernel;
  for (int d = 2; d < weight.rank(); ++d) kernel.push_back(weight.dim(d));
  n.integers("kernel_shape", kernel);
  Window w = window_of(n, x, kernel, SamePadding::by_caller);
  const size_t dims = kernel.size();
  std::vector<int64_t> more = n.integers("output_padding", std::vector<int64_t>(dims, 0));
  const std::vector<int64_t> wanted = n.integers("output_shape");
  n.expect(wanted.empty() || wanted.size() >= dims, "output_shape has too few sizes");
  for (size_t d = 0; d < dims && (w.same || !wanted.empty()); ++d) {
    // What is cut off, of a result that is as large as the whole kernel makes it.
    int64_t sum = more[d] + (kernel[d] - 1) * w.dilation[d] + 1 - w.stride[d];
    if (!wanted.empty()) {
      const int64_t in = x.dim(static_cast<int>(2 + d));
      if (in < 0) n.session.need_shapes(n);
      sum += w.stride[d] * in - wanted[wanted.size() - dims + d];
    }
    if (sum < 0) {
      more[d] -= sum;
      sum = 0;
    }
    const bool upper = w.same && !w.lower;
    w.padding[2 * d] = upper ? sum / 2 : sum - sum / 2;
    w.padding[2 * d + 1] = sum - w.padding[2 * d];
  }
  return {call(with_dims("conv", dims, "_transpose"), {x, weight, n.optional(2)},
               {{"stride", w.stride},
                {"padding", w.padding},
                {"dilation", w.dilation},
                {"output_padding", more},
                {"groups", n.integer("group", 1)}})};
}

// --- pools ---

bool is_dilated(const Window& w) {
  for (int64_t d : w.dilation)
    if (d != 1) return true;
  return false;
}

// How many windows there are along spatial dimension d.
int64_t count_windows(const Node& n, const Tensor& x, const Window& w, size_t d, bool ceil) {
  const int64_t in = x.dim(static_cast<int>(2 + d));
  if (in < 0 || w.algorithm != "EXPLICIT") n.session.need_shapes(n);
  const int64_t padded = in + w.padding[2 * d] + w.padding[2 * d + 1];
  const int64_t room = padded - ((w.kernel[d] - 1) * w.dilation[d] + 1);
  n.expect(room >= 0, "the window is larger than the input");
  int64_t count = room / w.stride[d] + 1;
  if (ceil && room % w.stride[d] != 0) {
    ++count;
    if ((count - 1) * w.stride[d] >= in + w.padding[2 * d]) --count;
  }
  return count;
}

bool has_known_sizes(const Tensor& x) {
  for (int d = 2; d < x.rank(); ++d)
    if (x.dim(d) < 0) return false;
  return true;
}

// How many windows our pools make of what does not divide.
struct Rounding {
  std::vector<int64_t> padding;
  bool ceil = false;
};

// Windows that would begin in the padding behind are none for ONNX. Where there cannot be such, our
// ceil_mode is the same; else there is as much padding behind as ceil_mode asks for. SAME leaves
// nothing to round.
Rounding rounding_of(const Node& n, const Tensor& x, const Window& w, bool ceil) {
  if (!ceil || w.same) return {w.padding};
  bool alike = true;
  for (size_t d = 0; d < w.kernel.size(); ++d)
    alike = alike && w.stride[d] + w.padding[2 * d + 1] <= w.kernel[d];
  if (alike && !has_known_sizes(x)) return {w.padding, true};
  Rounding whole{w.padding};
  for (size_t d = 0; d < w.kernel.size(); ++d) {
    const int64_t need = (count_windows(n, x, w, d, true) - 1) * w.stride[d] + w.kernel[d];
    whole.padding[2 * d + 1] =
        std::max<int64_t>(need - x.dim(static_cast<int>(2 + d)) - w.padding[2 * d], 0);
  }
  return whole;
}

std::vector<int64_t> counts_of(const Node& n, const Tensor& x, const Window& w, bool ceil) {
  std::vector<int64_t> counts;
  for (size_t d = 0; d < w.kernel.size(); ++d) counts.push_back(count_windows(n, x, w, d, ceil));
  return counts;
}

// The elements of each of `counts` windows at one place of the kernel, for all places: x is padded
// by `value` so that every window is whole.
std::vector<Tensor> taps(const Tensor& x, const Window& w, const std::vector<int64_t>& counts,
                         double value) {
  const size_t dims = w.kernel.size();
  std::vector<int64_t> pads{0, 0, 0, 0}, axes;
  for (size_t d = 0; d < dims; ++d) {
    const int64_t need = (counts[d] - 1) * w.stride[d] + (w.kernel[d] - 1) * w.dilation[d] + 1;
    pads.push_back(w.padding[2 * d]);
    pads.push_back(std::max<int64_t>(need - x.dim(static_cast<int>(2 + d)) - w.padding[2 * d], 0));
    axes.push_back(static_cast<int64_t>(2 + d));
  }
  const Tensor padded =
      call("pad", {x}, {{"paddings", pads}, {"mode", "constant"}, {"value", op::Scalar(value)}});
  int64_t places = 1;
  for (int64_t k : w.kernel) places *= k;
  std::vector<Tensor> list;
  for (int64_t place = 0; place < places; ++place) {
    std::vector<int64_t> starts(dims), ends(dims);
    int64_t rest = place;
    for (size_t d = dims; d-- > 0;) {
      starts[d] = rest % w.kernel[d] * w.dilation[d];
      rest /= w.kernel[d];
      ends[d] = starts[d] + (counts[d] - 1) * w.stride[d] + 1;
    }
    list.push_back(call("slice", {padded},
                        {{"axes", axes},
                         {"starts", op::IntArray(std::span<const int64_t>(starts))},
                         {"ends", op::IntArray(std::span<const int64_t>(ends))},
                         {"strides", w.stride}}));
  }
  return list;
}

Tensor added(const std::vector<Tensor>& list) {
  return ops::sum(ops::stack(list, 0), op::IntArray{0});
}

// ONNX numbers the elements of the whole tensor, we those of a plane.
Tensor whole_indices(const Node& n, const Tensor& x, Tensor index) {
  const int dims = x.rank() - 2;
  Tensor places = as(index, DType::int64);
  Tensor plane = ops::constant(op::Scalar(int64_t{1}), DType::int64);
  for (int d = 0; d < dims; ++d) plane = ops::multiply(plane, ops::size_of(x, 2 + d, DType::int64));
  if (n.integer("storage_order", 0) == 1) {
    // By columns: the first spatial dimension is the fastest.
    n.expect(dims == 2, "storage_order is supported for two spatial dimensions");
    const Tensor height = ops::size_of(x, 2, DType::int64),
                 width = ops::size_of(x, 3, DType::int64);
    const Tensor row = call("floor_divide", {places, width});
    const Tensor column = call("remainder", {places, width});
    places = ops::add(ops::multiply(column, height), row);
  }
  const Tensor images = along(positions(x, 0), 0, x.rank());
  const Tensor channels = along(positions(x, 1), 1, x.rank());
  const Tensor planes = ops::add(ops::multiply(images, ops::size_of(x, 1, DType::int64)), channels);
  return ops::add(places, ops::multiply(planes, plane));
}

// The largest element of each dilated window and, where it is asked for, its place in the plane.
std::pair<Tensor, Tensor> dilated_max(const Node& n, const Tensor& x, const Window& w, bool ceil) {
  const double least = -std::numeric_limits<double>::infinity();
  const std::vector<int64_t> counts = counts_of(n, x, w, ceil);
  const Tensor values = ops::stack(taps(x, w, counts, least), 0);
  const Tensor largest = ops::max(values, op::IntArray{0});
  if (!n.wants(1)) return {largest, {}};
  op::IntArray plane{1, 1};
  int64_t count = 1;
  for (int d = 2; d < x.rank(); ++d) {
    push(plane, x.dim(d));
    count *= x.dim(d);
  }
  check_folded(n, plane);
  const Tensor places = ops::reshape(positions(op::IntArray{count}), plane);
  const Tensor all = ops::expand(ops::stack(taps(places, w, counts, 0), 0), shape_of(values));
  const Tensor index = call("take_along", {all, ops::argmax(values, 0, true)}, {{"axis", 0}});
  return {largest, ops::squeeze(index, op::IntArray{0})};
}

Items max_pool(const Node& n) {
  const Tensor& given = n.in();
  const bool ceil = n.flag("ceil_mode");
  n.integer("storage_order", 0);
  const Window w = window_of(n, given, n.integers("kernel_shape"), SamePadding::in_op);
  const Tensor x = is_floating(given.dtype()) ? given : as(given, DType::float32);
  if (is_dilated(w)) {
    const auto [largest, place] = dilated_max(n, x, w, ceil);
    Items items{as(largest, given.dtype())};
    if (place.defined()) items.emplace_back(whole_indices(n, x, place));
    return items;
  }
  const char* tail = n.wants(1) ? "_with_index" : "";
  const Rounding rounding = rounding_of(n, x, w, ceil);
  const Tensors out = call_all(with_dims("max_pool", w.kernel.size(), tail), {x},
                               {{"kernel", w.kernel},
                                {"stride", w.stride},
                                {"padding", rounding.padding},
                                {"pad_alg", w.algorithm},
                                {"ceil_mode", rounding.ceil}});
  Items items{as(out[0], given.dtype())};
  if (n.wants(1)) items.emplace_back(whole_indices(n, x, out[1]));
  return items;
}

// Padding of the spatial dimensions, behind none of the two before them.
std::vector<int64_t> outer_and(const std::vector<int64_t>& padding) {
  std::vector<int64_t> all{0, 0, 0, 0};
  all.insert(all.end(), padding.begin(), padding.end());
  return all;
}

Items average_pool(const Node& n) {
  Tensor x = n.in();
  const bool ceil = n.flag("ceil_mode"), padding_counts = n.flag("count_include_pad");
  Window w = window_of(n, x, n.integers("kernel_shape"),
                       padding_counts ? SamePadding::here : SamePadding::in_op);
  // Our op counts as much padding behind as there is before.
  bool more_behind = false;
  for (size_t i = 0; i < w.padding.size(); i += 2)
    more_behind = more_behind || w.padding[i + 1] > w.padding[i];
  if (padding_counts && !ceil && more_behind) {
    x = call("pad", {x}, {{"paddings", outer_and(w.padding)}, {"value", op::Scalar(0.0)}});
    std::fill(w.padding.begin(), w.padding.end(), 0);
  }
  if (!is_dilated(w) && !(ceil && padding_counts)) {
    const Rounding rounding = rounding_of(n, x, w, ceil);
    return {call(with_dims("avg_pool", w.kernel.size()), {x},
                 {{"kernel", w.kernel},
                  {"stride", w.stride},
                  {"padding", rounding.padding},
                  {"pad_alg", w.algorithm},
                  {"ceil_mode", rounding.ceil},
                  {"exclusive", !padding_counts}})};
  }
  // Sums of windows over how many elements they have.
  const std::vector<int64_t> counts = counts_of(n, x, w, ceil);
  const Tensor sum = added(taps(x, w, counts, 0));
  Window inner = w;
  Tensor ones = ops::ones_like(x);
  if (padding_counts) {
    ones = call("pad", {ones}, {{"paddings", outer_and(w.padding)}, {"value", op::Scalar(1.0)}});
    std::fill(inner.padding.begin(), inner.padding.end(), 0);
  }
  return {ops::divide(sum, added(taps(ones, inner, counts, 0)))};
}

Items lp_pool(const Node& n) {
  const Tensor& x = n.in();
  const double p = static_cast<double>(n.integer("p", 2));
  const bool ceil = n.flag("ceil_mode");
  const Window w = window_of(n, x, n.integers("kernel_shape"));
  const Tensor powers = ops::pow(ops::abs(x), p);
  const Tensor sum = added(taps(powers, w, counts_of(n, powers, w, ceil), 0));
  return {ops::pow(sum, 1 / p)};
}

op::IntArray spatial_axes(const Tensor& x) {
  const std::vector<int64_t> axes = iota(2, x.rank());
  return op::IntArray(std::span(axes));
}

Items global_average(const Node& n) {
  return {ops::mean(n.in(), spatial_axes(n.in()), true)};
}
Items global_max(const Node& n) {
  return {ops::max(n.in(), spatial_axes(n.in()), true)};
}
Items global_lp(const Node& n) {
  const double p = static_cast<double>(n.integer("p", 2));
  return {ops::pow(ops::sum(ops::pow(ops::abs(n.in()), p), spatial_axes(n.in()), true), 1 / p)};
}

Items max_unpool(const Node& n) {
  const Tensor& x = n.in(0);
  const Window w = window_of(n, x, n.integers("kernel_shape"));
  const size_t dims = w.kernel.size();
  std::vector<int64_t> size;
  int64_t plane = 1;
  for (size_t d = 0; d < dims; ++d) {
    const int64_t in = x.dim(static_cast<int>(2 + d));
    if (in < 0) n.session.need_shapes(n);
    size.push_back((in - 1) * w.stride[d] + w.kernel[d] - w.padding[2 * d] - w.padding[2 * d + 1]);
    plane *= size.back();
  }
  const Tensor index = as(n.in(1), DType::int64);
  const Tensor places = call("remainder", {index, ops::constant(op::Scalar(plane), DType::int64)});
  Tensor y = call(with_dims("max_unpool", dims), {x, places},
                  {{"output_size", op::IntArray(std::span<const int64_t>(size))}});
  if (!n.has(2)) return {y};
  const std::vector<int64_t> wanted = n.known(2);
  n.expect(wanted.size() == dims + 2, "output_shape has another number of dimensions");
  std::vector<int64_t> pads{0, 0, 0, 0};
  for (size_t d = 0; d < dims; ++d) {
    pads.push_back(0);
    pads.push_back(wanted[2 + d] - size[d]);
  }
  return {call("pad", {y}, {{"paddings", pads}})};
}

// Columns [N, C k.., L] added up into images, for any number of dimensions: a sum for each place of
// the kernel.
Items col2im(const Node& n) {
  const std::vector<int64_t> image = n.known(1), block = n.known(2);
  const size_t dims = image.size();
  const std::vector<int64_t> stride = n.integers("strides", std::vector<int64_t>(dims, 1)),
                             dilation = n.integers("dilations", std::vector<int64_t>(dims, 1)),
                             pads = n.integers("pads", std::vector<int64_t>(2 * dims, 0));
  const Tensor& x = n.in(0);
  n.expect(x.rank() == 3 && block.size() == dims && dims >= 1, "columns [N, C, L] are expected");
  int64_t places = 1;
  std::vector<int64_t> counts;
  op::IntArray apart;
  for (size_t d = 0; d < dims; ++d) {
    places *= block[d];
    counts.push_back(
        (image[d] + pads[d] + pads[dims + d] - dilation[d] * (block[d] - 1) - 1) / stride[d] + 1);
  }
  n.expect(places > 0 && x.dim(1) >= 0 && x.dim(1) % places == 0,
           "the block does not divide the columns");
  ops::push_size(apart, x, 0);
  push(apart, x.dim(1) / places);
  push(apart, places);
  for (int64_t c : counts) push(apart, c);
  const Tensor columns = ops::reshape(x, apart);
  std::vector<int64_t> axes = iota(2, static_cast<int64_t>(2 + dims));
  op::IntArray whole = at(apart, 0);
  push(whole, x.dim(1) / places);
  for (size_t d = 0; d < dims; ++d) push(whole, image[d] + pads[d] + pads[dims + d]);
  Tensor sum = ops::full(whole, op::Scalar(0.0), x.dtype());
  for (int64_t place = 0; place < places; ++place) {
    std::vector<int64_t> starts(dims), ends(dims);
    int64_t rest = place;
    for (size_t d = dims; d-- > 0;) {
      starts[d] = rest % block[d] * dilation[d];
      rest /= block[d];
      ends[d] = starts[d] + (counts[d] - 1) * stride[d] + 1;
    }
    const op::IntArray from{std::span<const int64_t>(starts)}, to{std::span<const int64_t>(ends)};
    const Tensor there =
        call("slice", {sum}, {{"axes", axes}, {"starts", from}, {"ends", to}, {"strides", stride}});
    sum = call("set_slice", {sum, ops::add(there, ops::pick(columns, 2, place))},
               {{"axes", axes}, {"starts", from}, {"ends", to}, {"strides", stride}});
  }
  for (size_t d = 0; d < dims; ++d)
    sum = ops::slice(sum, static_cast<int64_t>(2 + d), pads[d], pads[d] + image[d]);
  return {sum};
}

Items deform_conv(const Node& n) {
  const Tensor &x = n.in(0), &weight = n.in(1), &offset = n.in(2);
  const Tensor bias = n.optional(3), mask = n.optional(4);
  n.expect(x.rank() == 4 && weight.rank() == 4,
           "images and a kernel of two dimensions are expected");
  const std::vector<int64_t> kernel{weight.dim(2), weight.dim(3)};
  n.integers("kernel_shape", kernel);
  const Window w = window_of(n, x, kernel);
  const int64_t groups = n.integer("group", 1), sets = n.integer("offset_group", 1);
  std::vector<int64_t> padding{w.padding[0], w.padding[2]};
  if (w.padding[0] != w.padding[1] || w.padding[2] != w.padding[3])
    n.unsupported("padding that differs between the sides");
  const Tensor columns = call("deform_columns", {x, offset, mask},
                              {{"kernel", kernel},
                               {"stride", w.stride},
                               {"padding", padding},
                               {"dilation", w.dilation},
                               {"groups", sets}});
  const int64_t out = weight.dim(0), share = weight.dim(1) * kernel[0] * kernel[1];
  n.expect(groups > 0 && out % groups == 0, "group does not divide the channels");
  op::IntArray apart = at(shape_of(x), 0), shape = apart;
  for (int64_t v : {groups, share, int64_t{-1}}) push(apart, v);
  const Tensor filters = ops::reshape(weight, op::IntArray{groups, out / groups, share});
  const Tensor product = ops::matmul(filters, ops::reshape(columns, apart));
  push(shape, out);
  push(shape, shape_of(offset), 2);
  push(shape, shape_of(offset), 3);
  const Tensor y = ops::reshape(product, shape);
  return {bias.defined() ? ops::add(y, along(bias, 1, 4)) : y};
}

constexpr Row kRows[] = {
    {"AveragePool", average_pool},
    {"Col2Im", col2im},
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
    {"DeformConv", deform_conv},
    {"GlobalAveragePool", global_average},
    {"GlobalLpPool", global_lp},
    {"GlobalMaxPool", global_max},
    {"LpPool", lp_pool},
    {"MaxPool", max_pool},
    {"MaxUnpool", max_unpool},
};

}  // namespace

std::span<const Row> conv_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx
