#include "argosy/infer/paddle/weights.h"

#include <cstring>

#include "argosy/infer/paddle/graph.h"
#include "argosy/op/copy.h"
#include "framework.pb.h"

namespace argosy::infer::paddle {
namespace {

// Takes numbers and bytes off the front of a file.
class Cursor {
 public:
  Cursor(std::string_view bytes, const std::string& file) : rest_(bytes), file_(file) {}
  bool done() const { return rest_.empty(); }

  std::string_view take(uint64_t count) {
    if (count > rest_.size()) wrong("it ends in the middle of a tensor");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  [[noreturn]] void wrong(const char* what) const {
    ARGOSY_THROW(invalid_argument)
        << "[paddle] '" << file_ << "' is no file of Paddle's parameters: " << what << '.';
  }

 private:
  std::string_view rest_;
  const std::string& file_;
};

Tensor read_one(Cursor& c) {
  if (c.number<uint32_t>() != 0) c.wrong("a tensor is of another version than 0");
  const auto levels = c.number<uint64_t>();
  for (uint64_t i = 0; i < levels; ++i) c.take(c.number<uint64_t>());
  if (c.number<uint32_t>() != 0) c.wrong("a tensor is of another version than 0");
  const auto length = c.number<int32_t>();
  if (length < 0) c.wrong("a description has a negative length");
  const std::string_view described = c.take(static_cast<uint64_t>(length));
  file::TensorDesc desc;
  if (!desc.ParseFromArray(described.data(), length)) c.wrong("a description cannot be read");
  if (desc.dims_size() > kMaxRank) c.wrong("a tensor has too many dimensions");
  const DType dtype = dtype_of_number(desc.data_type(), "a tensor in the file");
  Shape shape;
  int64_t elements = 1;
  for (const int64_t d : desc.dims()) {
    if (d < 0 || __builtin_mul_overflow(elements, d, &elements)) c.wrong("a size is impossible");
    shape.push_back(d);
  }
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<uint64_t>(elements),
                             static_cast<uint64_t>(item_size(dtype)), &bytes))
    c.wrong("a size is impossible");
  const std::string_view data = c.take(bytes);
  Tensor t = Tensor::empty(shape, dtype);
  if (bytes) std::memcpy(t.raw(), data.data(), bytes);
  return t;
}

template <class T>
void append(std::string* bytes, T number) {
  bytes->append(reinterpret_cast<const char*>(&number), sizeof number);
}

void write_one(const Tensor& t, std::string* bytes) {
  file::TensorDesc desc;
  desc.set_data_type(static_cast<int32_t>(number_of_dtype(t.dtype())));
  for (const int64_t d : t.shape()) desc.add_dims(d);
  append<uint32_t>(bytes, 0);  // of the tensor with its levels of detail
  append<uint64_t>(bytes, 0);  // levels
  append<uint32_t>(bytes, 0);  // of the tensor
  append<int32_t>(bytes, static_cast<int32_t>(desc.ByteSizeLong()));
  desc.AppendToString(bytes);
  const Tensor here = op::to_host(t);
  bytes->append(static_cast<const char*>(here.raw()), here.nbytes());
}

}  // namespace

std::string write_tensors(const std::map<std::string, Tensor>& tensors) {
  std::string bytes;
  for (const auto& [name, t] : tensors) write_one(t, &bytes);
  return bytes;
}

std::vector<Tensor> read_tensors(std::string_view bytes, const std::string& file) {
  Cursor c(bytes, file);
  std::vector<Tensor> tensors;
  while (!c.done()) tensors.push_back(read_one(c));
  return tensors;
}

}  // namespace argosy::infer::paddle
