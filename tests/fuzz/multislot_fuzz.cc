#include <algorithm>
#include <cstring>

#include "argosy/base/error.h"
#include "argosy/data/parser.h"
#include "argosy/data/stream.h"
#include "fuzz.h"

// Lines of MultiSlot text. The first byte says which form they have and in what pieces they come.
using namespace argosy;

namespace {

class Pieces : public data::Stream {
 public:
  Pieces(std::string_view text, size_t piece) : text_(text), piece_(piece) {}
  size_t read(char* to, size_t most) override {
    const size_t n = std::min({most, piece_, text_.size() - at_});
    std::memcpy(to, text_.data() + at_, n);
    at_ += n;
    return n;
  }
  uint64_t consumed() const override { return at_; }

 private:
  std::string_view text_;
  const size_t piece_;
  size_t at_ = 0;
};

size_t width_of(const data::Slot& s) {
  return s.item() * static_cast<size_t>(s.width());
}

void check(const data::Format& format, const data::Columns& c) {
  for (size_t i = 0; i < format.slots.size(); ++i) {
    const data::Slot& s = format.slots[i];
    auto rows = static_cast<uint64_t>(c.samples);
    if (s.ragged) {
      if (c.lengths[i].size() != rows * 8) fuzz::die("a list has no length");
      rows = 0;
      for (size_t k = 0; k < c.lengths[i].size(); k += 8) {
        int64_t n;
        std::memcpy(&n, c.lengths[i].data() + k, 8);
        if (n < 0) fuzz::die("a length is negative");
        rows += static_cast<uint64_t>(n);
      }
    }
    if (c.values[i].size() != rows * width_of(s)) fuzz::die("values and lengths do not agree");
  }
  if (format.sample_id && c.ids.size() != static_cast<size_t>(c.samples))
    fuzz::die("a sample has no id");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (!size) return 0;
  const unsigned how = bytes[0];
  data::Format format{{{"a", DType::int64, false, {1}},
                       {"b", DType::int64, true, {}},
                       {"c", DType::float32, (how & 1) != 0, {2}},
                       {"d", DType::int32, (how & 2) != 0, {}}},
                      (how & 4) != 0,
                      (how & 8) != 0,
                      (how & 16) != 0};
  const data::Parser parser(format);
  Pieces pieces(fuzz::text(bytes + 1, size - 1), how & 32 ? 7 : size);
  data::Lines lines(pieces);
  data::Columns columns(format.slots);
  const char *begin, *end;
  std::string why;
  uint64_t count = 0;
  while (lines.next(&begin, &end)) {
    if (*end != '\n' || lines.number() != ++count) fuzz::die("a line has no end");
    const int64_t before = columns.samples;
    if (parser.parse(begin, end, &columns, &why) != (columns.samples == before + 1))
      fuzz::die("a sample is not counted");
    if (columns.samples != before && !why.empty()) fuzz::die("a good line has a reason");
    why.clear();
    check(format, columns);
  }
  data::Batch batch;
  columns.finish(format.slots, &batch);
  return 0;
}
