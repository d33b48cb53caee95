#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "argosy/base/dtype.h"

// Boxes that better ones do not overlap (cpu/roi.h, suppress), of many lists at once.
namespace argosy::cuda {

struct Suppression {
  DType dtype = DType::float32;
  double threshold = 0.3, extra = 0, eta = 1;
  int64_t lists = 1;
  int64_t most = 0;  // places of a list
  // Box i of list l is boxes[l / lists_per_boxes][order[l][i]], [.., boxes_of, 4]; without an order
  // it is box i.
  const void* boxes = nullptr;
  int64_t lists_per_boxes = 1, boxes_of = 0;
  const uint32_t* order = nullptr;  // [lists, most]
  // Those of list l are first[l] .. first[l] + count[l]; without them all.
  const int32_t *first = nullptr, *count = nullptr;
  // Boxes that are left out, as if they were not there: [lists, most], by place. Or null.
  const bool* left_out = nullptr;
};
// kept [lists, most]: places in the list; kept_count [lists].
void suppress(cudaStream_t stream, const Suppression& call, int32_t* kept, int32_t* kept_count);

}  // namespace argosy::cuda
