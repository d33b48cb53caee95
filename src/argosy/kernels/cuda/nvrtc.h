#pragma once

#include <span>
#include <string>
#include <utility>

// NVIDIA's compiler at run time, which is found when it is first needed. Needs no toolkit to build.
namespace argosy::cuda {

struct Compiled {
  std::string code;   // machine code; empty if there is none
  std::string error;  // then: why
};

// A header by the name that texts include it by.
using Header = std::pair<const char*, const char*>;

// The texts that kernels of chains include (made by cmake/embed.cmake).
std::span<const Header> chain_headers();

// For GPUs of compute capability `capability` (90: 9.0). One at a time.
Compiled compile_text(const std::string& text, std::span<const Header> headers, int capability);

// Null if libnvrtc is there, else what is missing.
const char* compiler_missing();

}  // namespace argosy::cuda
