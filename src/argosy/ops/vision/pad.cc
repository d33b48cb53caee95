#include <algorithm>
#include <complex>
#include <cstring>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/items.h"
#include "argosy/kernels/cpu/scratch.h"
#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/vision/pad.h"

// pad: every element of the output is one of the input's or a constant, axis by axis.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::IntArray;
using op::KernelFrame;
using op::Save;
using op::Scalar;

enum class Mode { constant, reflect, replicate, circular };

Mode mode_of(const std::string& mode) {
  if (mode == "constant") return Mode::constant;
  if (mode == "reflect") return Mode::reflect;
  if (mode == "replicate") return Mode::replicate;
  ARGOSY_CHECK(mode == "circular", invalid_argument)
      << "[pad] mode must be 'constant', 'reflect', 'replicate' or 'circular', got '" << mode
      << "'. Do this: pass one of these.";
  return Mode::circular;
}

bool is_symbol(const IntArray& a, size_t i) {
  for (const auto& s : a.symbols)
    if (s.position == i) return true;
  return false;
}

Shape padded(const Shape& x, const PadAttrs& a) {
  Shape out = x;
  const Mode mode = mode_of(a.mode);
  ARGOSY_CHECK(static_cast<int>(a.paddings.size()) == 2 * x.rank(), invalid_argument)
      << "[pad] expected two paddings for each of x's " << x.rank() << " axes, got "
      << a.paddings.size() << " for x " << x
      << ". Do this: pass (before, after) for each axis, or for the spatial axes of an x of 3 to 5 "
         "dimensions.";
  for (int d = 0; d < x.rank(); ++d) {
    const size_t i = 2 * static_cast<size_t>(d);
    if (x[d] < 0 || is_symbol(a.paddings, i) || is_symbol(a.paddings, i + 1)) {
      out[d] = kUnknown;
      continue;
    }
    const int64_t before = a.paddings[i], after = a.paddings[i + 1];
    if (before == 0 && after == 0) continue;
    int64_t size = 0;
    ARGOSY_CHECK(
        !__builtin_add_overflow(x[d], before, &size) && !__builtin_add_overflow(size, after, &size),
        memory)
        << "[pad] axis " << d << " of x " << x << " would have more elements than can be counted: "
        << "the paddings are " << before << " and " << after << ". Do this: pad less.";
    ARGOSY_CHECK(size >= 0, invalid_argument)
        << "[pad] the paddings " << before << " and " << after << " cut more than axis " << d
        << " of x " << x << " has. Do this: cut less.";
    ARGOSY_CHECK(mode != Mode::reflect || std::max(before, after) < x[d], invalid_argument)
        << "[pad] reflect mode pads less than the size of the axis: axis " << d << " of x " << x
        << " has paddings " << before << " and " << after
        << ". Do this: pad less, or use mode='replicate' or 'circular'.";
    ARGOSY_CHECK(mode == Mode::constant || x[d] > 0, invalid_argument)
        << "[pad] mode '" << a.mode << "' needs elements to repeat, axis " << d << " of x " << x
        << " has none. Do this: use mode='constant'.";
    out[d] = size;
  }
  return out;
}
void pad_infer(InferContext& c, const PadAttrs& a) {
  c.out[0].shape = padded(c.in[0].shape(), a);
}

// For each place of a padded axis the place of the input, or -1 for the constant.
std::vector<int64_t> sources(Mode mode, int64_t in, int64_t out, int64_t before) {
  std::vector<int64_t> from(static_cast<size_t>(out));
  for (int64_t k = 0; k < out; ++k) {
    int64_t s = k - before;
    if (s < 0 || s >= in) switch (mode) {
        case Mode::constant:
          s = -1;
          break;
        case Mode::reflect:
          s = s < 0 ? -s : 2 * (in - 1) - s;
          break;
        case Mode::replicate:
          s = std::clamp<int64_t>(s, 0, in - 1);
          break;
        case Mode::circular:
          s = (s % in + in) % in;
          break;
      }
    from[static_cast<size_t>(k)] = s;
  }
  return from;
}

// Axes seen as [outer.., row axis, inner]: the row axis is the last one padded.
struct PadLayout {
  PadLayout(const Shape& x, const Shape& y, const PadAttrs& a) {
    const Mode mode = mode_of(a.mode);
    int last = 0;
    for (int d = 0; d < x.rank(); ++d) {
      const auto i = 2 * static_cast<size_t>(d);
      if (a.paddings[i] != 0 || a.paddings[i + 1] != 0) last = d;
    }
    for (int d = last + 1; d < x.rank(); ++d) inner *= x[d];
    for (int d = 0; d <= last; ++d) {
      in.push_back(x[d]);
      out.push_back(y[d]);
      before.push_back(a.paddings[2 * static_cast<size_t>(d)]);
      from.push_back(sources(mode, x[d], y[d], before.back()));
    }
    for (size_t d = 0; d + 1 < out.size(); ++d) rows *= out[d];
  }
  // Calls use(r, source) for the output's rows [first, last): source is the input's row that r
  // repeats, or -1.
  template <class F>
  void for_rows(int64_t first, int64_t last, F use) const {
    const int outer = static_cast<int>(out.size()) - 1;
    int64_t place[kMaxRank] = {};
    for (int64_t d = outer, r = first; d-- > 0; r /= out[d]) place[d] = r % out[d];
    if (outer == 0) return first < last ? use(first, 0) : void();
    const int inmost = outer - 1;  // of the axes of rows
    const int64_t* const next = from[inmost].data();
    for (int64_t r = first; r < last;) {
      int64_t row = 0;
      bool inside = true;
      for (int d = 0; d < inmost; ++d) {
        const int64_t s = from[d][static_cast<size_t>(place[d])];
        inside &= s >= 0;
        row = row * in[d] + s;
      }
      row *= in[inmost];
      const int64_t end = std::min(out[inmost], place[inmost] + last - r);
      for (int64_t p = place[inmost]; p < end; ++p, ++r)
        use(r, inside && next[p] >= 0 ? row + next[p] : -1);
      place[inmost] = out[inmost];
      for (int d = inmost; place[d] == out[d] && d > 0; --d) {
        place[d] = 0;
        ++place[d - 1];
      }
    }
  }
  int64_t rows = 1, inner = 1;
  std::vector<int64_t> in, out, before;
  std::vector<std::vector<int64_t>> from;
};

// Places [first, last) of a row of `inner` elements at each place.
template <class T>
void pad_border(const int64_t* from, int64_t inner, const T* row, T fill, T* to, int64_t first,
                int64_t last) {
  for (int64_t k = first; k < last; ++k) {
    const int64_t s = from[k];
    if (s < 0)
      std::fill_n(to + k * inner, inner, fill);
    else
      std::copy_n(row + s * inner, inner, to + k * inner);
  }
}

template <class T>
void pad_rows(const PadLayout& at, const T* x, T fill, T* y) {
  const int64_t in = at.in.back(), out = at.out.back(), inner = at.inner;
  const int64_t* const from = at.from.back().data();
  // The stretch of a row that is copied as it is.
  const int64_t begin = std::clamp<int64_t>(at.before.back(), 0, out);
  const int64_t end = std::clamp<int64_t>(at.before.back() + in, begin, out);
  const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, out * inner));
  const int64_t bytes = (end - begin) * inner * static_cast<int64_t>(sizeof(T));
  const int64_t skipped = end > begin ? from[begin] * inner : 0;
  // By value: what is written could be what a reference refers to.
  auto pad_row = [=](int64_t r, int64_t source) {
    T* to = y + r * out * inner;
    if (source < 0) {
      std::fill_n(to, out * inner, fill);
      return;
    }
    const T* row = x + source * in * inner;
    if (end > begin)
      cpu::move_row(reinterpret_cast<char*>(to + begin * inner),
                    reinterpret_cast<const char*>(row + skipped), bytes);
    if (inner == 1) {
      for (int64_t k = 0; k < begin; ++k) to[k] = from[k] < 0 ? fill : row[from[k]];
      for (int64_t k = end; k < out; ++k) to[k] = from[k] < 0 ? fill : row[from[k]];
      return;
    }
    pad_border(from, inner, row, fill, to, 0, begin);
    pad_border(from, inner, row, fill, to, end, out);
  };
  parallel_for(at.rows, grain,
               [&](int64_t first, int64_t last) { at.for_rows(first, last, pad_row); });
}

void pad_run(KernelFrame& f, const PadAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  if (y.numel() == 0) return;
  if (x.rank() == 0) return op::copy_into(y, x);
  const PadLayout at(x.shape(), y.shape(), a);
  const Tensor fill = constant(a.value, x.dtype());
  cpu::with_item(item_size(x.dtype()), [&]<class T>(T) {
    pad_rows(at, static_cast<const T*>(x.raw()), *static_cast<const T*>(fill.raw()),
             static_cast<T*>(y.raw()));
  });
}

// --- gradient: what each element of x was repeated to, added up ---

void pad_grad_infer(InferContext& c, const PadAttrs& a) {
  expect_shape(c, 0, padded(c.in[1].shape(), a));
  c.out[0] = {c.in[1].shape(), c.in[0].dtype()};
}

// One axis: [outer, out, inner] to [outer, in, inner].
template <class T>
void add_up(const std::vector<int64_t>& from, int64_t outer, int64_t in, int64_t inner, const T* dy,
            T* dx) {
  const auto out = static_cast<int64_t>(from.size());
  const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, out * inner));
  parallel_for(outer, grain, [&](int64_t o, int64_t last) {
    for (; o < last; ++o) {
      T* to = dx + o * in * inner;
      const T* g = dy + o * out * inner;
      std::fill_n(to, in * inner, T(0));
      for (int64_t k = 0; k < out; ++k) {
        const int64_t s = from[static_cast<size_t>(k)];
        if (s < 0) continue;
        for (int64_t i = 0; i < inner; ++i)
          to[s * inner + i] = static_cast<T>(to[s * inner + i] + g[k * inner + i]);
      }
    }
  });
}

template <class T>
void pad_grad_any(const PadLayout& at, int64_t numel, const T* dy, T* dx) {
  cpu::Scratch scratch(static_cast<size_t>(2 * numel) * sizeof(T));
  T* buffers[] = {scratch.as<T>(), scratch.as<T>(numel)};
  int64_t outer = 1, inner = at.inner;
  for (int64_t n : at.out) inner *= n;
  int turn = 0;
  for (size_t d = 0; d < at.in.size(); ++d) {
    inner /= at.out[d];
    const bool last = d + 1 == at.in.size();
    if (last || at.in[d] != at.out[d] || at.before[d] != 0) {
      T* to = last ? dx : buffers[turn++ % 2];
      add_up(at.from[d], outer, at.in[d], inner, dy, to);
      dy = to;
    }
    outer *= at.in[d];
  }
}

// Nothing was repeated: dx is the part of dy that x was copied to, and 0 where x was cut.
void pad_grad_constant(const Tensor& dy, const Tensor& dx, const PadAttrs& a) {
  Shape part = dx.shape();
  int64_t to = 0, from = 0;
  for (int d = 0; d < dx.rank(); ++d) {
    const int64_t before = a.paddings[2 * static_cast<size_t>(d)];
    const int64_t first = std::max<int64_t>(0, -before);
    part[d] = std::min(dx.dim(d), dy.dim(d) - before) - first;
    to += first * dx.strides()[d];
    from += (first + before) * dy.strides()[d];
  }
  const bool nothing = std::any_of(part.begin(), part.end(), [](int64_t n) { return n <= 0; });
  if (nothing || !(part == dx.shape())) op::copy_into(dx, constant(0, dx.dtype()));
  if (!nothing) op::copy_into(dx.view(part, dx.strides(), to), dy.view(part, dy.strides(), from));
}

void pad_grad_run(KernelFrame& f, const PadAttrs& a) {
  const Tensor &dy = f.in[0], &dx = f.out[0];
  if (dx.numel() == 0) return;
  if (dy.numel() == 0) return op::copy_into(dx, constant(0, dx.dtype()));
  if (dx.rank() == 0) return op::copy_into(dx, dy);
  if (mode_of(a.mode) == Mode::constant) return pad_grad_constant(dy, dx, a);
  const PadLayout at(dx.shape(), dy.shape(), a);
  int64_t most = dy.numel(), size = dy.numel();  // elements of the largest stage
  for (size_t d = 0; d < at.in.size(); ++d)
    most = std::max(most, size = size / at.out[d] * at.in[d]);
  dispatch_types<float16, bfloat16, float, double, std::complex<float>, std::complex<double>>(
      dx.dtype(), [&]<class T>(T) { pad_grad_any(at, most, dy.data<T>(), dx.data<T>()); });
}

Tensors pad_grad_grad(const GradCall& c, const PadAttrs& a);

ARGOSY_OP(pad_grad, PadAttrs)
    .doc("The gradient of pad: dy added up over the repeats of each element of x.")
    .input("dy", kFloating | kComplex)
    .input("x")
    .shape_only()
    .output("dx")
    .infer(pad_grad_infer)
    .kernel("axis_by_axis", pad_grad_run)
    .gradient(pad_grad_grad)
    .done();

Tensors pad_gradient(const GradCall& c, const PadAttrs& a) {
  return pad_grad_op(c.dy(), c.in[0], a);
}

ARGOSY_OP(pad, PadAttrs)
    .doc(
        "x with `paddings` = (before, after) more elements on each axis: of one value, or "
        "reflected (without the border element), replicated or wrapped around. Negative paddings "
        "cut.")
    .shape("x [*s] -> [*s']")
    .input("x", kAny, Save::shape)
    .output("out")
    .infer(pad_infer)
    .kernel("rows", pad_run)
    .gradient(pad_gradient)
    .done();

Tensors pad_grad_grad(const GradCall& c, const PadAttrs& a) {
  return {pad_op(c.dy(), {a.paddings, a.mode, 0.0}), Tensor()};
}

}  // namespace
}  // namespace argosy::ops
