#include <algorithm>
#include <cmath>
#include <vector>

#include "argosy/base/random.h"
#include "argosy/op/define.h"
#include "argosy/ops/common/common.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/norm/parts.h"
#include "argosy/ops/reduce/reduce.h"

namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::NoAttrs;

// --- cosine similarity ---

struct CosineAttrs {
  int64_t axis = 1;
  double eps = 1e-8;
};
ARGOSY_ATTRS(CosineAttrs, axis, eps)

void cosine_infer(InferContext& c, const CosineAttrs& a) {
  Shape shape = broadcast(c.name(), c.in[0].shape(), c.in[1].shape());
  shape.erase(normalize_axis(c.name(), a.axis, shape.rank()));
  c.out[0].shape = shape;
}
Tensors cosine_parts(const Inputs& in, const CosineAttrs& a) {
  // One vector against many: its squares are summed over the axis of the result.
  Tensor x = in[0], y = in[1];
  const int64_t n = x.dim(static_cast<int>(a.axis));
  if (n < 0 || n != y.dim(static_cast<int>(a.axis))) {
    Tensor both = add(scale(x, 0), scale(y, 0));
    x = add(x, both);
    y = add(y, both);
  }
  const op::IntArray axis{a.axis};
  Tensor sizes = multiply(sum(square(x), axis), sum(square(y), axis));
  Tensor size = sqrt(maximum(sizes, full_like(sizes, a.eps * a.eps)));
  return divide(sum(multiply(x, y), axis), size);
}

ARGOSY_OP(cosine_similarity, CosineAttrs)
    .python("nn.functional.cosine_similarity(x1, x2, axis=1, eps=1e-08)")
    .alias("dim", "axis")
    .doc("x1 . x2 / max(|x1| |x2|, eps) along axis, with broadcasting.")
    .shape("x1 [*s], x2 [*s] -> [*s']")
    .example(R"(>>> F = argosy.nn.functional
>>> F.cosine_similarity(argosy.to_tensor([[3.0, 4.0]]), argosy.to_tensor([[4.0, 3.0]])).tolist()
[0.96])")
    .input("x1", kFloating)
    .input("x2", kFloating)
    .output("out")
    .promote()
    .infer(cosine_infer)
    .compose(cosine_parts)
    .done();

// --- label smoothing ---

struct SmoothAttrs {
  double epsilon = 0.1;
};
ARGOSY_ATTRS(SmoothAttrs, epsilon)

void smooth_infer(InferContext& c, const SmoothAttrs& a) {
  ARGOSY_CHECK(0 <= a.epsilon && a.epsilon <= 1, invalid_argument)
      << "The value of epsilon must be between 0 and 1 [label_smooth], got " << a.epsilon
      << ". Do this: pass a small fraction, as 0.1.";
  ARGOSY_CHECK(c.in[0].rank() > 0, invalid_argument)
      << "[label_smooth] label must be [.., classes], got a 0-d tensor. Do this: make it one_hot "
         "first.";
  check_parameter("label_smooth", "prior_dist", c.in[1], c.in[0].shape().back(), c.in[0].shape());
}
Tensors smooth_parts(const Inputs& in, const SmoothAttrs& a) {
  const Tensor& label = in[0];
  if (in[1].defined())
    return add(scale(label, 1 - a.epsilon), scale(reshape(in[1], {-1}), a.epsilon));
  ARGOSY_CHECK(label.dim(-1) != 0, invalid_argument)
      << "[label_smooth] there must be at least one class (last size), label is " << label << '.';
  return smooth_evenly(label, label.rank() - 1, a.epsilon);
}

ARGOSY_OP(label_smooth, SmoothAttrs)
    .python("nn.functional.label_smooth(label, prior_dist=None, epsilon=0.1, name=None)")
    .doc(
        "(1 - epsilon) * label + epsilon * prior_dist, the prior being 1 / classes where none is "
        "given.")
    .shape("label [*s], prior_dist [*p] -> [*s]")
    .example(R"(>>> F = argosy.nn.functional
>>> F.label_smooth(argosy.to_tensor([[0.0, 1.0]]), epsilon=0.1).tolist()
[[0.05, 0.95]])")
    .input("label", kFloating)
    .optional_input("prior_dist", kFloating)
    .output("out")
    .infer(smooth_infer)
    .compose(smooth_parts)
    .done();

// --- bilinear ---

void bilinear_infer(InferContext& c, const NoAttrs&) {
  const Tensor &x = c.in[0], &y = c.in[1], &w = c.in[2];
  auto fits = [](int64_t a, int64_t b) { return a == b || a < 0 || b < 0; };
  ARGOSY_CHECK(x.rank() == 2 && y.rank() == 2 && w.rank() == 3 && fits(x.dim(0), y.dim(0)) &&
                   fits(x.dim(1), w.dim(1)) && fits(y.dim(1), w.dim(2)),
               invalid_argument)
      << "[bilinear] expected x1 [N, in1], x2 [N, in2] and weight [out, in1, in2], got x1 " << x
      << ", x2 " << y << ", weight " << w
      << ". Do this: check in1_features and in2_features of the layer.";
  check_parameter("bilinear", "bias", c.in[3], w.dim(0), w.shape());
  c.out[0].shape = {x.dim(0), w.dim(0)};
}
Tensors bilinear_parts(const Inputs& in, const NoAttrs&) {
  // [out, N, in2] = x1 W[out]
  Tensor left = matmul(in[0], in[2]);
  Tensor out = transpose(sum(multiply(left, in[1]), {2}), {1, 0});
  return in[3].defined() ? add(out, reshape(in[3], {-1})) : out;
}

ARGOSY_OP(bilinear, NoAttrs)
    .python("nn.functional.bilinear(x1, x2, weight, bias=None, name=None)")
    .doc("[n, o]: x1[n] weight[o] x2[n]' + bias[o]; weight is [out, in1, in2].")
    .shape("x1 [b,i], x2 [b,j], weight [o,i,j], bias [1,o] -> [b,o]")
    .example(R"(>>> F = argosy.nn.functional
>>> x1, x2, weight = argosy.ones([4, 3]), argosy.ones([4, 2]), argosy.ones([5, 3, 2])
>>> F.bilinear(x1, x2, weight).shape
paddle.Size([4, 5]))")
    .input("x1", kFloating)
    .input("x2", kFloating)
    .input("weight", kFloating)
    .optional_input("bias", kFloating)
    .output("out")
    .infer(bilinear_infer)
    .compose(bilinear_parts)
    .done();

// --- beams ---

void tree_infer(InferContext& c, const NoAttrs&) {
  ARGOSY_CHECK(c.in[0].rank() == 3, invalid_argument)
      << "The input ids must be a 3D tensor with shape [length, batch_size, beam_size] "
         "[gather_tree], got "
      << c.in[0] << ". Do this: reshape ids and parents to three dimensions.";
  ARGOSY_CHECK(c.in[1].rank() == 3, invalid_argument)
      << "The ids's shape must be the same as parents' shape [gather_tree]: ids is " << c.in[0]
      << ", parents is " << c.in[1] << ". Do this: pass the two outputs of one beam search.";
}

// From the last step back each beam follows its parent.
void tree_run(KernelFrame& f, const NoAttrs&) {
  const Tensor &ids = f.in[0], &out = f.out[0];
  if (out.numel() == 0) return;
  Tensor parents = as_dtype(f.in[1], DType::int64);
  const int64_t length = ids.dim(0), batch = ids.dim(1), beams = ids.dim(2);
  dispatch_types<int32_t, int64_t>(ids.dtype(), [&]<class T>(T) {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t k = 0; k < beams; ++k) {
        int64_t beam = k;
        for (int64_t t = length - 1; t >= 0; --t) {
          ARGOSY_CHECK(0 <= beam && beam < beams, invalid_argument)
              << "[gather_tree] parent " << beam << " is out of range: there are " << beams
              << " beams. Do this: check that parents come from the same search.";
          const int64_t row = (t * batch + b) * beams;
          out.data<T>()[row + k] = ids.data<T>()[row + beam];
          beam = parents.data<int64_t>()[row + beam];
        }
      }
  });
}

ARGOSY_OP(gather_tree, NoAttrs)
    .python("nn.functional.gather_tree(ids, parents)")
    .doc(
        "The token sequences of a beam search from its steps' ids and parents [time, batch, beam].")
    .shape("ids [t,b,k], parents [t,b,k] -> [t,b,k]")
    .example(R"(>>> F = argosy.nn.functional
>>> ids, parents = argosy.to_tensor([[[2, 2]], [[6, 1]]]), argosy.to_tensor([[[0, 0]], [[1, 0]]])
>>> F.gather_tree(ids, parents).tolist()
[[[2, 2]], [[6, 1]]])")
    .input("ids", kIndex)
    .input("parents", kIndex)
    .index_output("out")
    .infer(tree_infer)
    .kernel("loop", tree_run)
    .done();

// --- sequence mask ---

void mask_infer(InferContext& c, const SequenceMaskAttrs& a) {
  ARGOSY_CHECK(a.maxlen.size() == 1, invalid_argument)
      << "[sequence_mask] maxlen must be one number, got " << a.maxlen.size()
      << ". Do this: pass one int, or None for the longest.";
  Shape shape = c.in[0].shape();
  shape.push_back(a.maxlen[0]);
  c.out[0] = {shape, a.dtype};
}
void mask_run(KernelFrame& f, const SequenceMaskAttrs& a) {
  Tensor lengths = as_dtype(f.in[0], DType::int64);
  int64_t* length = lengths.data<int64_t>();
  const int64_t n = lengths.numel(), longest = n ? *std::max_element(length, length + n) : 0;
  if (is_floating(f.in[0].dtype())) {  // k < 1.5 holds for 0 and 1
    Tensor exact = as_dtype(f.in[0], DType::float64);
    lengths = Tensor::empty(exact.shape(), DType::int64);
    length = lengths.data<int64_t>();
    for (int64_t i = 0; i < n; ++i)
      length[i] = static_cast<int64_t>(std::ceil(exact.data<double>()[i]));
  }
  int64_t width = a.maxlen[0];
  Tensor out = f.out[0];
  if (width < 0) {
    width = std::max<int64_t>(0, longest);
    Shape shape = lengths.shape();
    shape.push_back(width);
    out = f.allocate(0, shape);
  }
  Tensor mask = Tensor::empty(out.shape(), DType::bool_);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < width; ++k) mask.data<bool>()[i * width + k] = k < length[i];
  op::copy_into(out, mask);
}

ARGOSY_OP(sequence_mask, SequenceMaskAttrs)
    .doc(
        "[*x.shape, maxlen]: 1 before the length x, 0 from it on; maxlen -1: the largest length, "
        "rounded towards 0.")
    .shape("x [*s] -> [*s,m']")
    .input("x", kReal)
    .index_output("out")
    .infer(mask_infer)
    .kernel("loop", mask_run)
    .done();

// --- sampling of classes ---

struct SampleAttrs {
  int64_t num_classes = 1;
  int64_t num_samples = 1;
};
ARGOSY_ATTRS(SampleAttrs, num_classes, num_samples)

void sample_infer(InferContext& c, const SampleAttrs& a) {
  ARGOSY_CHECK(0 < a.num_samples && a.num_samples <= a.num_classes, invalid_argument)
      << "Expected num_samples less than or equal to " << a.num_classes
      << " [class_center_sample], got num_samples " << a.num_samples
      << ". Do this: sample fewer classes.";
  ARGOSY_CHECK(c.in[0].rank() == 1, invalid_argument)
      << "[class_center_sample] label must be [N], got " << c.in[0] << ". Do this: flatten it.";
  c.out[1].shape = {kUnknown};
}

// The classes that occur, ascending, then others drawn until there are num_samples.
void sample_run(KernelFrame& f, const SampleAttrs& a) {
  Tensor label = as_dtype(f.in[0], DType::int64);
  const int64_t n = label.numel();
  std::vector<int64_t> place(static_cast<size_t>(a.num_classes), -1), centers;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t v = label.data<int64_t>()[i];
    ARGOSY_CHECK(0 <= v && v < a.num_classes, invalid_argument)
        << "[class_center_sample] label " << v << " is out of range: there are " << a.num_classes
        << " classes. Do this: check num_classes, or the labels.";
    place[static_cast<size_t>(v)] = 0;
  }
  for (int64_t k = 0; k < a.num_classes; ++k)
    if (place[static_cast<size_t>(k)] == 0) {
      place[static_cast<size_t>(k)] = static_cast<int64_t>(centers.size());
      centers.push_back(k);
    }
  random::Generator& generator = random::default_generator(label.place());
  while (static_cast<int64_t>(centers.size()) < a.num_samples) {
    int64_t drawn = 0;
    generator.integers(&drawn, 1, 0, a.num_classes);
    if (place[static_cast<size_t>(drawn)] >= 0) continue;
    place[static_cast<size_t>(drawn)] = static_cast<int64_t>(centers.size());
    centers.push_back(drawn);
  }
  const Tensor& remapped = f.out[0];
  Tensor sampled = f.allocate(1, {static_cast<int64_t>(centers.size())});
  dispatch_types<int32_t, int64_t>(remapped.dtype(), [&]<class T>(T) {
    for (int64_t i = 0; i < n; ++i)
      remapped.data<T>()[i] = static_cast<T>(place[static_cast<size_t>(label.data<int64_t>()[i])]);
    for (size_t i = 0; i < centers.size(); ++i) sampled.data<T>()[i] = static_cast<T>(centers[i]);
  });
}

ARGOSY_OP(class_center_sample, SampleAttrs)
    .doc(
        "(labels renumbered into the sampled classes, the sampled classes): all that occur, and "
        "others at random up to num_samples.")
    .shape("label [n] -> [n], [?]")
    .paper("2010.05222")
    .input("label", kIndex)
    .index_output("remapped_label")
    .index_output("sampled_class_center")
    .effect(op::Effect::random)
    .infer(sample_infer)
    .kernel("drawn", sample_run)
    .done();

}  // namespace

Tensor smooth_evenly(const Tensor& label, int axis, double epsilon) {
  const int64_t classes = label.dim(axis);
  if (classes >= 0) return scale(label, 1 - epsilon, epsilon / static_cast<double>(classes));
  Tensor share = scale(reciprocal(size_of(label, axis, label.dtype())), epsilon);
  return add(scale(label, 1 - epsilon), share);
}
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t axis, double eps) {
  return cosine_similarity_op(x1, x2, CosineAttrs{axis, eps});
}

}  // namespace argosy::ops
