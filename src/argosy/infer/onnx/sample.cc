#include "argosy/infer/onnx/sample.h"

#include <cmath>

#include "argosy/infer/onnx/common.h"

namespace argosy::infer::onnx {
namespace {

// One dimension of the images, and how it goes on outside of them.
class Side {
 public:
  Side(const Tensor& x, int axis, const std::string& padding, bool corners)
      : padding_(padding),
        corners_(corners),
        size_(ops::size_of(x, axis, x.dtype())),
        last_(ops::scale(size_, 1, -1)) {}

  const Tensor& size() const { return size_; }

  // Places of [-1, 1] in pixels, those outside as the padding says.
  Tensor pixels(const Tensor& places) const {
    const Tensor whole = ops::multiply(ops::scale(places, 0.5, 0.5), corners_ ? last_ : size_);
    const Tensor at = corners_ ? whole : ops::scale(whole, 1, -0.5);
    if (padding_ == "border") {
      const Tensor outside = ops::logical_or(ops::less_than(at, low()), ops::less_than(high(), at));
      return ops::where(outside, clamped(at), at);
    }
    return padding_ == "reflection" ? reflected(at) : at;
  }
  // Whole numbers of pixels as such that are there.
  Tensor inside(const Tensor& pixel) const {
    return clamped(padding_ == "reflection" ? reflected(pixel) : pixel);
  }
  // 1 where the pixel counts, 0 where it is outside.
  Tensor counts(const Tensor& pixel) const {
    const Tensor there = ops::equal(clamped(pixel), pixel);
    return as(padding_ == "zeros" ? there : ops::ones_like(there), pixel.dtype());
  }

 private:
  Tensor low() const { return number(corners_ ? 0 : -0.5, size_); }
  Tensor high() const { return corners_ ? last_ : ops::scale(size_, 1, -0.5); }
  Tensor clamped(const Tensor& t) const {
    return ops::minimum(ops::maximum(t, number(0, t)), last_);
  }
  // Back and forth between the ends; nothing moves where these are one place.
  Tensor reflected(const Tensor& t) const {
    const Tensor range = ops::subtract(high(), low()), none = ops::equal(range, number(0, range));
    const Tensor period = ops::scale(ops::where(none, number(1, range), range), 2);
    const Tensor from_low = ops::subtract(t, low());
    const Tensor turns = ops::floor(ops::divide(from_low, period));
    const Tensor far = ops::subtract(from_low, ops::multiply(turns, period));
    const Tensor near = ops::minimum(far, ops::subtract(period, far));
    return ops::add(low(), ops::where(none, number(0, near), near));
  }

  std::string padding_;
  bool corners_;
  Tensor size_, last_;
};

// Weights of the four pixels around a place that is `t` behind the second of them.
std::array<Tensor, 4> weights(const Tensor& t) {
  constexpr double kA = -0.75;
  const auto near = [](const Tensor& d) {  // ((a + 2) d - (a + 3)) d^2 + 1
    return ops::scale(ops::multiply(ops::multiply(ops::scale(d, kA + 2, -(kA + 3)), d), d), 1, 1);
  };
  const auto far = [](const Tensor& d) {  // ((a d - 5 a) d + 8 a) d - 4 a
    const Tensor inner = ops::scale(ops::multiply(ops::scale(d, kA, -5 * kA), d), 1, 8 * kA);
    return ops::scale(ops::multiply(inner, d), 1, -4 * kA);
  };
  const Tensor rest = ops::scale(t, -1, 1);
  return {far(ops::scale(t, 1, 1)), near(t), near(rest), far(ops::scale(rest, 1, 1))};
}

}  // namespace

Tensor sample_cubic(const Node& n, const Tensor& x, const Tensor& grid, const std::string& padding,
                    bool corners) {
  n.expect(x.rank() == 4 && grid.rank() == 4, "images and places of two numbers are expected");
  const Side rows(x, 2, padding, corners), columns(x, 3, padding, corners);
  const Tensor places = ops::flatten(as(grid, x.dtype()), 1, 2);  // [n, h' w', 2]
  const Tensor at_x = columns.pixels(ops::pick(places, 2, 0));
  const Tensor at_y = rows.pixels(ops::pick(places, 2, 1));
  const Tensor first_x = ops::floor(at_x), first_y = ops::floor(at_y);
  const std::array<Tensor, 4> weights_x = weights(ops::subtract(at_x, first_x)),
                              weights_y = weights(ops::subtract(at_y, first_y));
  const Tensor pixels = ops::flatten(x, 2, 3);
  op::IntArray form = shape_of(x), result = form;  // [n, c, h' w']
  form.values.resize(2);
  std::erase_if(form.symbols, [](const auto& s) { return s.position > 1; });
  result = form;
  ops::push_size(form, places, 1);
  ops::push_size(result, grid, 1);
  ops::push_size(result, grid, 2);
  Tensor sum;
  for (int i = 0; i < 16; ++i) {
    const auto a = static_cast<size_t>(i / 4), b = static_cast<size_t>(i % 4);
    const Tensor y = ops::scale(first_y, 1, i / 4 - 1), across = ops::scale(first_x, 1, i % 4 - 1);
    const Tensor index =
        ops::add(ops::multiply(as(rows.inside(y), DType::int64), as(columns.size(), DType::int64)),
                 as(columns.inside(across), DType::int64));
    const Tensor found =
        call("take_along", {pixels, ops::expand(ops::unsqueeze(index, {1}), form)}, {{"axis", 2}});
    const Tensor weight = ops::multiply(ops::multiply(weights_y[a], rows.counts(y)),
                                        ops::multiply(weights_x[b], columns.counts(across)));
    const Tensor part = ops::multiply(found, ops::unsqueeze(weight, {1}));
    sum = sum.defined() ? ops::add(sum, part) : part;
  }
  return ops::reshape(sum, result);
}

}  // namespace argosy::infer::onnx
