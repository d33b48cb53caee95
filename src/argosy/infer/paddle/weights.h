#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "argosy/tensor/tensor.h"

// Files of parameters (.pdiparams, __params__, or one file each): for each tensor
//   u32 version = 0, u64 levels, for each level u64 bytes and that many bytes of offsets,
//   u32 version = 0, i32 length, that many bytes of a TensorDesc, the elements.
namespace argosy::infer::paddle {

// The tensors of a file in its order. Not trusted: sizes are checked against the bytes that are
// there before memory is asked for.
std::vector<Tensor> read_tensors(std::string_view bytes, const std::string& file);

// The file of these, in the order of their names.
std::string write_tensors(const std::map<std::string, Tensor>& tensors);

}  // namespace argosy::infer::paddle
