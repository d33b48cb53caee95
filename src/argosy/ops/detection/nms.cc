#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/roi.h"
#include "argosy/op/define.h"
#include "argosy/ops/detection/detection.h"

// Suppression of boxes of all classes and images at once.
namespace argosy::ops {
namespace {

using op::InferContext;
using op::KernelFrame;

constexpr DTypes kCoordinates = only(DType::float32) | only(DType::float64);

// A result: the box at `place` among those of its image, for class `kind`.
template <class T>
struct Pick {
  int64_t kind;
  T score;
  int64_t place;
};

// Indices of scores above the threshold, best first, equal ones in order; at most `most` (< 0:
// all).
template <class T, class Score>
std::vector<int64_t> best_places(int64_t count, T threshold, int64_t most, Score&& score) {
  std::vector<int64_t> places;
  for (int64_t m = 0; m < count; ++m)
    if (score(m) > threshold) places.push_back(m);
  std::stable_sort(places.begin(), places.end(),
                   [&](int64_t a, int64_t b) { return score(a) > score(b); });
  if (most >= 0 && most < static_cast<int64_t>(places.size()))
    places.resize(static_cast<size_t>(most));
  return places;
}

template <class T>
void sort_by_score(std::vector<Pick<T>>& picks) {
  std::stable_sort(picks.begin(), picks.end(),
                   [](const Pick<T>& a, const Pick<T>& b) { return a.score > b.score; });
}

// Writes the results of all images: rows class, score, box; their places among all boxes; how many
// each image has. box(n, pick) points at four numbers, place(n, pick) is its index.
template <class T, class Box, class Place>
void write_picks(KernelFrame& f, const std::vector<std::vector<Pick<T>>>& images, Box&& box,
                 Place&& place) {
  int64_t total = 0;
  for (const auto& picks : images) total += static_cast<int64_t>(picks.size());
  T* row = f.allocate(0, {total, 6}).template data<T>();
  int32_t* index = f.allocate(1, {total, 1}).template data<int32_t>();
  int32_t* count = f.out[2].data<int32_t>();
  for (size_t n = 0; n < images.size(); ++n) {
    for (const Pick<T>& p : images[n]) {
      row[0] = static_cast<T>(p.kind);
      row[1] = p.score;
      std::copy_n(box(static_cast<int64_t>(n), p), 4, row + 2);
      row += 6;
      *index++ = static_cast<int32_t>(place(static_cast<int64_t>(n), p));
    }
    count[n] = static_cast<int32_t>(images[n].size());
  }
}

void check_boxes(const InferContext& c, bool ragged) {
  const Tensor &boxes = c.in[0], &scores = c.in[1];
  auto same = [](int64_t a, int64_t b) { return a < 0 || b < 0 || a == b; };
  bool fits = boxes.rank() == 3 && same(boxes.dim(2), 4) && scores.rank() == (ragged ? 2 : 3) &&
              same(boxes.dim(0), scores.dim(0)) && boxes.dtype() == scores.dtype();
  fits = fits && same(boxes.dim(1), ragged ? scores.dim(1) : scores.dim(2));
  ARGOSY_CHECK(fits, invalid_argument) << '[' << c.name() << "] expected "
                                       << (ragged ? "bboxes [M, classes, 4] and scores [M, classes]"
                                                  : "bboxes [N, M, 4] and scores [N, classes, M]")
                                       << " of one dtype, got " << boxes << " and " << scores
                                       << ". Do this: reshape or transpose them.";
}

void picks_infer(InferContext& c, const Shape& images) {
  c.out[0] = {{kUnknown, 6}, c.in[0].dtype()};
  c.out[1] = {{kUnknown, 1}, DType::int32};
  c.out[2] = {images, DType::int32};
}

// --- class by class ---

void multiclass_infer(InferContext& c, const MulticlassAttrs&) {
  const Tensor& rois_num = c.in[2];
  check_boxes(c, rois_num.defined());
  ARGOSY_CHECK(!rois_num.defined() || rois_num.rank() == 1, invalid_argument)
      << "[multiclass_nms] rois_num must be [N], got " << rois_num << ". Do this: reshape it.";
  picks_infer(c, {rois_num.defined() ? rois_num.dim(0) : c.in[0].dim(0)});
}

// Where the boxes of each image begin, and the end.
std::vector<int64_t> image_starts(const Tensor& rois_num, int64_t boxes) {
  std::vector<int64_t> starts{0};
  dispatch_types<int32_t, int64_t>(rois_num.dtype(), [&]<class I>(I) {
    for (int64_t n = 0; n < rois_num.numel(); ++n) {
      const auto count = static_cast<int64_t>(rois_num.data<I>()[n]);
      ARGOSY_CHECK(count >= 0 && starts.back() + count <= boxes, invalid_argument)
          << "[multiclass_nms] rois_num must add up to the " << boxes << " boxes there are: entry "
          << n << " is " << count << " after " << starts.back()
          << ". Do this: count the boxes of each image.";
      starts.push_back(starts.back() + count);
    }
  });
  return starts;
}

// The results of one image of M boxes, by class. ragged: in the order of the boxes, else the best
// first.
template <class T, class Score, class Box>
std::vector<Pick<T>> image_picks(int64_t classes, int64_t count, bool ragged,
                                 const MulticlassAttrs& a, Score&& score, Box&& box) {
  std::vector<Pick<T>> picks;
  std::vector<T> boxes;
  std::vector<int64_t> kept;
  for (int64_t label = 0; label < classes; ++label) {
    if (label == a.background_label) continue;
    std::vector<int64_t> own = best_places(count, static_cast<T>(a.score_threshold), a.nms_top_k,
                                           [&](int64_t m) { return score(label, m); });
    boxes.resize(own.size() * 4);
    kept.resize(own.size());
    for (size_t i = 0; i < own.size(); ++i) std::copy_n(box(label, own[i]), 4, &boxes[4 * i]);
    const int64_t n = cpu::suppress(boxes.data(), static_cast<int64_t>(own.size()), a.nms_threshold,
                                    a.normalized ? 0.0 : 1.0, a.nms_eta, kept.data());
    for (int64_t i = 0; i < n; ++i)
      kept[static_cast<size_t>(i)] = own[static_cast<size_t>(kept[static_cast<size_t>(i)])];
    if (ragged) std::sort(kept.begin(), kept.begin() + n);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t m = kept[static_cast<size_t>(i)];
      picks.push_back({label, score(label, m), m});
    }
  }
  if (a.keep_top_k < 0 || a.keep_top_k >= static_cast<int64_t>(picks.size())) return picks;
  std::vector<size_t> order(picks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t i, size_t j) { return picks[i].score > picks[j].score; });
  order.resize(static_cast<size_t>(a.keep_top_k));
  if (ragged) std::sort(order.begin(), order.end());
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t i, size_t j) { return picks[i].kind < picks[j].kind; });
  std::vector<Pick<T>> best;
  for (size_t i : order) best.push_back(picks[i]);
  return best;
}

void multiclass_run(KernelFrame& f, const MulticlassAttrs& a) {
  const Tensor &boxes = f.in[0], &scores = f.in[1], &rois_num = f.in[2];
  const bool ragged = rois_num.defined();
  const int64_t classes = scores.dim(1), count = boxes.dim(1);
  std::vector<int64_t> starts;
  if (ragged)
    starts = image_starts(rois_num, boxes.dim(0));
  else
    for (int64_t n = 0; n <= boxes.dim(0); ++n) starts.push_back(n * count);
  dispatch_types<float, double>(boxes.dtype(), [&]<class T>(T) {
    const T *box = boxes.data<T>(), *score = scores.data<T>();
    auto box_at = [&](int64_t n, int64_t c, int64_t m) {
      const int64_t place = starts[static_cast<size_t>(n)] + m;
      return box + 4 * (ragged ? place * classes + c : place);
    };
    auto score_at = [&](int64_t n, int64_t c, int64_t m) {
      return ragged ? score[(starts[static_cast<size_t>(n)] + m) * classes + c]
                    : score[(n * classes + c) * count + m];
    };
    std::vector<std::vector<Pick<T>>> images(starts.size() - 1);
    parallel_for(static_cast<int64_t>(images.size()), 1, [&](int64_t n, int64_t end) {
      for (; n < end; ++n) {
        const auto at = static_cast<size_t>(n);
        images[at] = image_picks<T>(
            classes, starts[at + 1] - starts[at], ragged, a,
            [&](int64_t c, int64_t m) { return score_at(n, c, m); },
            [&](int64_t c, int64_t m) { return box_at(n, c, m); });
      }
    });
    write_picks<T>(
        f, images, [&](int64_t n, const Pick<T>& p) { return box_at(n, p.kind, p.place); },
        [&](int64_t n, const Pick<T>& p) {
          const int64_t place = starts[static_cast<size_t>(n)] + p.place;
          return ragged ? place * classes + p.kind : place;
        });
  });
}

ARGOSY_OP(multiclass_nms, MulticlassAttrs)
    .doc(
        "suppress_boxes for each class: bboxes [N, M, 4] with scores [N, classes, M]; or, with "
        "rois_num [N], [M, classes, 4] with [M, classes]. Gives rows class, score, x1, y1, x2, y2 "
        "[results, 6], their places among all boxes, and how many each image has.")
    .input("bboxes", kCoordinates)
    .input("scores", kCoordinates)
    .optional_input("rois_num", kIndex)
    .index_output("out")
    .index_output("index")
    .index_output("counts")
    .infer(multiclass_infer)
    .kernel("greedy", multiclass_run)
    .done();

// --- by lowering scores ---

struct MatrixAttrs {
  double score_threshold = 0;
  double post_threshold = 0;
  int64_t nms_top_k = -1;
  int64_t keep_top_k = -1;
  bool use_gaussian = false;
  double gaussian_sigma = 2;
  int64_t background_label = 0;
  bool normalized = true;
};
ARGOSY_ATTRS(MatrixAttrs, score_threshold, post_threshold, nms_top_k, keep_top_k, use_gaussian,
             gaussian_sigma, background_label, normalized)

void matrix_infer(InferContext& c, const MatrixAttrs&) {
  check_boxes(c, false);
  picks_infer(c, {c.in[0].dim(0)});
}

template <class T>
T overlap(const T* a, const T* b, T extra) {
  if (a[0] > b[2] || b[0] > a[2] || a[1] > b[3] || b[1] > a[3]) return 0;
  const T w = std::min(a[2], b[2]) - std::max(a[0], b[0]) + extra;
  const T h = std::min(a[3], b[3]) - std::max(a[1], b[1]) + extra;
  const T common = std::max(w, T(0)) * std::max(h, T(0));
  auto area = [&](const T* x) { return (x[2] - x[0] + extra) * (x[3] - x[1] + extra); };
  return common == 0 ? T(0) : common / (area(a) + area(b) - common);
}

// How far the score of each of n boxes [n, 4], best first, is lowered by better ones. What is
// itself overlapped counts for less.
template <class T>
std::vector<T> decays(const std::vector<T>& boxes, size_t n, const MatrixAttrs& a) {
  const T extra = a.normalized ? T(0) : T(1), sigma = static_cast<T>(a.gaussian_sigma);
  std::vector<T> decay(n, T(1)), most(n, T(0)), own(n);
  for (size_t j = 1; j < n; ++j) {
    for (size_t i = 0; i < j; ++i) {
      own[i] = overlap(&boxes[4 * i], &boxes[4 * j], extra);
      most[j] = std::max(most[j], own[i]);
    }
    for (size_t i = 0; i < j; ++i) {
      const T by = a.use_gaussian ? std::exp((most[i] * most[i] - own[i] * own[i]) * sigma)
                                  : (1 - own[i]) / (1 - most[i]);
      if (by < decay[j]) decay[j] = by;  // not for 0 / 0, which two equal boxes give
    }
  }
  return decay;
}

void matrix_run(KernelFrame& f, const MatrixAttrs& a) {
  const Tensor &boxes = f.in[0], &scores = f.in[1];
  const int64_t classes = scores.dim(1), count = boxes.dim(1);
  dispatch_types<float, double>(boxes.dtype(), [&]<class T>(T) {
    std::vector<std::vector<Pick<T>>> images(static_cast<size_t>(boxes.dim(0)));
    parallel_for(boxes.dim(0), 1, [&](int64_t n, int64_t end) {
      for (; n < end; ++n) {
        std::vector<Pick<T>>& picks = images[static_cast<size_t>(n)];
        const T* box = boxes.data<T>() + n * count * 4;
        for (int64_t label = 0; label < classes; ++label) {
          if (label == a.background_label) continue;
          const T* score = scores.data<T>() + (n * classes + label) * count;
          const std::vector<int64_t> own =
              best_places(count, static_cast<T>(a.score_threshold), a.nms_top_k,
                          [&](int64_t m) { return score[m]; });
          std::vector<T> near;
          for (int64_t m : own) near.insert(near.end(), box + 4 * m, box + 4 * m + 4);
          const std::vector<T> decay = decays(near, own.size(), a);
          for (size_t i = 0; i < own.size(); ++i)
            if (const T left = score[own[i]] * decay[i]; left > static_cast<T>(a.post_threshold))
              picks.push_back({label, left, own[i]});
        }
        sort_by_score(picks);
        if (a.keep_top_k >= 0 && a.keep_top_k < static_cast<int64_t>(picks.size()))
          picks.resize(static_cast<size_t>(a.keep_top_k));
      }
    });
    write_picks<T>(
        f, images,
        [&](int64_t n, const Pick<T>& p) { return boxes.data<T>() + (n * count + p.place) * 4; },
        [&](int64_t n, const Pick<T>& p) { return n * count + p.place; });
  });
}

ARGOSY_OP(matrix_nms, MatrixAttrs)
    .doc(
        "Suppression by lowering scores [N, classes, M] of bboxes [N, M, 4] that better ones "
        "overlap: by exp(-sigma overlap^2) with use_gaussian, else 1 - overlap. Results are those "
        "of multiclass_nms, an image's best first.")
    .paper("2003.10152")
    .input("bboxes", kCoordinates)
    .input("scores", kCoordinates)
    .index_output("out")
    .index_output("index")
    .index_output("counts")
    .infer(matrix_infer)
    .kernel("decay", matrix_run)
    .done();

}  // namespace
}  // namespace argosy::ops
