#include <cstring>

#include "argosy/base/error.h"
#include "argosy/infer/paddle.h"
#include "fuzz.h"

using namespace argosy;

// A model in memory: u32 length of the Program, the Program, its parameters. Programs of both
// formats are told apart by how they begin.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = fuzz::text(data, size);
  uint32_t length = 0;
  if (size < sizeof length) return 0;
  std::memcpy(&length, data, sizeof length);
  const std::string_view rest = bytes.substr(sizeof length);
  infer::ImportOptions options;
  options.program_bytes = rest.substr(0, length);
  options.weight_bytes = rest.substr(options.program_bytes.size());
  if (options.program_bytes.empty()) return 0;
  try {
    const program::Model model = infer::load_paddle(options);
    model.program->verify();
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::internal) fuzz::die(e.what());
  }
  return 0;
}
