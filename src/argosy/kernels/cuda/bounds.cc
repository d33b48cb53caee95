#include "argosy/kernels/cuda/bounds.h"

#include <atomic>

namespace argosy::cuda {

bool take_finding(Finding& from, Finding* found) {
  std::atomic_ref<uint32_t> ready(from.ready);
  if (!ready.load(std::memory_order_acquire)) [[likely]]
    return false;
  if (!ready.exchange(0, std::memory_order_acq_rel)) return false;
  *found = from;  // the device writes no other one before it is told to look again
  return true;
}

Error error_of(const Finding& found) {
  ErrorKind kind = ErrorKind::invalid_argument;
  Message text;
  text << '[' << found.op << "] ";
  switch (found.named) {
    case Named::element:
    case Named::corner:
      kind = found.named == Named::corner ? ErrorKind::axis : ErrorKind::index;
      text << "index " << found.value << " is out of range for dimension " << found.detail
           << " of size " << found.bound
           << ". Do this: check the index; negative ones count from the end.";
      break;
    case Named::row:
      text << "index " << found.value << " is out of range: expected 0 <= index < " << found.bound
           << " (the rows of weight). Do this: check num_embeddings, or the data.";
      break;
    case Named::label:
      kind = ErrorKind::index;
      text << "label " << found.value << " is out of range: expected 0 <= label < " << found.bound
           << " (the number of classes) or ignore_index " << found.detail
           << ". Do this: check the labels and the size of the last layer.";
      break;
    case Named::category:
      text << "element " << found.value << " is out of range: expected 0 <= x < " << found.bound
           << " (num_classes). Do this: pass a larger num_classes, or check the labels.";
      break;
    case Named::parent:
      text << "parent " << found.value << " is out of range: there are " << found.bound
           << " beams. Do this: check that parents come from the same search.";
      break;
    case Named::place:
      text << "index " << found.value << " is outside a plane of " << found.bound
           << " elements. Do this: give the output_size that the pool's input had.";
      break;
    case Named::image:
      text << "there is no image " << found.value << " among " << found.bound
           << ". Do this: count the boxes of each image.";
      break;
    case Named::argmax:
      text << "argmax must be below " << found.bound << ", got " << found.value
           << ". Do this: pass what roi_pool gave.";
      break;
  }
  return Error(kind, text.str());
}

}  // namespace argosy::cuda
