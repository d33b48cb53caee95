#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/elementwise.h"
#include "argosy/kernels/cpu/rows.h"
#include "argosy/ops/loss/loss.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/norm/parts.h"
#include "argosy/ops/reduce/reduce.h"

// Losses over all alignments of a sequence with its labels: CTC and RNN-T. The gradient is computed
// with the loss and kept; there is no second derivative, and whoever asks is told.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kImpossible ? a : a + std::log1p(std::exp(b - a));
}

// log softmax of x in double, contiguous.
Tensor log_probabilities(const Tensor& x) {
  Tensor p = as_dtype(x, DType::float64);
  if (p.raw() == x.raw()) {
    p = Tensor::empty(x.shape(), DType::float64);
    op::copy_into(p, x);
  }
  const int64_t classes = x.shape().back();
  if (p.numel())
    cpu::log_softmax(DType::float64, p.raw(), p.raw(), p.numel() / classes, classes, 1);
  return p;
}

void check_lengths(const char* op, const char* name, const Tensor& t, int64_t batch, int64_t most) {
  for (int64_t i = 0; i < batch; ++i) {
    const int64_t v = t.data<int64_t>()[i];
    ARGOSY_CHECK(0 <= v && v <= most, invalid_argument)
        << '[' << op << "] " << name << '[' << i << "] is out of range: expected 0 to " << most
        << ", got " << v << ". Do this: check the lengths against the padded sizes.";
  }
}

void check_batch(const char* op, const Inputs& in, int64_t batch) {
  for (size_t i = 2; i < 4; ++i)
    ARGOSY_CHECK(in[i].numel() == batch || in[i].numel() < 0 || batch < 0, invalid_argument)
        << '[' << op << "] " << (i == 2 ? "input_lengths" : "label_lengths")
        << " must have one element for each of the " << batch << " sequences, got " << in[i]
        << ". Do this: pass one length for each sequence of the batch.";
}

// What was kept, times the gradient of each sequence's loss. Inputs: scores, kept, dy.
Tensor by_sequence(const Tensor& dy, const Tensor& kept) {
  op::IntArray shape{-1};
  const int batch_axis = kept.rank() == 3 ? 1 : 0;
  for (int i = batch_axis + 1; i < kept.rank(); ++i) shape.values.push_back(1);
  return cast(reshape(dy, shape), kept.dtype());
}
void kept_infer(InferContext& c, const op::NoAttrs&) {
  c.out[0] = {c.in[0].shape(), c.in[0].dtype()};
}
Tensors kept_parts(const Inputs& in, const op::NoAttrs&) {
  return cast(multiply(in[1], by_sequence(in[2], in[1])), in[0].dtype());
}
Tensors kept_second(const GradCall& c, const op::NoAttrs&) {
  ARGOSY_CHECK(!c.needs(0), not_implemented)
      << "[ctc_loss, rnnt_loss] a loss over alignments has no second derivative by its scores. Do "
         "this: leave create_graph off, or detach the scores.";
  const Tensor& kept = c.in[1];
  op::IntArray others;
  for (int i = 0; i < kept.rank(); ++i)
    if (i != (kept.rank() == 3 ? 1 : 0)) others.values.push_back(i);
  Tensor d = sum(multiply(cast(c.dy(), kept.dtype()), kept), others);
  return {Tensor(), Tensor(), cast(reshape_like(d, c.in[2]), c.in[2].dtype())};
}

ARGOSY_OP(alignment_grad, op::NoAttrs)
    .doc("The gradient of scores from that of each sequence's loss and what was kept with these.")
    .input("scores", kFloating, op::Save::shape)
    .input("kept", kFloating, op::Save::value)
    .input("dy", kFloating, op::Save::shape)
    .output("dscores")
    .infer(kept_infer)
    .compose(kept_parts)
    .gradient(kept_second)
    .done();

template <class A>
Tensors kept_gradient(const GradCall& c, const A&) {
  return {alignment_grad_op(c.in[0], c.out(1), c.dy()), Tensor(), Tensor(), Tensor()};
}

// --- CTC ---

void ctc_rows_infer(InferContext& c, const CtcRowsAttrs& a) {
  const Tensor &x = c.in[0], &labels = c.in[1];
  ARGOSY_CHECK(x.rank() == 3, invalid_argument)
      << "[ctc_loss] log_probs must be [time, batch, classes], got " << x
      << ". Do this: transpose batch-first scores with perm=[1, 0, 2].";
  ARGOSY_CHECK(
      labels.rank() == 2 && (labels.dim(0) == x.dim(1) || labels.dim(0) < 0 || x.dim(1) < 0),
      invalid_argument)
      << "[ctc_loss] labels must be [batch, longest label]: log_probs is " << x << ", labels is "
      << labels << ". Do this: pad the labels to [batch, longest].";
  check_batch("ctc_loss", c.in, x.dim(1));
  ARGOSY_CHECK(0 <= a.blank && (x.dim(2) < 0 || a.blank < x.dim(2)), invalid_argument)
      << "[ctc_loss] blank must be a class, 0 <= blank < " << x.dim(2) << ", got " << a.blank
      << ". Do this: pass the number of the blank class, 0 by default.";
  c.out[0].shape = {x.dim(1)};
  c.out[1] = {x.shape(), statistics_dtype(x.dtype())};
}

// x = f(x), over vectors where the library has them.
void for_each(const cpu::LoopTable& f, double* x, int64_t n) {
  char* const ptrs[] = {reinterpret_cast<char*>(x), reinterpret_cast<char*>(x)};
  const int64_t steps[] = {sizeof(double), sizeof(double)};
  f[DType::float64](ptrs, steps, n, nullptr);
}

// out[s] = log(e^from(s, 0) + e^from(s, 1) + e^from(s, 2)) for n of them. room: of 5 n numbers.
template <class From>
void add_three(int64_t n, double* room, double* out, From&& from) {
  double *most = room + 3 * n, *sum = room + 4 * n;
  for (int64_t s = 0; s < n; ++s) {
    const double a = from(s, 0), b = from(s, 1), c = from(s, 2);
    const double high = std::max(a, std::max(b, c));
    most[s] = high == kImpossible ? 0 : high;
    room[s] = a - most[s];
    room[n + s] = b - most[s];
    room[2 * n + s] = c - most[s];
  }
  for_each(cpu::exp_loops(), room, 3 * n);
  for (int64_t s = 0; s < n; ++s) sum[s] = room[s] + room[n + s] + room[2 * n + s];
  for_each(cpu::log_loops(), sum, n);
  for (int64_t s = 0; s < n; ++s) out[s] = most[s] + sum[s];
}

// One sequence. p(t, k): log probability; add(t, k, v) adds to the gradient of the scores.
struct CtcSequence {
  const double* p;    // first step's row of this sequence
  int64_t time_step;  // from one step to the next
  int64_t times;      // steps of this sequence
  int64_t classes;
  std::vector<int64_t> path;  // labels with blanks between and around

  double run(double* gradient) const {
    const int64_t n = static_cast<int64_t>(path.size());
    std::vector<double> alpha(static_cast<size_t>(times * n), kImpossible), beta = alpha;
    std::vector<double> room(static_cast<size_t>(5 * n)), coming(static_cast<size_t>(n));
    std::vector<char> skips(static_cast<size_t>(n + 2));  // may s be reached from s - 2?
    for (int64_t s = 3; s < n; s += 2)
      skips[static_cast<size_t>(s)] =
          path[static_cast<size_t>(s)] != path[static_cast<size_t>(s - 2)];
    auto at = [&](int64_t t, int64_t s) { return p[t * time_step + path[static_cast<size_t>(s)]]; };
    auto row = [&](std::vector<double>& v, int64_t t) { return v.data() + t * n; };
    for (int64_t s = 0; s < std::min<int64_t>(2, n); ++s) row(alpha, 0)[s] = at(0, s);
    for (int64_t t = 1; t < times; ++t) {
      const double* before = row(alpha, t - 1);
      double* now = row(alpha, t);
      add_three(n, room.data(), now, [&](int64_t s, int64_t back) {
        const bool open = back <= s && (back < 2 || skips[static_cast<size_t>(s)]);
        return open ? before[s - back] : kImpossible;
      });
      for (int64_t s = 0; s < n; ++s) now[s] += at(t, s);
    }
    // beta leaves out the step's own probability.
    for (int64_t s = std::max<int64_t>(0, n - 2); s < n; ++s) row(beta, times - 1)[s] = 0;
    for (int64_t t = times - 2; t >= 0; --t) {
      for (int64_t s = 0; s < n; ++s)
        coming[static_cast<size_t>(s)] = row(beta, t + 1)[s] + at(t + 1, s);
      add_three(n, room.data(), row(beta, t), [&](int64_t s, int64_t on) {
        const bool open = s + on < n && (on < 2 || skips[static_cast<size_t>(s + 2)]);
        return open ? coming[static_cast<size_t>(s + on)] : kImpossible;
      });
    }
    double total = row(alpha, times - 1)[n - 1];
    if (n > 1) total = log_add(total, row(alpha, times - 1)[n - 2]);
    if (total == kImpossible) return -total;
    for (int64_t t = 0; t < times; ++t) {
      double *to = gradient + t * time_step, *both = room.data();
      std::copy_n(p + t * time_step, classes, to);
      for_each(cpu::exp_loops(), to, classes);
      for (int64_t s = 0; s < n; ++s) both[s] = row(alpha, t)[s] + row(beta, t)[s] - total;
      for_each(cpu::exp_loops(), both, n);
      for (int64_t s = 0; s < n; ++s) to[path[static_cast<size_t>(s)]] -= both[s];
    }
    return -total;
  }
};

void ctc_rows_run(KernelFrame& f, const CtcRowsAttrs& a) {
  const Tensor& x = f.in[0];
  const int64_t batch = x.dim(1), classes = x.dim(2);
  Tensor p = log_probabilities(x), labels = as_dtype(f.in[1], DType::int64);
  Tensor times = as_dtype(f.in[2], DType::int64), lengths = as_dtype(f.in[3], DType::int64);
  check_lengths("ctc_loss", "input_lengths", times, batch, x.dim(0));
  check_lengths("ctc_loss", "label_lengths", lengths, batch, labels.dim(1));
  Tensor loss = Tensor::empty({batch}, DType::float64),
         gradient = Tensor::empty(x.shape(), DType::float64);
  std::memset(gradient.raw(), 0, gradient.nbytes());
  parallel_for(batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      CtcSequence sequence{p.data<double>() + b * classes,
                           batch * classes,
                           times.data<int64_t>()[b],
                           classes,
                           {a.blank}};
      for (int64_t i = 0; i < lengths.data<int64_t>()[b]; ++i) {
        const int64_t label = labels.data<int64_t>()[b * labels.dim(1) + i];
        ARGOSY_CHECK(0 <= label && label < classes, invalid_argument)
            << "[ctc_loss] label " << label << " is out of range: there are " << classes
            << " classes. Do this: check the labels; the blank counts as a class.";
        sequence.path.push_back(label);
        sequence.path.push_back(a.blank);
      }
      double& value = loss.data<double>()[b];
      if (sequence.times == 0) {
        value = sequence.path.size() == 1 ? 0 : -kImpossible;
      } else {
        value = sequence.run(gradient.data<double>() + b * classes);
      }
      if (a.zero_infinity && std::isinf(value)) value = 0;
      if (a.norm_by_times && sequence.times > 0)
        for (int64_t t = 0; t < sequence.times; ++t)
          for (int64_t k = 0; k < classes; ++k)
            gradient.data<double>()[(t * batch + b) * classes + k] /=
                static_cast<double>(sequence.times);
    }
  });
  op::copy_into(f.out[0], loss);
  op::copy_into(f.out[1], gradient);
}

ARGOSY_OP(ctc_rows, CtcRowsAttrs)
    .doc("ctc_loss of each sequence.")
    .input("log_probs", kFloating, op::Save::value)
    .input("labels", kIntegral)
    .input("input_lengths", kIntegral)
    .input("label_lengths", kIntegral)
    .output("loss")
    .hidden_output("dlog_probs")
    .infer(ctc_rows_infer)
    .kernel("loop", ctc_rows_run)
    .gradient(kept_gradient<CtcRowsAttrs>)
    .done();

struct CtcAttrs {
  int64_t blank = 0;
  std::string reduction = "mean";
  bool norm_by_times = false;
  bool zero_infinity = false;
};
ARGOSY_ATTRS(CtcAttrs, blank, reduction, norm_by_times, zero_infinity)

void ctc_infer(InferContext& c, const CtcAttrs& a) {
  ARGOSY_CHECK(c.in[0].rank() == 3, invalid_argument)
      << "[ctc_loss] log_probs must be [time, batch, classes], got " << c.in[0]
      << ". Do this: transpose batch-first scores with perm=[1, 0, 2].";
  infer_reduced(c, {c.in[0].dim(1)}, a.reduction);
}
Tensors ctc_parts(const Inputs& in, const CtcAttrs& a) {
  Tensor loss = ctc_rows_op.one(in.flat(), {a.blank, a.norm_by_times, a.zero_infinity});
  if (a.reduction != "mean") return reduced(loss, a.reduction);
  return mean(divide(loss, reshape(cast(in[3], loss.dtype()), {-1})));
}

ARGOSY_OP(ctc_loss, CtcAttrs)
    .doc(
        "-log of the probability of the labels, summed over all alignments with blanks; log_probs "
        "[time, batch, classes] are scores, softmax is taken inside. 'mean' divides each loss by "
        "its label length first. norm_by_times divides the gradient by the number of steps; "
        "zero_infinity makes impossible sequences count 0.")
    .shape("log_probs [t,b,c], labels [b,l], input_lengths [b], label_lengths [b] -> [*s']")
    .paper("Graves et al., ICML 2006")
    .input("log_probs", kFloating)
    .input("labels", kIntegral)
    .input("input_lengths", kIntegral)
    .input("label_lengths", kIntegral)
    .output("loss")
    .infer(ctc_infer)
    .compose(ctc_parts)
    .done();

// --- RNN-T ---

void rnnt_rows_infer(InferContext& c, const RnntRowsAttrs& a) {
  const Tensor &x = c.in[0], &labels = c.in[1];
  ARGOSY_CHECK(x.rank() == 4 && labels.rank() == 2, invalid_argument)
      << "[rnnt_loss] expected input [batch, time, longest label + 1, classes] and label [batch, "
         "longest label], got input "
      << x << ", label " << labels << ". Do this: pad the labels to one length.";
  ARGOSY_CHECK(x.dim(2) == labels.dim(1) + 1 || x.dim(2) < 0 || labels.dim(1) < 0, invalid_argument)
      << "[rnnt_loss] the third size of input must be the longest label plus 1: input is " << x
      << ", label is " << labels
      << ". Do this: give the joint network one step more than there are labels.";
  ARGOSY_CHECK(x.dim(0) == labels.dim(0) || x.dim(0) < 0 || labels.dim(0) < 0, invalid_argument)
      << "[rnnt_loss] input and label must have one batch size: input is " << x << ", label is "
      << labels << ". Do this: pass a row of labels for each sequence.";
  check_batch("rnnt_loss", c.in, x.dim(0));
  ARGOSY_CHECK(0 <= a.blank && (x.dim(3) < 0 || a.blank < x.dim(3)), invalid_argument)
      << "[rnnt_loss] blank must be a class, got " << a.blank
      << ". Do this: pass the number of the blank class, 0 by default.";
  c.out[0].shape = {x.dim(0)};
  c.out[1] = {x.shape(), statistics_dtype(x.dtype())};
}

// One sequence: p and gradient are [times, width, classes] of which labels + 1 columns count.
double rnnt_sequence(const double* p, double* gradient, const int64_t* label, int64_t times,
                     int64_t labels, int64_t width, int64_t classes, const RnntRowsAttrs& a) {
  const int64_t n = labels + 1;
  std::vector<double> alpha(static_cast<size_t>(times * n), kImpossible), beta = alpha;
  auto cell = [&](std::vector<double>& v, int64_t t, int64_t u) -> double& {
    return v[static_cast<size_t>(t * n + u)];
  };
  auto blank = [&](int64_t t, int64_t u) { return p[(t * width + u) * classes + a.blank]; };
  auto emit = [&](int64_t t, int64_t u) { return p[(t * width + u) * classes + label[u]]; };
  for (int64_t t = 0; t < times; ++t)
    for (int64_t u = 0; u < n; ++u) {
      double v = t == 0 && u == 0 ? 0 : kImpossible;
      if (t > 0) v = log_add(v, cell(alpha, t - 1, u) + blank(t - 1, u));
      if (u > 0) v = log_add(v, cell(alpha, t, u - 1) + emit(t, u - 1));
      cell(alpha, t, u) = v;
    }
  for (int64_t t = times - 1; t >= 0; --t)
    for (int64_t u = n - 1; u >= 0; --u) {
      double v = t == times - 1 && u == n - 1 ? blank(t, u) : kImpossible;
      if (t + 1 < times) v = log_add(v, cell(beta, t + 1, u) + blank(t, u));
      if (u + 1 < n) v = log_add(v, cell(beta, t, u + 1) + emit(t, u));
      cell(beta, t, u) = v;
    }
  const double total = cell(beta, 0, 0);
  for (int64_t t = 0; t < times; ++t)
    for (int64_t u = 0; u < n; ++u) {
      double* row = gradient + (t * width + u) * classes;
      const double here = cell(alpha, t, u) - total;
      double emitted = 0, passed = 0;
      if (u + 1 < n) emitted = std::exp(here + emit(t, u) + cell(beta, t, u + 1));
      if (t + 1 < times)
        passed = std::exp(here + blank(t, u) + cell(beta, t + 1, u));
      else if (u == n - 1)
        passed = std::exp(here + blank(t, u));
      row[a.blank] -= passed;
      if (u + 1 < n) row[label[u]] -= (1 + a.fastemit_lambda) * emitted;
    }
  return -total;
}

void rnnt_rows_run(KernelFrame& f, const RnntRowsAttrs& a) {
  const Tensor& x = f.in[0];
  const int64_t batch = x.dim(0), width = x.dim(2), classes = x.dim(3);
  Tensor p = as_dtype(x, DType::float64), labels = as_dtype(f.in[1], DType::int64);
  Tensor times = as_dtype(f.in[2], DType::int64), lengths = as_dtype(f.in[3], DType::int64);
  check_lengths("rnnt_loss", "input_lengths", times, batch, x.dim(1));
  check_lengths("rnnt_loss", "label_lengths", lengths, batch, width - 1);
  Tensor loss = Tensor::empty({batch}, DType::float64),
         gradient = Tensor::empty(x.shape(), DType::float64);
  std::memset(gradient.raw(), 0, gradient.nbytes());
  parallel_for(batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t* label = labels.data<int64_t>() + b * labels.dim(1);
      const int64_t n = lengths.data<int64_t>()[b], steps = times.data<int64_t>()[b];
      for (int64_t i = 0; i < n; ++i)
        ARGOSY_CHECK(0 <= label[i] && label[i] < classes, invalid_argument)
            << "[rnnt_loss] label " << label[i] << " is out of range: there are " << classes
            << " classes. Do this: check the labels; the blank counts as a class.";
      const int64_t offset = b * x.dim(1) * width * classes;
      loss.data<double>()[b] =
          steps == 0 ? -kImpossible
                     : rnnt_sequence(p.data<double>() + offset, gradient.data<double>() + offset,
                                     label, steps, n, width, classes, a);
    }
  });
  op::copy_into(f.out[0], loss);
  op::copy_into(f.out[1], gradient);
}

ARGOSY_OP(rnnt_rows, RnntRowsAttrs)
    .doc("rnnt_loss of each sequence.")
    .input("input", kFloating, op::Save::value)
    .input("label", kIntegral)
    .input("input_lengths", kIntegral)
    .input("label_lengths", kIntegral)
    .output("loss")
    .hidden_output("dinput")
    .infer(rnnt_rows_infer)
    .kernel("loop", rnnt_rows_run)
    .gradient(kept_gradient<RnntRowsAttrs>)
    .done();

struct RnntAttrs {
  int64_t blank = 0;
  double fastemit_lambda = 0.001;
  std::string reduction = "mean";
};
ARGOSY_ATTRS(RnntAttrs, blank, fastemit_lambda, reduction)

void rnnt_infer(InferContext& c, const RnntAttrs& a) {
  ARGOSY_CHECK(c.in[0].rank() == 4, invalid_argument)
      << "[rnnt_loss] input must be [batch, time, longest label + 1, classes], got " << c.in[0]
      << ". Do this: add the encoder's [batch, time, 1, ..] and the predictor's [batch, 1, labels "
         "+ 1, ..].";
  infer_reduced(c, {c.in[0].dim(0)}, a.reduction);
}
Tensors rnnt_parts(const Inputs& in, const RnntAttrs& a) {
  return reduced(rnnt_rows_op.one(in.flat(), {a.blank, a.fastemit_lambda}), a.reduction);
}

ARGOSY_OP(rnnt_loss, RnntAttrs)
    .doc(
        "-log of the probability of the labels under an RNN transducer, summed over all "
        "alignments; input [batch, time, longest label + 1, classes] are log probabilities. "
        "fastemit_lambda adds that part of the emissions to the gradient.")
    .shape("input [b,t,u,c], label [b,l], input_lengths [b], label_lengths [b] -> [*s']")
    .paper("1211.3711")
    .input("input", kFloating)
    .input("label", kIntegral)
    .input("input_lengths", kIntegral)
    .input("label_lengths", kIntegral)
    .output("loss")
    .infer(rnnt_infer)
    .compose(rnnt_parts)
    .done();

}  // namespace
}  // namespace argosy::ops
