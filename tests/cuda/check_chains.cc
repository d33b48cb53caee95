// Compiles what every loop and every conversion is in the text of a chain, for the GPU of the first
// argument (90: 9.0). Needs NVRTC and no GPU: cmake --build --preset release --target check_chains
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "argosy/base/error.h"
#include "argosy/kernels/cuda/chain_recorder.h"
#include "argosy/kernels/cuda/copy.h"
#include "argosy/kernels/cuda/loops.h"
#include "argosy/kernels/cuda/nvrtc.h"

using namespace argosy;
using namespace argosy::cuda;

namespace {

const std::vector<DType> kDtypes = {DType::bool_,  DType::uint8,   DType::int8,     DType::uint16,
                                    DType::int16,  DType::uint32,  DType::int32,    DType::uint64,
                                    DType::int64,  DType::float16, DType::bfloat16, DType::float32,
                                    DType::float64};

// Memory that is never touched: nothing is launched.
View view(DType dtype) {
  static uintptr_t next = uintptr_t{1} << 40;
  View v;
  v.data = reinterpret_cast<void*>(next += uintptr_t{1} << 24);
  v.dtype = dtype;
  v.rank = 1;
  v.shape[0] = 1 << 20;
  v.strides[0] = 1;
  return v;
}

// Whether the loop takes the dtype and is in chains.
bool record(ChainRecorder& recorder, DeviceLoop loop, std::vector<DType> inputs, DType key) {
  static const cpu::LoopParams params{1.5, 0.5, 2};
  std::vector<View> operands;
  for (const DType dtype : inputs) operands.push_back(view(dtype));
  operands.push_back(view(key));
  const size_t before = recorder.steps().size();
  try {
    loop(nullptr, {operands.data(), static_cast<int>(inputs.size()), 1, key, &params});
  } catch (const Error&) {
    return false;  // a loop that is in no chain was launched, and there is no GPU
  }
  return recorder.steps().size() > before;
}

int compile(const std::string& what, std::span<const ChainStep> steps, int capability) {
  int failed = 0;
  for (const ChainGroup& group : chain_groups(steps)) {
    ChainForm form;
    if (!chain_form(steps, group, form)) {
      std::printf("%s: no form\n", what.c_str());
      ++failed;
      continue;
    }
    const Compiled made = compile_text(chain_text(steps, group, form), chain_headers(), capability);
    if (!made.code.empty()) continue;
    ++failed;
    std::printf("%s:\n%s\n", what.c_str(), made.error.c_str());
  }
  return failed;
}

}  // namespace

int main(int count, char** arguments) {
  if (const char* missing = compiler_missing()) {
    std::printf("%s\n", missing);
    return 1;
  }
  const int capability = count > 1 ? std::atoi(arguments[1]) : 90;
  const std::map<std::string, DeviceLoop> loops = {
#define ARGOSY_NAMED(name) {#name, name##_loop},
      ARGOSY_ALL_LOOPS(ARGOSY_NAMED)
#undef ARGOSY_NAMED
  };
  size_t steps = 0;
  int failed = 0;
  std::string outside;
  for (const auto& [name, loop] : loops) {
    ChainRecorder recorder(nullptr);
    chain_recorder = &recorder;
    for (const DType dtype : kDtypes) {
      std::vector<DType> inputs = {dtype, dtype, dtype};
      if (name == "where") inputs[0] = DType::bool_;
      if (name == "dropout") inputs = {dtype, DType::uint8};
      record(recorder, loop, inputs, dtype);
    }
    chain_recorder = nullptr;
    if (recorder.steps().empty()) outside += ' ' + name;
    steps += recorder.steps().size();
    failed += compile(name, recorder.steps(), capability);
  }
  for (const DType from : kDtypes) {
    ChainRecorder recorder(nullptr);
    chain_recorder = &recorder;
    for (const DType to : kDtypes)
      if (to != from) copy(nullptr, view(to), view(from));
    chain_recorder = nullptr;
    steps += recorder.steps().size();
    failed += compile("cast", recorder.steps(), capability);
  }
  std::printf("%zu forms of loops, %d kernels did not compile; in no chain:%s\n", steps, failed,
              outside.c_str());
  return failed || steps < 900;
}
