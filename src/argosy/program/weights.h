#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "argosy/base/file.h"
#include "argosy/tensor/tensor.h"

// Tensors by name in a safetensors file: the length of a JSON header in 8 bytes, the header, then
// the values, little-endian and without gaps.
namespace argosy::program {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
using Strings = std::vector<std::pair<std::string, std::string>>;

// Written aside and renamed, so that the file is whole whenever it is seen; links stay. Tensors may
// be on any device and of any strides, but dense. complex128, which the format does not have, is
// written as float64 with one more dimension of 2, and a note in the metadata that load_weights
// understands.
ARGOSY_API void save_weights(const std::string& path, std::span<const NamedTensors::value_type> w,
                             const Strings& metadata = {});
// The same, for the caller to put in place.
void write_weights(OutputFile& file, std::span<const NamedTensors::value_type> weights,
                   const Strings& metadata = {});

// In order of their values in the file, each in memory of its own. The file is not trusted:
// whatever it holds, either its tensors are returned or an Error thrown.
ARGOSY_API NamedTensors load_weights(const std::string& path, Strings* metadata = nullptr);
// The same of what such a file holds.
ARGOSY_API NamedTensors parse_weights(std::string_view bytes, Strings* metadata = nullptr);

}  // namespace argosy::program
