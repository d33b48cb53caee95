#pragma once

#include <string>
#include <vector>

#include "argosy/data/batch.h"

// MultiSlot text: a line is a sample; for each slot a count and as many numbers, apart by blanks:
//   1 17 3 0.5 0.25 1 0
// Slots of int64 take unsigned 64-bit feature signs (up to 18446744073709551615) and negative
// numbers; floats are rounded once, to the nearest (as strtof does).
namespace argosy::data {

class ARGOSY_API Parser {
 public:
  explicit Parser(const Format& format);

  // Bytes after the end of a line that must be readable, whatever they are.
  static constexpr size_t kSlack = 32;

  // Adds the sample of the line [begin, end), without its end of line ('\r' counts as one). True if
  // there was one: blank lines have none. *why is set to what is wrong with the line, if something
  // is; then `columns` are as before.
  // REQUIRES: *end is '\n'; columns are of the format's slots.
  bool parse(const char* begin, const char* end, Columns* columns, std::string* why) const;

 private:
  enum class Kind : uint8_t { int64, int32, float32 };
  struct Form {
    Kind kind;
    bool ragged;
    uint64_t width;
    uint32_t item;
  };
  bool sample(const char* p, const char* end, Columns* columns, size_t* slot,
              std::string* why) const;
  void take_back(Columns* columns, size_t slots) const;

  Format format_;
  std::vector<Form> forms_;
};

}  // namespace argosy::data
