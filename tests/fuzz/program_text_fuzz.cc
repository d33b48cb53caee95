#include "roundtrip.h"

using namespace argosy;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::shared_ptr<program::Program> p;
  try {
    p = program::parse(fuzz::text(data, size));
  } catch (const Error&) {
    return 0;
  }
  fuzz::check_round_trips(*p);
  return 0;
}
