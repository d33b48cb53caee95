#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

// What the harnesses share. Each is a source with one LLVMFuzzerTestOneInput, linked with libFuzzer
// (`make fuzz`) or with replay.cc, which runs the kept corpus in the normal tests.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace argosy::fuzz {

[[noreturn]] inline void die(const char* what) {
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

inline std::string_view text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace argosy::fuzz
