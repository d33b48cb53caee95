#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "argosy/base/device.h"
#include "argosy/cuda/call.h"
#include "argosy/kernels/cuda/copy.h"
#include "argosy/kernels/cuda/proposals.h"
#include "argosy/kernels/cuda/sort.h"
#include "argosy/kernels/cuda/suppress.h"
#include "argosy/kernels/cuda/timing.h"
#include "argosy/ops/detection/detection.h"

// Suppression of boxes of all classes and images at once. How many are left the host must know: it
// waits.
namespace argosy::cuda {
namespace {

using op::Inputs;
using op::KernelFrame;
using ops::MulticlassAttrs;
using ops::ProposalAttrs;

template <class T>
std::vector<T> read(cudaStream_t stream, const void* from, size_t count) {
  std::vector<T> values(count);
  const device::HostWait wait;
  if (count)
    ARGOSY_CUDA(
        cudaMemcpyAsync(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost, stream));
  ARGOSY_CUDA(cudaStreamSynchronize(stream));
  return values;
}

// The device's copy of values, which may go when it is made.
class Sent {
 public:
  template <class T>
  Sent(cudaStream_t stream, const std::vector<T>& values)
      : memory_(stream, std::max<size_t>(values.size() * sizeof(T), 1)) {
    if (!values.empty())
      ARGOSY_CUDA(cudaMemcpyAsync(memory_.data(), values.data(), values.size() * sizeof(T),
                                  cudaMemcpyHostToDevice, stream));
  }
  template <class T>
  const T* of() const {
    return memory_.data<const T>();
  }

 private:
  const Scratch memory_;
};

// Where each begins, and the end of all.
std::vector<int64_t> starts_of(const std::vector<int32_t>& counts) {
  std::vector<int64_t> starts(counts.size() + 1, 0);
  for (size_t i = 0; i < counts.size(); ++i) starts[i + 1] = starts[i] + counts[i];
  return starts;
}

View view_as(void* data, DType dtype, std::initializer_list<int64_t> shape,
             std::initializer_list<int64_t> strides) {
  View v;
  v.data = data;
  v.dtype = dtype;
  v.rank = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), v.shape);
  std::copy(strides.begin(), strides.end(), v.strides);
  return v;
}

template <class A>
const char* match(const Inputs& in, const A&) {
  for (const Tensor& t : in.flat())
    if (t.defined() && t.numel() >= INT32_MAX) return "2^31 elements or more";
  return nullptr;
}

// --- proposals ---

void proposals_run(KernelFrame& f, const ProposalAttrs& a) {
  const Tensor& scores = f.in[0];
  cudaStream_t stream = stream_of(f);
  refuse_capture(stream, f.name());
  const DType dtype = scores.dtype();
  Proposals p;
  p.dtype = dtype;
  p.images = scores.dim(0);
  p.anchors = scores.dim(1);
  p.places = scores.dim(2) * scores.dim(3);
  const int64_t all = p.anchors * p.places;
  p.most = a.pre_nms_top_n > 0 ? std::min(a.pre_nms_top_n, all) : all;
  const int64_t n = p.images * p.most;
  if (n == 0) {
    f.allocate(0, {0, 4});
    f.allocate(1, {0, 1});
    if (f.out[2].numel())
      ARGOSY_CUDA(cudaMemsetAsync(f.out[2].raw(), 0, f.out[2].nbytes(), stream));
    return;
  }
  const auto item = static_cast<size_t>(item_size(dtype));
  // Scores with the anchors last, and their order.
  const Scratch sorted(stream, scores.nbytes()),
      order(stream, static_cast<size_t>(n) * sizeof(uint32_t)),
      boxes(stream, static_cast<size_t>(n) * 4 * item), left_out(stream, static_cast<size_t>(n)),
      kept(stream, static_cast<size_t>(n) * sizeof(int32_t)),
      found(stream, static_cast<size_t>(p.images) * sizeof(int32_t));
  copy(stream, view_as(sorted.data(), dtype, {p.images, p.places, p.anchors}, {all, p.anchors, 1}),
       view_as(scores.raw(), dtype, {p.images, p.places, p.anchors}, {all, 1, p.places}));
  order_rows(stream, dtype, sorted.data(), {p.images, all, 1}, p.most, true,
             order.data<uint32_t>());
  p.least = std::max(a.min_size, 1.0);
  p.pixel_offset = a.pixel_offset;
  p.deltas = f.in[1].raw();
  p.sizes = f.in[2].raw();
  p.boxes = f.in[3].raw();
  p.variances = f.in[4].raw();
  p.order = order.data<uint32_t>();
  decode_proposals(stream, p, boxes.data(), left_out.data<bool>());
  const bool suppresses = a.nms_thresh > 0;
  Suppression c;
  c.dtype = dtype;
  c.threshold = suppresses ? a.nms_thresh : std::numeric_limits<double>::infinity();
  c.extra = a.pixel_offset ? 1 : 0;
  c.eta = suppresses ? a.eta : 1;
  c.lists = p.images;
  c.most = p.most;
  c.boxes = boxes.data();
  c.boxes_of = p.most;
  c.left_out = left_out.data<bool>();
  suppress(stream, c, kept.data<int32_t>(), found.data<int32_t>());
  std::vector<int32_t> counts = read<int32_t>(stream, found.data(), static_cast<size_t>(p.images));
  if (suppresses && a.post_nms_top_n > 0)
    for (int32_t& count : counts)
      count = static_cast<int32_t>(std::min<int64_t>(count, a.post_nms_top_n));
  const std::vector<int64_t> starts = starts_of(counts);
  void *out_boxes = f.allocate(0, {starts.back(), 4}).raw(),
       *out_scores = f.allocate(1, {starts.back(), 1}).raw();
  const Sent start(stream, starts), count(stream, counts);
  take_proposals(stream, p, boxes.data(), sorted.data(), kept.data<int32_t>(), count.of<int32_t>(),
                 start.of<int64_t>(), out_boxes, out_scores);
  ARGOSY_CUDA(cudaMemcpyAsync(f.out[2].raw(), count.of<int32_t>(), f.out[2].nbytes(),
                              cudaMemcpyDeviceToDevice, stream));
}

// --- class by class ---

const char* match_multiclass(const Inputs& in, const MulticlassAttrs& a) {
  return in[2].defined() ? "boxes of each class, counted by rois_num" : match(in, a);
}

// What is left of all lists, [images, classes], in their order.
template <class T>
struct Picks {
  std::vector<int64_t> starts;  // of the lists
  std::vector<int32_t> places;  // among the boxes of the image
  std::vector<T> scores;
};

// Those of an image that stay where only keep_top_k may: the best, then by class.
template <class T>
std::vector<size_t> best_of(const Picks<T>& picks, size_t begin, size_t end, int64_t most) {
  std::vector<size_t> order(end - begin);
  std::iota(order.begin(), order.end(), begin);
  if (most < 0 || static_cast<size_t>(most) >= order.size()) return order;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t i, size_t j) { return picks.scores[i] > picks.scores[j]; });
  order.resize(static_cast<size_t>(most));
  const auto kind = [&](size_t i) {
    return std::upper_bound(picks.starts.begin(), picks.starts.end(), static_cast<int64_t>(i)) -
           picks.starts.begin();
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t i, size_t j) { return kind(i) < kind(j); });
  return order;
}

template <class T>
Picks<T> picks_of(KernelFrame& f, cudaStream_t stream, const MulticlassAttrs& a) {
  const Tensor &boxes = f.in[0], &scores = f.in[1];
  const DType dtype = boxes.dtype();
  const int64_t classes = scores.dim(1), n = boxes.dim(1), lists = boxes.dim(0) * classes;
  const auto all = static_cast<size_t>(lists * n), each = static_cast<size_t>(lists);
  const Scratch order(stream, all * sizeof(uint32_t)), first(stream, each * sizeof(int32_t)),
      count(stream, each * sizeof(int32_t)), kept(stream, all * sizeof(int32_t)),
      found(stream, each * sizeof(int32_t));
  order_rows(stream, dtype, scores.raw(), {lists, n, 1}, n, true, order.data<uint32_t>());
  score_ranges(stream, dtype, scores.raw(), order.data<uint32_t>(), lists, n, classes,
               a.background_label, a.score_threshold, a.nms_top_k, first.data<int32_t>(),
               count.data<int32_t>());
  Suppression c;
  c.dtype = dtype;
  c.threshold = a.nms_threshold;
  c.extra = a.normalized ? 0 : 1;
  c.eta = a.nms_eta;
  c.lists = lists;
  c.most = n;
  c.boxes = boxes.raw();
  c.lists_per_boxes = classes;
  c.boxes_of = n;
  c.order = order.data<uint32_t>();
  c.first = first.data<int32_t>();
  c.count = count.data<int32_t>();
  suppress(stream, c, kept.data<int32_t>(), found.data<int32_t>());
  Picks<T> picks;
  picks.starts = starts_of(read<int32_t>(stream, found.data(), each));
  const auto total = static_cast<size_t>(picks.starts.back());
  const Sent start(stream, picks.starts);
  const Scratch places(stream, std::max<size_t>(total * sizeof(int32_t), 1)),
      values(stream, std::max<size_t>(total * sizeof(T), 1));
  collect_kept(stream, dtype, scores.raw(), order.data<uint32_t>(), lists, n, first.data<int32_t>(),
               kept.data<int32_t>(), found.data<int32_t>(), start.of<int64_t>(),
               places.data<int32_t>(), values.data());
  picks.places = read<int32_t>(stream, places.data(), total);
  picks.scores = read<T>(stream, values.data(), total);
  return picks;
}

template <class T>
void multiclass(KernelFrame& f, const MulticlassAttrs& a) {
  const Tensor& boxes = f.in[0];
  const int64_t images = boxes.dim(0), n = boxes.dim(1), classes = f.in[1].dim(1);
  cudaStream_t stream = stream_of(f);
  Picks<T> picks;
  picks.starts.assign(static_cast<size_t>(images * classes) + 1, 0);
  if (images * classes * n > 0) picks = picks_of<T>(f, stream, a);
  std::vector<int32_t> kinds, places, counts;
  std::vector<T> scores;
  for (int64_t image = 0; image < images; ++image) {
    const auto at = static_cast<size_t>(image * classes);
    const auto begin = static_cast<size_t>(picks.starts[at]),
               end = static_cast<size_t>(picks.starts[at + static_cast<size_t>(classes)]);
    const std::vector<size_t> best = best_of(picks, begin, end, a.keep_top_k);
    for (size_t i : best) {
      const auto list =
          std::upper_bound(picks.starts.begin(), picks.starts.end(), static_cast<int64_t>(i)) -
          picks.starts.begin() - 1;
      kinds.push_back(static_cast<int32_t>(list % classes));
      places.push_back(static_cast<int32_t>(image * n) + picks.places[i]);
      scores.push_back(picks.scores[i]);
    }
    counts.push_back(static_cast<int32_t>(best.size()));
  }
  const auto total = static_cast<int64_t>(kinds.size());
  void *out = f.allocate(0, {total, 6}).raw(), *index = f.allocate(1, {total, 1}).raw();
  const Sent kind(stream, kinds), place(stream, places), score(stream, scores),
      count(stream, counts);
  write_rows(stream, boxes.dtype(), total, kind.of<int32_t>(), score.of<T>(), place.of<int32_t>(),
             boxes.raw(), out);
  const auto copied = [&](void* to, const Sent& from, size_t bytes) {
    if (bytes)
      ARGOSY_CUDA(cudaMemcpyAsync(to, from.of<char>(), bytes, cudaMemcpyDeviceToDevice, stream));
  };
  copied(index, place, places.size() * sizeof(int32_t));
  copied(f.out[2].raw(), count, counts.size() * sizeof(int32_t));
}

void multiclass_run(KernelFrame& f, const MulticlassAttrs& a) {
  refuse_capture(stream_of(f), f.name());
  if (f.in[0].dtype() == DType::float32)
    multiclass<float>(f, a);
  else
    multiclass<double>(f, a);
}

[[maybe_unused]] const bool added[] = {
    add_kernel<ProposalAttrs>("generate_proposals", match<ProposalAttrs>, proposals_run),
    add_kernel<MulticlassAttrs>("multiclass_nms", match_multiclass, multiclass_run),
};

}  // namespace
}  // namespace argosy::cuda
