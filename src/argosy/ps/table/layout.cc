#include "argosy/ps/table/layout.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "argosy/base/error.h"

namespace argosy::ps {
namespace {

void append(std::string* text, float value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%s%.9g", text->empty() ? "" : "\t",
                static_cast<double>(value));
  *text += digits;
}

void append(std::string* text, uint32_t value) {
  if (!text->empty()) *text += '\t';
  *text += std::to_string(value);
}

// Weights as they are meant, then the state as it is.
void append_part(std::string* text, const Rule& rule, const std::byte* part) {
  std::vector<float> weights(rule.dim);
  rule.read(part, weights.data());
  for (const float w : weights) append(text, w);
  for (uint32_t at = 0; at < rule.state_bytes; at += 4) {
    append(text, load<float>(part + rule.weight_bytes + at));
  }
}

std::string rule_name(const Rule& rule) {
  const OptimizerConfig& c = rule.config;
  const bool velocity = c.rule == "rmsprop" && c.momentum != 0;
  const bool largest = c.rule == "adam_lazy" && c.amsgrad;
  return c.rule + (velocity ? "+momentum" : largest ? "+amsgrad" : "");
}

}  // namespace

RowLayout::RowLayout(const TableConfig& config)
    : accessor(config.accessor), admission(config.admission) {
  click = accessor.kind == "click";
  counted = admission.kind == "count" && admission.count > 1;
  stamped = !click && (config.max_rows || config.tier == "ssd");
  dim = static_cast<uint32_t>(accessor.dim);
  pull_width = click ? 3 + dim : dim;
  push_width = click ? 4 + dim : dim;
  header = stamped ? 12 : 8;
  embedding = make_rule(accessor.embedding, dim, storage_of(accessor.dtype));
  if (click) {
    weight = make_rule(accessor.weight, 1, Storage::float32);
    embedding_offset = kWeight + weight.bytes();
    bytes[0] = embedding_offset;
    bytes[1] = embedding_offset + embedding.bytes();
  } else {
    bytes[0] = bytes[1] = embedding.bytes();
  }
  bytes[2] = bytes[0] == 4 ? 8 : 4;  // sizes tell classes apart
  class_bits = counted ? 2 : click ? 1 : 0;
}

std::string RowLayout::name() const {
  std::string text = accessor.kind + " dim=" + std::to_string(dim) + " " + accessor.dtype;
  if (click) text += " weight=" + rule_name(weight);
  return text + " embedding=" + rule_name(embedding);
}

RowClass RowLayout::class_of(size_t row_bytes) const {
  if (row_bytes == bytes[0]) return RowClass::base;
  if (row_bytes == bytes[1]) return RowClass::full;
  ARGOSY_CHECK(row_bytes == bytes[2], invalid_argument)
      << "[table] rows of '" << name() << "' have " << bytes[0] << " or " << bytes[1]
      << " bytes, got one of " << row_bytes
      << ". Do this: load them into a table of the layout they were saved with.";
  return RowClass::candidate;
}

void RowLayout::refresh(ShardClock now, ShardClock written, std::span<std::byte> copy) const {
  const RowClass kind = class_of(copy.size());
  if (kind != RowClass::candidate && !click) return;
  std::byte* day = copy.data() + (kind == RowClass::candidate ? 2 : kDay);
  const uint32_t days =
      load<uint16_t>(day) + uint32_t{static_cast<uint16_t>(now.day - written.day)};
  store<uint16_t>(day, static_cast<uint16_t>(std::min<uint32_t>(days, 0xffff)));
  if (kind == RowClass::candidate) return;
  float shows = load<float>(copy.data() + kShow), clicks = load<float>(copy.data() + kClick);
  // As often as the shrinks did, so that not even the rounding differs.
  for (auto missed = static_cast<uint16_t>(now.decays - written.decays); missed > 0; --missed) {
    shows *= accessor.show_click_decay_rate;
    clicks *= accessor.show_click_decay_rate;
  }
  store(copy.data() + kShow, shows);
  store(copy.data() + kClick, clicks);
}

bool RowLayout::expired(std::span<const std::byte> copy) const {
  const RowClass kind = class_of(copy.size());
  if (kind != RowClass::candidate && !click) return false;
  const auto days = load<uint16_t>(copy.data() + (kind == RowClass::candidate ? 2 : kDay));
  if (static_cast<float>(days) > accessor.delete_after_unseen_days) return true;
  return kind != RowClass::candidate && score(copy.data()) < accessor.delete_threshold;
}

bool RowLayout::selected(Selection selection, std::span<const std::byte> copy) const {
  if (class_of(copy.size()) == RowClass::candidate) return false;
  if (!click) return true;
  const float delta = selection == Selection::base ? 0 : accessor.delta_threshold;
  return score(copy.data()) >= accessor.base_threshold &&
         load<float>(copy.data() + kDelta) >= delta &&
         static_cast<float>(load<uint16_t>(copy.data() + kDay)) <= accessor.delta_keep_days;
}

std::string RowLayout::text(const std::byte* row, size_t row_bytes) const {
  std::string out;
  const RowClass kind = class_of(row_bytes);
  if (kind == RowClass::candidate) {
    out = "candidate";
    append(&out, uint32_t{load<uint16_t>(row)});
    append(&out, uint32_t{load<uint16_t>(row + 2)});
    return out;
  }
  if (click) {
    append(&out, load<uint32_t>(row + kSlot));
    append(&out, uint32_t{load<uint16_t>(row + kDay)});
    append(&out, load<float>(row + kDelta));
    append(&out, load<float>(row + kShow));
    append(&out, load<float>(row + kClick));
    append_part(&out, weight, row + kWeight);
  }
  if (!click || kind == RowClass::full) append_part(&out, embedding, row + embedding_offset);
  return out;
}

}  // namespace argosy::ps
