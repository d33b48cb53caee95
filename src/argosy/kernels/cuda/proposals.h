#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "argosy/base/dtype.h"

// What stands before and after suppression (suppress.h), float32 and float64.
namespace argosy::cuda {

// Boxes [images, most, 4] that a network proposes, the best of each image, decoded from anchors as
// ops/detection/proposals.cc does. Box k of an image is the anchor k % anchors at place k /
// anchors.
struct Proposals {
  DType dtype = DType::float32;
  int64_t images = 0, anchors = 0, places = 0;  // places: height times width
  int64_t most = 0;
  double least = 1;
  bool pixel_offset = false;
  const void *deltas = nullptr, *sizes = nullptr, *boxes = nullptr, *variances = nullptr;
  const uint32_t* order = nullptr;  // [images, most]: which k
};
// left_out: too small, or not in the image.
void decode_proposals(cudaStream_t stream, const Proposals& call, void* boxes, bool* left_out);

// Of each image the first count[i] of `kept` [images, most], places among its boxes: their boxes
// and scores from row start[i] on.
void take_proposals(cudaStream_t stream, const Proposals& call, const void* boxes,
                    const void* scores, const int32_t* kept, const int32_t* count,
                    const int64_t* start, void* out_boxes, void* out_scores);

// Where in each of lists [lists, n], sorted from the largest on by order, those above the threshold
// begin (behind what is no number), and how many they are, at most `most` (< 0: all); none of lists
// l with l % classes == skipped.
void score_ranges(cudaStream_t stream, DType dtype, const void* scores, const uint32_t* order,
                  int64_t lists, int64_t n, int64_t classes, int64_t skipped, double threshold,
                  int64_t most, int32_t* first, int32_t* count);

// What is kept of each list, from place start[l] on: its place and its score.
void collect_kept(cudaStream_t stream, DType dtype, const void* scores, const uint32_t* order,
                  int64_t lists, int64_t n, const int32_t* first, const int32_t* kept,
                  const int32_t* count, const int64_t* start, int32_t* places, void* kept_scores);

// Rows of class, score, box.
void write_rows(cudaStream_t stream, DType dtype, int64_t rows, const int32_t* kinds,
                const void* scores, const int32_t* places, const void* boxes, void* out);

}  // namespace argosy::cuda
