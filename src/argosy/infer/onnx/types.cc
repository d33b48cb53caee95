#include "argosy/infer/onnx/types.h"

#include <cstring>
#include <filesystem>

#include "argosy/base/file.h"
#include "argosy/infer/onnx/narrow.h"
#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "onnx.pb.h"

namespace argosy::infer::onnx {
namespace {

struct ElementRow {
  int number;
  const char* name;
  DType dtype;
  bool narrow = false;
};
constexpr ElementRow kElements[] = {
    {kFloat, "float32", DType::float32},
    {kUint8, "uint8", DType::uint8},
    {kInt8, "int8", DType::int8},
    {kUint16, "uint16", DType::uint16},
    {kInt16, "int16", DType::int16},
    {kInt32, "int32", DType::int32},
    {kInt64, "int64", DType::int64},
    {kBool, "bool", DType::bool_},
    {kFloat16, "float16", DType::float16},
    {kDouble, "float64", DType::float64},
    {kUint32, "uint32", DType::uint32},
    {kUint64, "uint64", DType::uint64},
    {kComplex64, "complex64", DType::complex64},
    {kComplex128, "complex128", DType::complex128},
    {kBfloat16, "bfloat16", DType::bfloat16},
    {kFloat8E4M3FN, "float8_e4m3fn", DType::float8_e4m3},
    {kFloat8E5M2, "float8_e5m2", DType::float8_e5m2},
    {kFloat8E4M3FNUZ, "float8_e4m3fnuz", DType::float32, true},
    {kFloat8E5M2FNUZ, "float8_e5m2fnuz", DType::float32, true},
    {kFloat8E8M0, "float8_e8m0fnu", DType::float32, true},
    {kFloat4E2M1, "float4_e2m1fn", DType::float32, true},
    {kUint4, "uint4", DType::uint8, true},
    {kInt4, "int4", DType::int8, true},
    {kUint2, "uint2", DType::uint8, true},
    {kInt2, "int2", DType::int8, true},
};

const ElementRow* row_of(int element) {
  for (const ElementRow& row : kElements)
    if (row.number == element) return &row;
  return nullptr;
}

Shape shape_of(const file::Tensor& t) {
  ARGOSY_CHECK(t.dims_size() <= kMaxRank, not_implemented)
      << "[onnx] tensor '" << t.name() << "' has " << t.dims_size() << " dimensions; at most "
      << kMaxRank << " are supported.";
  Shape shape;
  int64_t numel = 1;
  for (int64_t d : t.dims()) {
    ARGOSY_CHECK(d >= 0 && !__builtin_mul_overflow(numel, d, &numel), invalid_argument)
        << "[onnx] tensor '" << t.name() << "' has a size that cannot be: " << d << '.';
    shape.push_back(d);
  }
  return shape;
}

template <class To, class From>
void copy_numbers(const From& from, const Tensor& to) {
  To* out = to.data<To>();
  for (const auto v : from) *out++ = static_cast<To>(v);
}

// The field that holds numbers of this dtype one by one, as how many of them; 16-bit floats and
// float8 are kept by their bits.
int64_t count_numbers(const file::Tensor& t, DType dtype) {
  switch (dtype) {
    case DType::float32:
      return t.float_data_size();
    case DType::complex64:
      return t.float_data_size() / 2;
    case DType::float64:
      return t.double_data_size();
    case DType::complex128:
      return t.double_data_size() / 2;
    case DType::int64:
      return t.int64_data_size();
    case DType::uint32:
    case DType::uint64:
      return t.uint64_data_size();
    default:
      return t.int32_data_size();
  }
}

void read_numbers(const file::Tensor& t, const Tensor& out) {
  switch (out.dtype()) {
    case DType::float32:
    case DType::complex64:
      return copy_numbers<float>(t.float_data(), out);
    case DType::float64:
    case DType::complex128:
      return copy_numbers<double>(t.double_data(), out);
    case DType::int64:
      return copy_numbers<int64_t>(t.int64_data(), out);
    case DType::uint32:
      return copy_numbers<uint32_t>(t.uint64_data(), out);
    case DType::uint64:
      return copy_numbers<uint64_t>(t.uint64_data(), out);
    case DType::int32:
      return copy_numbers<int32_t>(t.int32_data(), out);
    case DType::float16:
    case DType::bfloat16:
    case DType::int16:
    case DType::uint16:
      return copy_numbers<uint16_t>(t.int32_data(), out);
    case DType::bool_:
    case DType::uint8:
    case DType::int8:
    case DType::float8_e4m3:
    case DType::float8_e5m2:
      return copy_numbers<uint8_t>(t.int32_data(), out);
  }
}

template <class T>
void decode_all(int element, const std::string& bytes, const Tensor& out) {
  const int width = bits_of(element), each = 8 / width;
  const uint32_t mask = (1u << width) - 1;
  for (int64_t i = 0; i < out.numel(); ++i) {
    const auto byte = static_cast<uint8_t>(bytes[static_cast<size_t>(i / each)]);
    const auto bits = static_cast<uint32_t>(byte) >> (i % each * width) & mask;
    out.data<T>()[i] = static_cast<T>(decode(element, bits));
  }
}

void read_narrow(int element, const std::string& bytes, const Tensor& out) {
  if (out.dtype() == DType::float32)
    decode_all<float>(element, bytes, out);
  else if (out.dtype() == DType::int8)
    decode_all<int8_t>(element, bytes, out);
  else
    decode_all<uint8_t>(element, bytes, out);
}

}  // namespace

const char* element_name(int element) {
  if (element == kString) return "string";
  const ElementRow* row = row_of(element);
  return row ? row->name : "unknown";
}

std::optional<DType> dtype_of_element(int element) {
  const ElementRow* row = row_of(element);
  return row ? std::optional(row->dtype) : std::nullopt;
}

bool is_narrow(int element) {
  const ElementRow* row = row_of(element);
  return row && row->narrow;
}

int element_of_dtype(DType dtype) {
  for (const ElementRow& row : kElements)
    if (row.dtype == dtype && !row.narrow) return row.number;
  ARGOSY_THROW(not_implemented) << "[onnx] ONNX has no element type for " << dtype << '.';
}

std::string TensorReader::outside(const file::Tensor& t, size_t bytes) const {
  namespace fs = std::filesystem;
  std::string location;
  uint64_t offset = 0, length = bytes;
  for (const file::Entry& e : t.external_data()) {
    if (e.key() == "location") location = e.value();
    if (e.key() == "offset") offset = std::strtoull(e.value().c_str(), nullptr, 10);
    if (e.key() == "length") length = std::strtoull(e.value().c_str(), nullptr, 10);
  }
  ARGOSY_CHECK(!folder_.empty(), invalid_argument)
      << "[onnx] tensor '" << t.name() << "' lies in another file, '" << location
      << "', but the model was given as bytes. Do this: load it by its path.";
  const fs::path root = fs::weakly_canonical(folder_);
  const fs::path path = fs::weakly_canonical(root / location);
  const fs::path within = path.lexically_relative(root);
  ARGOSY_CHECK(!location.empty() && !within.empty() && *within.begin() != "..", permission)
      << "[onnx] tensor '" << t.name() << "' lies in '" << location
      << "', which is not beneath the model's folder.";
  ARGOSY_CHECK(length == bytes, invalid_argument)
      << "[onnx] tensor '" << t.name() << "' takes " << bytes << " bytes, its part of '" << location
      << "' has " << length << '.';
  const InputFile in(path.string());
  ARGOSY_CHECK(offset <= in.size() && bytes <= in.size() - offset, invalid_argument)
      << "[onnx] tensor '" << t.name() << "' is to lie at " << offset << " in '" << location
      << "', which has " << in.size() << " bytes.";
  std::string data(bytes, '\0');
  in.read(offset, data.data(), bytes);
  return data;
}

Tensor TensorReader::read(const file::Tensor& t) const {
  const auto dtype = dtype_of_element(t.data_type());
  ARGOSY_CHECK(dtype, not_implemented)
      << "[onnx] tensor '" << t.name() << "' has elements of type " << element_name(t.data_type())
      << " (" << t.data_type() << "), which is not supported.";
  const Shape shape = shape_of(t);
  const auto wanted = static_cast<size_t>(shape.numel());
  const bool narrow = is_narrow(t.data_type());
  const size_t width = static_cast<size_t>(bits_of(t.data_type()));
  // Numbers of less than a byte share bytes, the first in the lowest bits.
  const size_t bytes =
      narrow ? (wanted * width + 7) / 8 : wanted * static_cast<size_t>(item_size(*dtype));
  const bool raw = t.has_raw_data() || t.data_location() == file::Tensor::EXTERNAL;
  std::string beside;
  if (t.data_location() == file::Tensor::EXTERNAL) beside = outside(t, bytes);
  const std::string& data = t.data_location() == file::Tensor::EXTERNAL ? beside : t.raw_data();
  const bool fits = raw      ? data.size() == bytes
                    : narrow ? static_cast<size_t>(t.int32_data_size()) == bytes
                             : count_numbers(t, *dtype) == static_cast<int64_t>(wanted);
  ARGOSY_CHECK(fits, invalid_argument)
      << "[onnx] tensor '" << t.name() << "' of " << *dtype << shape << " does not have " << wanted
      << " elements in the file.";
  Tensor out = Tensor::empty(shape, *dtype);
  if (narrow)
    read_narrow(t.data_type(),
                raw ? data : std::string(t.int32_data().begin(), t.int32_data().end()), out);
  else if (raw)
    std::memcpy(out.raw(), data.data(), bytes);
  else
    read_numbers(t, out);
  return out;
}

Tensor TensorReader::read(const file::SparseTensor& s) const {
  const Tensor values = read(s.values()), indices = read(s.indices());
  file::Tensor form;
  *form.mutable_dims() = s.dims();
  form.set_name(s.values().name());
  const Shape shape = shape_of(form);
  const int64_t count = values.numel();
  ARGOSY_CHECK(indices.dtype() == DType::int64 && shape.numel() <= kMaxFolded &&
                   (indices.rank() == 1 ? indices.numel() == count
                                        : indices.shape() == Shape({count, shape.rank()})),
               invalid_argument)
      << "[onnx] the indices of sparse tensor '" << form.name() << "' do not fit its values.";
  Tensor out = Tensor::empty(shape, values.dtype());
  std::memset(out.raw(), 0, out.nbytes());
  const Shape strides = shape.contiguous_strides();
  const size_t item = static_cast<size_t>(item_size(values.dtype()));
  for (int64_t i = 0; i < count; ++i) {
    int64_t place = 0;
    bool inside = true;
    if (indices.rank() == 1) {
      place = indices.data<int64_t>()[i];
      inside = place >= 0 && place < shape.numel();
    }
    for (int d = 0; indices.rank() == 2 && d < shape.rank(); ++d) {
      const int64_t at = indices.data<int64_t>()[i * shape.rank() + d];
      inside = inside && at >= 0 && at < shape[d];
      place += inside ? at * strides[d] : 0;
    }
    ARGOSY_CHECK(inside, index) << "[onnx] an index of sparse tensor '" << form.name()
                                << "' is outside of " << shape << '.';
    std::memcpy(static_cast<char*>(out.raw()) + static_cast<size_t>(place) * item,
                static_cast<const char*>(values.raw()) + static_cast<size_t>(i) * item, item);
  }
  return out;
}

void write_tensor(const Tensor& t, const std::string& name, file::Tensor* out) {
  const Tensor dense = op::to_host(t);
  out->set_name(name);
  out->set_data_type(element_of_dtype(t.dtype()));
  for (int64_t d : t.shape()) out->add_dims(d);
  out->set_raw_data(std::string(static_cast<const char*>(dense.raw()), dense.nbytes()));
}

}  // namespace argosy::infer::onnx
