#include "argosy/data/batch.h"

namespace argosy::data {

void Columns::clear() {
  for (Bytes& b : values) b.resize(0);
  for (Bytes& b : lengths) b.resize(0);
  ids.clear();
  samples = 0;
}

void Columns::finish(const std::vector<Slot>& slots, Batch* batch) {
  batch->values.resize(slots.size());
  batch->lengths.resize(slots.size());
  batch->samples = samples;
  for (size_t i = 0; i < slots.size(); ++i) {
    const Slot& slot = slots[i];
    const Bytes& from = values[i];
    const auto rows =
        static_cast<int64_t>(from.size() / (slot.item() * static_cast<size_t>(slot.width())));
    Shape shape;
    shape.push_back(rows);
    for (int d = 0; d < slot.row.rank(); ++d) shape.push_back(slot.row[d]);
    batch->values[i] = Tensor::empty(shape, slot.dtype);
    if (from.size()) std::memcpy(batch->values[i].raw(), from.data(), from.size());
    if (!slot.ragged) continue;
    batch->lengths[i] = Tensor::empty(Shape{samples}, DType::int64);
    if (lengths[i].size())
      std::memcpy(batch->lengths[i].raw(), lengths[i].data(), lengths[i].size());
  }
  clear();
}

}  // namespace argosy::data
