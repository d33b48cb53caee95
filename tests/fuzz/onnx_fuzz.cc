#include "argosy/base/error.h"
#include "argosy/infer/onnx.h"
#include "fuzz.h"

using namespace argosy;

// Reads a file and makes the Program of it, as far as it can be made without knowing more of the
// inputs: an Error, or a Program that verifies (build() says so itself).
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto model = infer::parse_onnx(fuzz::text(data, size), "");
    const infer::OnnxProgram made = model->build({});
    if (made.program && !made.needs.empty()) fuzz::die("a Program that needs more");
  } catch (const Error&) {
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
