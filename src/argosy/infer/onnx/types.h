#pragma once

#include <optional>
#include <string>
#include <vector>

#include "argosy/tensor/tensor.h"

namespace argosy::infer::onnx {

namespace file {
class Tensor;
class SparseTensor;
}  // namespace file

// ONNX's numbers of element types.
enum Element : int {
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
};

const char* element_name(int element);
// The dtype whose values they are; for those that no dtype is, the one that holds all their values
// (int8 for int4, float32 for the rest of float8).
std::optional<DType> dtype_of_element(int element);
int element_of_dtype(DType dtype);
// Is it narrower than the dtype that holds it?
bool is_narrow(int element);

// Memory that tensors of a hostile file may ask for, more than it has bytes.
inline constexpr int64_t kMaxFolded = int64_t{1} << 31;

// Reads tensors of a file; data beside it from beneath `folder`, where that is not empty.
class TensorReader {
 public:
  explicit TensorReader(std::string folder) : folder_(std::move(folder)) {}
  Tensor read(const file::Tensor& t) const;
  // Dense, with zeros.
  Tensor read(const file::SparseTensor& t) const;

 private:
  std::string outside(const file::Tensor& t, size_t bytes) const;
  std::string folder_;
};

// The other way; `dtype`s that ONNX does not have throw.
void write_tensor(const Tensor& t, const std::string& name, file::Tensor* out);

}  // namespace argosy::infer::onnx
