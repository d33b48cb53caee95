#include <cmath>
#include <numbers>

#include "argosy/infer/onnx/common.h"

// Fourier transforms, windows, spectra and counts of n-grams.
namespace argosy::infer::onnx {
namespace {

// [.., 2] or, of real numbers, [.., 1] as complex numbers [..] with parts of type `dtype`.
Tensor to_complex(const Node& n, const Tensor& x, DType dtype) {
  const Tensor wide = as(x, dtype);
  n.expect(x.rank() >= 1 && (x.dim(-1) == 1 || x.dim(-1) == 2),
           "the last dimension is that of real and imaginary parts");
  if (x.dim(-1) == 2) return call("as_complex", {wide});
  const Tensor real = ops::squeeze(wide, op::IntArray{x.rank() - 1});
  return call("complex", {real, ops::zeros_like(real)});
}

Tensor transform(const Tensor& x, int axis, bool forward, double scale) {
  return call("fft_c2c", {x},
              {{"axes", std::vector<int64_t>{axis}}, {"forward", forward}, {"scale", scale}});
}

// x with `length` places along axis: cut, or with zeros behind.
Tensor with_length(const Node& n, const Tensor& x, int axis, int64_t length) {
  const int64_t size = x.dim(axis);
  if (size < 0) n.session.need_shapes(n);
  if (size == length) return x;
  if (size > length) return ops::slice(x, axis, 0, length);
  op::IntArray shape = shape_of(x);
  shape.values[static_cast<size_t>(axis)] = length - size;
  return ops::concat(std::array{x, ops::full(shape, op::Scalar(0.0), x.dtype())}, axis);
}

Items dft(const Node& n) {
  const Tensor& x = n.in(0);
  const bool inverse = n.flag("inverse"), onesided = n.flag("onesided");
  // One dimension more than the complex numbers have.
  int64_t said = n.opset < 20 ? n.integer("axis", 1) : n.has(2) ? n.known_integer(2) : -2;
  const int axis = n.axis(said, x.rank());
  n.expect(axis < x.rank() - 1, "the last dimension is that of real and imaginary parts");
  Tensor z = to_complex(n, x, DType::float64);
  int64_t length = n.has(1) ? n.known_integer(1) : 0;
  if (inverse && onesided) {
    // The half that is left out mirrors this one.
    if (z.dim(axis) < 0) n.session.need_shapes(n);
    if (length == 0) length = 2 * (z.dim(axis) - 1);
    z = with_length(n, z, axis, length / 2 + 1);
    if (length > 2) {
      const Tensor inner = ops::slice(z, axis, 1, (length + 1) / 2);
      const Tensor mirrored = call("flip", {call("conj", {inner})}, {{"axis", op::IntArray{axis}}});
      z = ops::concat(std::array{z, mirrored}, axis);
    }
    const Tensor y = transform(z, axis, false, 1.0 / static_cast<double>(length));
    return {as(ops::unsqueeze(ops::real(y), op::IntArray{-1}), x.dtype())};
  }
  if (length == 0) length = z.dim(axis);
  if (length < 0) n.session.need_shapes(n);
  z = with_length(n, z, axis, length);
  Tensor y = transform(z, axis, !inverse, inverse ? 1.0 / static_cast<double>(length) : 1.0);
  if (onesided) y = ops::slice(y, axis, 0, length / 2 + 1);
  return {as(call("as_real", {y}), x.dtype())};
}

Items stft(const Node& n) {
  const Tensor& x = n.in(0);
  n.expect(x.rank() == 3 || x.rank() == 2, "a signal [batch, length, 1 or 2] is expected");
  const Tensor signal = x.rank() == 2 ? ops::unsqueeze(x, op::IntArray{2}) : x;
  const int64_t step = n.known_integer(1);
  const bool onesided = n.flag("onesided", true);
  n.expect(step > 0 && (n.has(2) || n.has(3)),
           "a positive step and a window or its length are expected");
  const int64_t length = n.has(3) ? n.known_integer(3) : n.in(2).dim(0);
  n.expect(length > 0, "the window has to have a known length");
  // Places of the elements of each frame.
  op::IntArray count;
  if (signal.dim(1) >= 0) {
    n.expect(signal.dim(1) >= length, "the signal is shorter than a frame");
    push(count, (signal.dim(1) - length) / step + 1);
  } else {
    const Tensor room = ops::subtract(ops::size_of(signal, 1, DType::int64),
                                      ops::constant(op::Scalar(length - step), DType::int64));
    count.symbols.push_back(
        {0, call("floor_divide", {room, ops::constant(op::Scalar(step), DType::int64)})});
    push(count, kUnknown);
  }
  const Tensor starts =
      ops::multiply(positions(count), ops::constant(op::Scalar(step), DType::int64));
  const Tensor places =
      ops::add(ops::unsqueeze(starts, op::IntArray{1}), positions(op::IntArray{length}));
  Tensor frames = ops::take_slices(signal, places, 1);  // [batch, frames, length, parts]
  if (n.has(2)) frames = ops::multiply(frames, ops::unsqueeze(n.in(2), op::IntArray{1}));
  Tensor y = transform(
      to_complex(n, frames, x.dtype() == DType::float64 ? x.dtype() : DType::float32), 2, true, 1);
  if (onesided) y = ops::slice(y, 2, 0, length / 2 + 1);
  return {as(call("as_real", {y}), x.dtype())};
}

// --- windows: sums of cosines ---

Items window(const Node& n, std::array<double, 3> parts) {
  const auto dtype = dtype_of_element(n.element_attribute("output_datatype", kFloat));
  if (!dtype) n.unsupported("this output_datatype");
  const bool periodic = n.flag("periodic", true);
  const int64_t size = n.known_integer(0);
  n.expect(size >= 0 && size < kMaxFolded, "the size cannot be");
  const double period = static_cast<double>(periodic ? size : size - 1);
  Tensor t = Tensor::empty({size}, DType::float64);
  for (int64_t i = 0; i < size; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / period;
    t.data<double>()[i] = parts[0] - parts[1] * std::cos(angle) + parts[2] * std::cos(2 * angle);
  }
  return {as(t, *dtype)};
}
Items hann(const Node& n) {
  return window(n, {0.5, 0.5, 0});
}
Items hamming(const Node& n) {
  return window(n, {25.0 / 46, 21.0 / 46, 0});
}
Items blackman(const Node& n) {
  return window(n, {0.42, 0.5, 0.08});
}

Items mel_weights(const Node& n) {
  const auto dtype = dtype_of_element(n.element_attribute("output_datatype", kFloat));
  if (!dtype) n.unsupported("this output_datatype");
  const int64_t bins = n.known_integer(0), length = n.known_integer(1), rate = n.known_integer(2);
  const double low = n.known_real(3), high = n.known_real(4);
  const int64_t rows = length / 2 + 1;
  n.expect(bins > 0 && rate > 0 && length >= 0 && rows <= kMaxFolded / bins, "the sizes cannot be");
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel(high) - mel(low)) / static_cast<double>(bins + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double hertz =
        700 * (std::pow(10, (static_cast<double>(i) * step + mel(low)) / 2595) - 1);
    edges.push_back(static_cast<int64_t>(
        std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate))));
    n.expect(edges.back() >= 0 && edges.back() <= rows, "an edge lies outside of the spectrum");
  }
  Tensor t = Tensor::empty({rows, bins}, DType::float64);
  std::fill_n(t.data<double>(), t.numel(), 0.0);
  auto set = [&](int64_t row, int64_t bin, double v) {
    if (row < rows) t.data<double>()[row * bins + bin] = v;
  };
  for (int64_t b = 0; b < bins; ++b) {
    const auto i = static_cast<size_t>(b);
    const int64_t left = edges[i], center = edges[i + 1], right = edges[i + 2];
    if (left == center) set(center, b, 1);
    for (int64_t j = left; left < center && j <= center; ++j)
      set(j, b, static_cast<double>(j - left) / static_cast<double>(center - left));
    for (int64_t j = center; center < right && j < right; ++j)
      set(j, b, static_cast<double>(right - j) / static_cast<double>(right - center));
  }
  return {as(t, *dtype)};
}

// --- n-grams ---

// How often each of `grams` [count, length] is in the rows of x [batch, size], each element `gap`
// places behind the one before.
Tensor count_grams(const Tensor& x, const Tensor& grams, int64_t gap) {
  const int64_t length = grams.dim(1), windows = x.dim(1) - gap * (length - 1);
  if (windows <= 0) {
    op::IntArray shape = ops::size_along(x, 0);
    shape.single = false;
    push(shape, grams.dim(0));
    return ops::full(shape, op::Scalar(0.0), DType::float32);
  }
  Tensor all;
  for (int64_t k = 0; k < length; ++k) {
    const Tensor column = ops::slice(x, 1, k * gap, k * gap + windows);
    const Tensor hit = ops::equal(ops::unsqueeze(column, op::IntArray{2}), ops::pick(grams, 1, k));
    all = all.defined() ? ops::logical_and(all, hit) : hit;
  }
  return ops::sum(as(all, DType::float32), op::IntArray{1});
}

Items tfidf(const Node& n) {
  const std::string mode = n.text("mode", "");
  const int64_t least = n.integer("min_gram_length"), most = n.integer("max_gram_length"),
                skips = n.integer("max_skip_count");
  const std::vector<int64_t> starts = n.integers("ngram_counts"),
                             columns = n.integers("ngram_indexes"),
                             pool = n.integers("pool_int64s");
  const std::vector<double> weights = n.reals("weights");
  if (n.has_attribute("pool_strings")) n.unsupported("a pool of strings");
  n.expect(mode == "TF" || mode == "IDF" || mode == "TFIDF", "mode is none of TF, IDF and TFIDF");
  n.expect(weights.empty() || weights.size() == columns.size(),
           "one weight for each n-gram is expected");
  const bool flat = n.rank() == 1;
  const Tensor x = as(flat ? ops::unsqueeze(n.in(), op::IntArray{0}) : n.in(), DType::int64);
  n.expect(x.rank() == 2, "one or two dimensions are expected");
  if (x.dim(1) < 0) n.session.need_shapes(n);
  std::vector<Tensor> counts;  // [batch, grams of a length]
  int64_t width = 0, seen = 0;
  for (int64_t column : columns) width = std::max(width, column + 1);
  n.expect(width <= kMaxFolded / 4, "an n-gram's place cannot be");
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t length = static_cast<int64_t>(i) + 1;
    const int64_t begin = starts[i],
                  end = i + 1 < starts.size() ? starts[i + 1] : static_cast<int64_t>(pool.size());
    n.expect(begin >= 0 && begin <= end && end <= static_cast<int64_t>(pool.size()) &&
                 (end - begin) % length == 0,
             "ngram_counts do not fit the pool");
    const int64_t count = (end - begin) / length;
    seen += count;
    if (count == 0) continue;
    const Tensor grams =
        ops::reshape(vector_of(std::span(pool).subspan(static_cast<size_t>(begin),
                                                       static_cast<size_t>(end - begin))),
                     op::IntArray{count, length});
    Tensor sum;
    for (int64_t gap = 1; gap <= (length == 1 ? 1 : skips + 1); ++gap) {
      Tensor part = count_grams(x, grams, gap);
      if (length < least || length > most) part = ops::zeros_like(part);
      sum = sum.defined() ? ops::add(sum, part) : part;
    }
    counts.push_back(sum);
  }
  n.expect(seen == static_cast<int64_t>(columns.size()) && seen > 0,
           "the pool does not fit ngram_indexes");
  Tensor all = ops::concat(counts, 1);
  if (mode == "IDF") all = as(ops::greater_than(all, number(0, all)), all.dtype());
  if (mode != "TF" && !weights.empty()) {
    Tensor w = Tensor::empty({seen}, DType::float32);
    std::copy(weights.begin(), weights.end(), w.data<float>());
    all = ops::multiply(all, w);
  }
  // Each count to its column; what no n-gram has is the 0 behind them.
  std::vector<int64_t> from(static_cast<size_t>(width), seen);
  for (size_t i = 0; i < columns.size(); ++i) {
    n.expect(columns[i] >= 0, "an n-gram's place cannot be");
    from[static_cast<size_t>(columns[i])] = static_cast<int64_t>(i);
  }
  const Tensor nothing = ops::zeros_like(ops::slice(all, 1, 0, 1));
  const Tensor y = ops::take_slices(ops::concat(std::array{all, nothing}, 1), vector_of(from), 1);
  return {flat ? ops::squeeze(y, op::IntArray{0}) : y};
}

constexpr Row kRows[] = {
    {"BlackmanWindow", blackman},     {"DFT", dft},
    {"HammingWindow", hamming},       {"HannWindow", hann},
    {"MelWeightMatrix", mel_weights}, {"STFT", stft},
    {"TfIdfVectorizer", tfidf},
};

}  // namespace

std::span<const Row> signal_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx
