#include "roundtrip.h"

using namespace argosy;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::shared_ptr<program::Program> p;
  // A fuzzer need not guess the header.
  std::string bytes;
  if (size && data[0] == 'F') {
    program::FileHeader header{{}, program::kFormatVersion, 0, size - 1};
    std::copy(std::begin(program::kMagic), std::end(program::kMagic), header.magic);
    bytes.assign(reinterpret_cast<const char*>(&header), sizeof(header));
    bytes.append(fuzz::text(data + 1, size - 1));
  } else {
    bytes = fuzz::text(data, size);
  }
  try {
    p = program::deserialize(bytes);
  } catch (const Error&) {
    return 0;
  }
  fuzz::check_round_trips(*p);
  return 0;
}
