#include "argosy/infer/paddle/graph.h"

#include <array>
#include <utility>

namespace argosy::infer::paddle {
namespace {

constexpr std::array<std::pair<int64_t, DType>, 14> kDTypes{{
    {0, DType::bool_},
    {1, DType::int16},
    {2, DType::int32},
    {3, DType::int64},
    {4, DType::float16},
    {5, DType::float32},
    {6, DType::float64},
    {20, DType::uint8},
    {21, DType::int8},
    {22, DType::bfloat16},
    {23, DType::complex64},
    {24, DType::complex128},
    {32, DType::float8_e4m3},
    {33, DType::float8_e5m2},
}};

const std::vector<std::string>* find(const Slots& slots, std::string_view name) {
  for (const auto& [slot, names] : slots)
    if (slot == name) return &names;
  return nullptr;
}

}  // namespace

DType dtype_of_number(int64_t number, std::string_view what) {
  for (const auto& [n, dtype] : kDTypes)
    if (n == number) return dtype;
  ARGOSY_THROW(invalid_argument) << "[paddle] " << what << " is of type " << number
                                 << " of Paddle, which is no dtype of Argosy.";
}

int64_t number_of_dtype(DType dtype) {
  for (const auto& [n, d] : kDTypes)
    if (d == dtype) return n;
  ARGOSY_THROW(not_implemented) << "[paddle] files of Paddle have no " << dtype << '.';
}

const std::vector<std::string>* Operation::input(std::string_view slot) const {
  return find(inputs, slot);
}
const std::vector<std::string>* Operation::output(std::string_view slot) const {
  return find(outputs, slot);
}

}  // namespace argosy::infer::paddle
