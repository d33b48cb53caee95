#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/roi.h"
#include "argosy/op/define.h"
#include "argosy/ops/detection/detection.h"

// Proposals of a region proposal network (arXiv:1506.01497).
namespace argosy::ops {
namespace {

using op::InferContext;
using op::KernelFrame;

constexpr DTypes kCoordinates = only(DType::float32) | only(DType::float64);

void proposals_infer(InferContext& c, const ProposalAttrs&) {
  const Tensor &scores = c.in[0], &deltas = c.in[1], &sizes = c.in[2];
  auto same = [](int64_t a, int64_t b) { return a < 0 || b < 0 || a == b; };
  bool fits = scores.rank() == 4 && deltas.rank() == 4 && sizes.rank() == 2;
  fits = fits && same(scores.dim(0), deltas.dim(0)) && same(scores.dim(0), sizes.dim(0)) &&
         same(scores.dim(2), deltas.dim(2)) && same(scores.dim(3), deltas.dim(3)) &&
         (scores.dim(1) < 0 || same(4 * scores.dim(1), deltas.dim(1)));
  int64_t count = 1;
  for (int d = 1; d < 4 && fits; ++d)
    count = count < 0 || scores.dim(d) < 0 ? kUnknown : count * scores.dim(d);
  for (size_t i = 3; i < 5; ++i)
    fits = fits && c.in[i].rank() == 2 && same(c.in[i].dim(0), count) && same(c.in[i].dim(1), 4);
  for (size_t i = 1; i < 5; ++i) fits = fits && c.in[i].dtype() == scores.dtype();
  ARGOSY_CHECK(fits, invalid_argument)
      << "[generate_proposals] expected scores [N, A, H, W], bbox_deltas [N, 4 A, H, W], img_size "
         "[N, 2], anchors and variances [H W A, 4] of one dtype, got "
      << scores << ", " << deltas << ", " << sizes << ", " << c.in[3] << " and " << c.in[4]
      << ". Do this: reshape or cast them.";
  c.out[0] = {{kUnknown, 4}, scores.dtype()};
  c.out[1] = {{kUnknown, 1}, scores.dtype()};
  c.out[2] = {{scores.dim(0)}, DType::int32};
}

// What the network says about an image of [A, H, W] boxes.
template <class T>
struct Image {
  int64_t anchors, height, width;
  const T *scores, *deltas, *size, *boxes, *variances;
  int64_t count() const { return anchors * height * width; }
  // Box k is the anchor k % A at place k / A.
  int64_t cell(int64_t k) const { return k % anchors * height * width + k / anchors; }
  T score(int64_t k) const { return scores[cell(k)]; }
  T delta(int64_t k, int64_t i) const {
    return deltas[(k % anchors * 4 + i) * height * width + k / anchors] * variances[4 * k + i];
  }
};

template <class T>
struct Proposals {
  std::vector<T> boxes, scores;
};

template <class T>
Proposals<T> proposals_of(const Image<T>& image, const ProposalAttrs& a) {
  const T extra = a.pixel_offset ? T(1) : T(0);
  std::vector<int64_t> order(static_cast<size_t>(image.count()));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return image.score(i) > image.score(j); });
  if (a.pre_nms_top_n > 0 && a.pre_nms_top_n < image.count())
    order.resize(static_cast<size_t>(a.pre_nms_top_n));
  const T most = static_cast<T>(std::log(1000.0 / 16));  // wider boxes are the network's errors
  const T least = static_cast<T>(std::max(a.min_size, 1.0));
  const T right = image.size[1] - extra, bottom = image.size[0] - extra;
  auto inside = [](T x, T limit) { return std::max(std::min(x, limit), T(0)); };
  Proposals<T> found;
  for (int64_t k : order) {
    const T* anchor = image.boxes + 4 * k;
    T w = anchor[2] - anchor[0] + extra, h = anchor[3] - anchor[1] + extra;
    const T cx = image.delta(k, 0) * w + (anchor[0] + w / 2);
    const T cy = image.delta(k, 1) * h + (anchor[1] + h / 2);
    w *= std::exp(std::min(image.delta(k, 2), most));
    h *= std::exp(std::min(image.delta(k, 3), most));
    const T box[] = {inside(cx - w / 2, right), inside(cy - h / 2, bottom),
                     inside(cx + w / 2 - extra, right), inside(cy + h / 2 - extra, bottom)};
    w = box[2] - box[0] + extra;
    h = box[3] - box[1] + extra;
    if (!(w >= least && h >= least)) continue;
    if (a.pixel_offset && !(box[0] + w / 2 <= image.size[1] && box[1] + h / 2 <= image.size[0]))
      continue;
    found.boxes.insert(found.boxes.end(), box, box + 4);
    found.scores.push_back(image.score(k));
  }
  if (a.nms_thresh <= 0) return found;
  std::vector<int64_t> kept(found.scores.size());
  auto count = static_cast<size_t>(cpu::suppress(found.boxes.data(),
                                                 static_cast<int64_t>(kept.size()), a.nms_thresh,
                                                 static_cast<double>(extra), a.eta, kept.data()));
  if (a.post_nms_top_n > 0) count = std::min(count, static_cast<size_t>(a.post_nms_top_n));
  Proposals<T> best;
  for (size_t i = 0; i < count; ++i) {
    const auto k = static_cast<size_t>(kept[i]);
    best.boxes.insert(best.boxes.end(), &found.boxes[4 * k], &found.boxes[4 * k] + 4);
    best.scores.push_back(found.scores[k]);
  }
  return best;
}

void proposals_run(KernelFrame& f, const ProposalAttrs& a) {
  const Tensor &scores = f.in[0], &sizes = f.in[2];
  const int64_t images = scores.dim(0);
  dispatch_types<float, double>(scores.dtype(), [&]<class T>(T) {
    std::vector<Proposals<T>> found(static_cast<size_t>(images));
    parallel_for(images, 1, [&](int64_t n, int64_t end) {
      for (; n < end; ++n) {
        Image<T> image{scores.dim(1),     scores.dim(2),     scores.dim(3),
                       scores.data<T>(),  f.in[1].data<T>(), sizes.data<T>() + n * sizes.dim(1),
                       f.in[3].data<T>(), f.in[4].data<T>()};
        image.scores += n * image.count();
        image.deltas += n * image.count() * 4;
        found[static_cast<size_t>(n)] = proposals_of(image, a);
      }
    });
    int64_t total = 0;
    for (const auto& one : found) total += static_cast<int64_t>(one.scores.size());
    T* box = f.allocate(0, {total, 4}).template data<T>();
    T* score = f.allocate(1, {total, 1}).template data<T>();
    for (size_t n = 0; n < found.size(); ++n) {
      box = std::copy(found[n].boxes.begin(), found[n].boxes.end(), box);
      score = std::copy(found[n].scores.begin(), found[n].scores.end(), score);
      f.out[2].data<int32_t>()[n] = static_cast<int32_t>(found[n].scores.size());
    }
  });
}

ARGOSY_OP(generate_proposals, ProposalAttrs)
    .doc(
        "The boxes that scores [N, A, H, W] and codes [N, 4 A, H, W] propose: the best of each "
        "image, decoded from the anchors [H W A, 4], cut at the image's border and suppressed. "
        "Gives boxes [results, 4], their scores, and how many each image has.")
    .paper("1506.01497")
    .input("scores", kCoordinates)
    .input("bbox_deltas", kCoordinates)
    .input("img_size", kCoordinates)
    .input("anchors", kCoordinates)
    .input("variances", kCoordinates)
    .index_output("boxes")
    .index_output("box_scores")
    .index_output("counts")
    .infer(proposals_infer)
    .kernel("greedy", proposals_run)
    .done();

}  // namespace
}  // namespace argosy::ops
