#pragma once

// What C++ sources of custom ops include: the interface that PaddlePaddle's documentation
// describes, on top of Argosy's ops (docs/custom_ops.md). Needs C++17 and no other header of
// Argosy.

#include <complex>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "argosy_abi.h"

#define PADDLE_API __attribute__((visibility("default")))

struct CUstream_st;
namespace argosy {
class TensorImpl;
}  // namespace argosy

// Ours, so that no symbol is another library's; sources see all of it as paddle::.
namespace argosy::extension {

using gpuStream_t = ::CUstream_st*;  // which is cudaStream_t

// --- numbers ---

namespace detail {
template <class To, class From>
To bits_as(From v) {
  static_assert(sizeof(To) == sizeof(From));
  To out;
  std::memcpy(&out, &v, sizeof(out));
  return out;
}
// Not every compiler has a type for these 16 bits. To the nearest, ties to even.
inline uint16_t half_bits(float v) {
  uint32_t u = bits_as<uint32_t>(v);
  const uint32_t sign = u >> 16 & 0x8000;
  u &= 0x7fffffff;
  if (u >= 0x47800000) return static_cast<uint16_t>(sign | (u > 0x7f800000 ? 0x7e00 : 0x7c00));
  // Below 2^-14 the last bit of a half is that of 0.5f.
  if (u < 0x38800000)
    return static_cast<uint16_t>(sign | (bits_as<uint32_t>(bits_as<float>(u) + 0.5f) - 0x3f000000));
  return static_cast<uint16_t>(sign | (u + 0xc8000fff + (u >> 13 & 1)) >> 13);
}
inline float half_value(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
  uint32_t u = static_cast<uint32_t>(h & 0x7fff) << 13;
  const uint32_t exponent = u & 0x0f800000;
  u += 0x38000000;
  if (exponent == 0x0f800000) u += 0x38000000;
  if (exponent == 0)
    u = bits_as<uint32_t>(bits_as<float>(u + 0x00800000) - bits_as<float>(uint32_t{0x38800000}));
  return bits_as<float>(sign | u);
}
}  // namespace detail

struct float16 {
  uint16_t x = 0;
  float16() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  explicit float16(T v) : x(detail::half_bits(static_cast<float>(v))) {}
  operator float() const { return detail::half_value(x); }
};

struct bfloat16 {
  uint16_t x = 0;
  bfloat16() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  explicit bfloat16(T v) {
    const uint32_t u = detail::bits_as<uint32_t>(static_cast<float>(v));
    // To the nearest, ties to even; NaN must not round to infinity.
    x = static_cast<uint16_t>((u & 0x7fffffff) > 0x7f800000 ? u >> 16 | 0x40
                                                            : (u + 0x7fff + (u >> 16 & 1)) >> 16);
  }
  operator float() const { return detail::bits_as<float>(static_cast<uint32_t>(x) << 16); }
};

#define PADDLE_HALF_ASSIGNS(T, op)                                         \
  inline T& operator op##=(T& a, float b) {                                \
    return a = static_cast<T>(static_cast<float>(a) op b);                 \
  }                                                                        \
  inline T operator op(T a, T b) {                                         \
    return static_cast<T>(static_cast<float>(a) op static_cast<float>(b)); \
  }
#define PADDLE_HALF(T)      \
  PADDLE_HALF_ASSIGNS(T, +) \
  PADDLE_HALF_ASSIGNS(T, -) \
  PADDLE_HALF_ASSIGNS(T, *) \
  PADDLE_HALF_ASSIGNS(T, /)
PADDLE_HALF(float16)
PADDLE_HALF(bfloat16)
#undef PADDLE_HALF
#undef PADDLE_HALF_ASSIGNS

template <class T>
using complex = std::complex<T>;
using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

enum class DataType : uint8_t {
  UNDEFINED,
  BOOL,
  UINT8,
  INT8,
  UINT16,
  INT16,
  UINT32,
  INT32,
  UINT64,
  INT64,
  FLOAT8_E4M3FN,
  FLOAT8_E5M2,
  FLOAT16,
  BFLOAT16,
  FLOAT32,
  FLOAT64,
  COMPLEX64,
  COMPLEX128,
};
PADDLE_API std::ostream& operator<<(std::ostream& out, DataType t);  // "float32"
PADDLE_API size_t SizeOf(DataType t);

namespace detail {
template <class T>
constexpr DataType dtype_of() {
  if constexpr (std::is_same_v<T, bool>)
    return DataType::BOOL;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return DataType::UINT8;
  else if constexpr (std::is_same_v<T, int8_t>)
    return DataType::INT8;
  else if constexpr (std::is_same_v<T, uint16_t>)
    return DataType::UINT16;
  else if constexpr (std::is_same_v<T, int16_t>)
    return DataType::INT16;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return DataType::UINT32;
  else if constexpr (std::is_same_v<T, int32_t>)
    return DataType::INT32;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
    return std::is_signed_v<T> ? DataType::INT64 : DataType::UINT64;
  else if constexpr (std::is_same_v<T, float16>)
    return DataType::FLOAT16;
  else if constexpr (std::is_same_v<T, bfloat16>)
    return DataType::BFLOAT16;
  else if constexpr (std::is_same_v<T, float>)
    return DataType::FLOAT32;
  else if constexpr (std::is_same_v<T, double>)
    return DataType::FLOAT64;
  else if constexpr (std::is_same_v<T, complex64>)
    return DataType::COMPLEX64;
  else if constexpr (std::is_same_v<T, complex128>)
    return DataType::COMPLEX128;
  else
    return DataType::UNDEFINED;
}
}  // namespace detail

template <class T>
struct CppTypeToDataType {
  static constexpr DataType Type() { return detail::dtype_of<T>(); }
};

enum class DataLayout { ANY, NHWC, NCHW, UNDEFINED = ANY };

// --- places ---

enum class AllocationType : int8_t { UNDEFINED = 0, CPU = 1, GPU = 2 };

class Place {
 public:
  constexpr Place(AllocationType type = AllocationType::CPU, int8_t device = 0)
      : type_(type), device_(device) {}
  AllocationType GetType() const { return type_; }
  int8_t GetDeviceId() const { return device_; }
  bool operator==(const Place& o) const { return type_ == o.type_ && device_ == o.device_; }
  bool operator!=(const Place& o) const { return !(*this == o); }

 private:
  AllocationType type_;
  int8_t device_;
};
class CPUPlace : public Place {
 public:
  constexpr CPUPlace() : Place(AllocationType::CPU) {}
};
class GPUPlace : public Place {
 public:
  constexpr explicit GPUPlace(int8_t device = 0) : Place(AllocationType::GPU, device) {}
};
// The names of older sources.
struct PlaceType {
  static constexpr Place kUNK{AllocationType::UNDEFINED}, kCPU{AllocationType::CPU},
      kGPU{AllocationType::GPU};
};

// --- errors ---

namespace detail {
[[noreturn]] PADDLE_API void raise(const char* file, int line, const std::string& message);
inline void text(std::ostringstream&) {}
template <class T, class... Rest>
void text(std::ostringstream& out, const T& first, const Rest&... rest) {
  out << first;
  text(out, rest...);
}
template <class... Parts>
[[noreturn]] void raise_all(const char* file, int line, const Parts&... parts) {
  std::ostringstream out;
  text(out, parts...);
  raise(file, line, out.str());
}
// The message of a check is its own, or names what did not hold.
template <class... Parts>
[[noreturn]] void raise_unless(const char* file, int line, const char* condition,
                               const Parts&... parts) {
  if constexpr (sizeof...(Parts) > 0) raise_all(file, line, parts...);
  raise_all(file, line, "Expected ", condition, ", but it's not satisfied.");
}
}  // namespace detail

// Raise OSError in Python, as PaddlePaddle does, with the parts of the message one after the other.
#define PD_THROW(...) ::paddle::detail::raise_all(__FILE__, __LINE__, ##__VA_ARGS__)
#define PD_CHECK(condition, ...)                                                     \
  do {                                                                               \
    if (__builtin_expect(!(condition), 0)) {                                         \
      ::paddle::detail::raise_unless(__FILE__, __LINE__, #condition, ##__VA_ARGS__); \
    }                                                                                \
  } while (false)

// --- optional ---

template <class T>
class optional : public std::optional<T> {
 public:
  using std::optional<T>::optional;
  bool is_initialized() const { return this->has_value(); }
  const T& get() const { return this->value(); }
  T& get() { return this->value(); }
  const T* get_ptr() const { return *this ? &**this : nullptr; }
  T* get_ptr() { return *this ? &**this : nullptr; }
};
inline constexpr std::nullopt_t none = std::nullopt;

// --- tensors ---

class Scalar {
 public:
  Scalar(double v = 0) : kind_(Kind::real), real_(v) {}
  Scalar(float v) : Scalar(static_cast<double>(v)) {}
  Scalar(bool v) : kind_(Kind::boolean), integer_(v), real_(v) {}
  Scalar(int64_t v) : kind_(Kind::integer), integer_(v), real_(static_cast<double>(v)) {}
  Scalar(int32_t v) : Scalar(static_cast<int64_t>(v)) {}
  enum class Kind { boolean, integer, real };
  Kind kind() const { return kind_; }
  template <class T>
  T to() const {
    return kind_ == Kind::real ? static_cast<T>(real_) : static_cast<T>(integer_);
  }

 private:
  Kind kind_;
  int64_t integer_ = 0;
  double real_ = 0;
};

class IntArray {
 public:
  IntArray() = default;
  IntArray(const std::vector<int64_t>& v) : data_(v) {}
  IntArray(const std::vector<int>& v) : data_(v.begin(), v.end()) {}
  IntArray(std::initializer_list<int64_t> v) : data_(v) {}
  const std::vector<int64_t>& GetData() const { return data_; }
  size_t size() const { return data_.size(); }

 private:
  std::vector<int64_t> data_;
};

// A handle on a tensor; copies share it. Inputs of kernels are contiguous.
class PADDLE_API Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor& o);
  Tensor(Tensor&& o) noexcept : impl_(std::exchange(o.impl_, nullptr)) {}
  Tensor& operator=(const Tensor& o);
  Tensor& operator=(Tensor&& o) noexcept {
    std::swap(impl_, o.impl_);
    return *this;
  }
  ~Tensor();
  // Older sources: a shape, whose memory comes with the first mutable_data<T>().
  explicit Tensor(const Place& place, const std::vector<int64_t>& shape = {});

  std::vector<int64_t> shape() const;
  std::vector<int64_t> dims() const { return shape(); }
  std::vector<int64_t> strides() const;
  int64_t numel() const;
  int64_t size() const { return numel(); }
  DataType dtype() const;
  DataType type() const { return dtype(); }
  DataLayout layout() const { return DataLayout::NCHW; }
  Place place() const;
  bool is_cpu() const { return place().GetType() == AllocationType::CPU; }
  bool is_gpu() const { return place().GetType() == AllocationType::GPU; }
  // Of a tensor on a GPU: where a kernel enqueues its work, behind all that the tensor waits for.
  // Nothing puts what runs on another stream, or on none, in order with it.
  gpuStream_t stream() const;
  bool is_dense_tensor() const;
  bool is_contiguous() const;
  bool defined() const { return impl_ != nullptr; }
  bool initialized() const;
  bool is_initialized() const { return initialized(); }
  bool has_allocation() const { return initialized(); }
  const void* impl() const { return impl_; }
  void reset() { *this = Tensor(); }

  // Throws if T is not the C++ type of dtype().
  template <class T>
  const T* data() const {
    return static_cast<const T*>(elements(detail::dtype_of<std::remove_cv_t<T>>()));
  }
  template <class T>
  T* data() {
    return static_cast<T*>(elements(detail::dtype_of<std::remove_cv_t<T>>()));
  }
  const void* data() const { return elements(dtype()); }
  void* data() { return elements(dtype()); }
  template <class T>
  T* mutable_data() {
    return static_cast<T*>(allocate(detail::dtype_of<T>()));
  }
  template <class T>
  T* mutable_data(const Place& place) {
    if (!initialized() && place != this->place()) *this = Tensor(place, shape());
    return mutable_data<T>();
  }

  void reshape(const std::vector<int64_t>& shape);
  // Rows [begin, end): a view.
  Tensor slice(int64_t begin, int64_t end) const;
  Tensor cast(DataType type) const;
  Tensor contiguous() const;
  template <class T>
  Tensor copy_to(const Place& place) const {
    return copy_to(place, true);
  }
  Tensor copy_to(const Place& place, bool blocking) const;
  void copy_(const Tensor& from, const Place& place, bool blocking);

  Tensor operator+(const Tensor& o) const;
  Tensor operator-(const Tensor& o) const;
  Tensor operator*(const Tensor& o) const;
  Tensor operator/(const Tensor& o) const;
  Tensor operator+(const Scalar& o) const;
  Tensor operator-(const Scalar& o) const;
  Tensor operator*(const Scalar& o) const;
  Tensor operator/(const Scalar& o) const;
  Tensor operator<(const Tensor& o) const;
  Tensor operator<=(const Tensor& o) const;
  Tensor operator==(const Tensor& o) const;
  Tensor operator!=(const Tensor& o) const;
  Tensor operator>(const Tensor& o) const;
  Tensor operator>=(const Tensor& o) const;
  Tensor operator-() const;

 private:
  friend struct TensorAccess;
  void* elements(DataType as) const;
  void* allocate(DataType as);
  argosy::TensorImpl* impl_ = nullptr;
};

PADDLE_API Tensor operator+(const Scalar& x, const Tensor& y);
PADDLE_API Tensor operator-(const Scalar& x, const Tensor& y);
PADDLE_API Tensor operator*(const Scalar& x, const Tensor& y);
PADDLE_API Tensor operator/(const Scalar& x, const Tensor& y);

// --- functions on tensors (src/argosy/extension/functions.cc) ---

PADDLE_API Tensor empty(const IntArray& shape, DataType dtype = DataType::FLOAT32,
                        const Place& place = CPUPlace());
PADDLE_API Tensor full(const IntArray& shape, const Scalar& value,
                       DataType dtype = DataType::FLOAT32, const Place& place = CPUPlace());
PADDLE_API Tensor zeros(const IntArray& shape, DataType dtype = DataType::FLOAT32,
                        const Place& place = CPUPlace());
PADDLE_API Tensor ones(const IntArray& shape, DataType dtype = DataType::FLOAT32,
                       const Place& place = CPUPlace());
// UNDEFINED, kUNK: that of x.
PADDLE_API Tensor empty_like(const Tensor& x, DataType dtype = DataType::UNDEFINED,
                             const Place& place = PlaceType::kUNK);
PADDLE_API Tensor full_like(const Tensor& x, const Scalar& value,
                            DataType dtype = DataType::UNDEFINED,
                            const Place& place = PlaceType::kUNK);
PADDLE_API Tensor zeros_like(const Tensor& x, DataType dtype = DataType::UNDEFINED,
                             const Place& place = PlaceType::kUNK);
PADDLE_API Tensor ones_like(const Tensor& x, DataType dtype = DataType::UNDEFINED,
                            const Place& place = PlaceType::kUNK);
PADDLE_API Tensor assign(const Tensor& x);
PADDLE_API Tensor cast(const Tensor& x, DataType dtype);
PADDLE_API Tensor reshape(const Tensor& x, const IntArray& shape);
PADDLE_API Tensor flatten(const Tensor& x, int start_axis = 1, int stop_axis = 1);
PADDLE_API Tensor squeeze(const Tensor& x, const IntArray& axis = {});
PADDLE_API Tensor unsqueeze(const Tensor& x, const IntArray& axis = {});
PADDLE_API Tensor transpose(const Tensor& x, const std::vector<int>& perm);
PADDLE_API Tensor expand(const Tensor& x, const IntArray& shape);
PADDLE_API Tensor concat(const std::vector<Tensor>& x, const Scalar& axis = 0);
PADDLE_API Tensor stack(const std::vector<Tensor>& x, int axis = 0);
PADDLE_API std::vector<Tensor> split(const Tensor& x, const IntArray& sections, const Scalar& axis);
PADDLE_API Tensor gather(const Tensor& x, const Tensor& index, const Scalar& axis = 0);
PADDLE_API Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y);
PADDLE_API Tensor matmul(const Tensor& x, const Tensor& y, bool transpose_x = false,
                         bool transpose_y = false);
PADDLE_API Tensor scale(const Tensor& x, const Scalar& scale = 1.0, const Scalar& bias = 0.0,
                        bool bias_after_scale = true);
PADDLE_API Tensor clip(const Tensor& x, const Scalar& min, const Scalar& max);
PADDLE_API Tensor pow(const Tensor& x, const Scalar& y);
PADDLE_API Tensor softmax(const Tensor& x, int axis = -1);
// Empty axes: all.
PADDLE_API Tensor sum(const Tensor& x, const IntArray& axis = {},
                      DataType dtype = DataType::UNDEFINED, bool keepdim = false);
PADDLE_API Tensor mean(const Tensor& x, const IntArray& axis = {}, bool keepdim = false);
PADDLE_API Tensor max(const Tensor& x, const IntArray& axis = {}, bool keepdim = false);
PADDLE_API Tensor min(const Tensor& x, const IntArray& axis = {}, bool keepdim = false);

// clang-format off
#define PADDLE_UNARY_FUNCTIONS(F)                                                       \
  F(abs) F(acos) F(asin) F(atan) F(ceil) F(cos) F(cosh) F(erf) F(exp) F(expm1) F(floor) \
  F(gelu) F(log) F(log10) F(log1p) F(log2) F(reciprocal) F(relu) F(relu6) F(round)      \
  F(rsqrt) F(sigmoid) F(sign) F(silu) F(sin) F(sinh) F(sqrt) F(square) F(tan) F(tanh)
#define PADDLE_BINARY_FUNCTIONS(F)                                                      \
  F(add) F(subtract) F(multiply) F(divide) F(maximum) F(minimum) F(floor_divide)        \
  F(remainder) F(equal) F(not_equal) F(less_than) F(less_equal) F(greater_than)         \
  F(greater_equal)
// clang-format on
#define PADDLE_UNARY(name) PADDLE_API Tensor name(const Tensor& x);
#define PADDLE_BINARY(name) PADDLE_API Tensor name(const Tensor& x, const Tensor& y);
PADDLE_UNARY_FUNCTIONS(PADDLE_UNARY)
PADDLE_BINARY_FUNCTIONS(PADDLE_BINARY)
#undef PADDLE_UNARY
#undef PADDLE_BINARY

// --- names of inputs and outputs ---

inline std::string Grad(const std::string& name) {
  return name + "@GRAD";
}
inline std::string Vec(const std::string& name) {
  return name + "@VECTOR";
}
inline std::string New(const std::string& name) {
  return name + "@NEW";
}
inline std::string Optional(const std::string& name) {
  return name + "@OPTIONAL";
}

// --- calls of the functions that an op is made of ---

// What a function of an op may read and write, by position of each kind.
class PADDLE_API OpCall {
 public:
  struct Operand {
    bool given = true;
    std::vector<Tensor> tensors;
    std::vector<std::vector<int64_t>> shapes;
    std::vector<DataType> dtypes;
  };

  std::vector<Operand> inputs;
  std::vector<std::vector<Tensor>> outputs;  // of kernels that take pointers to them
  std::vector<Tensor> made;                  // what a kernel returned
  bool returned = false;
  std::vector<std::vector<int64_t>> made_shapes;
  std::vector<DataType> made_dtypes;

  // Attribute i; throws where its declared type is another.
  template <class T>
  T attr(size_t i) const {
    T value{};
    read(i, &value);
    return value;
  }

  const Operand& input(size_t i, bool list) const;
  std::vector<Tensor>& output(size_t i);

  const void* op = nullptr;     // set by the caller
  const void* attrs = nullptr;  // set by the caller

 private:
  void read(size_t i, bool* value) const;
  void read(size_t i, int* value) const;
  void read(size_t i, int64_t* value) const;
  void read(size_t i, float* value) const;
  void read(size_t i, double* value) const;
  void read(size_t i, std::string* value) const;
  void read(size_t i, std::vector<int>* value) const;
  void read(size_t i, std::vector<int64_t>* value) const;
  void read(size_t i, std::vector<float>* value) const;
  void read(size_t i, std::vector<double>* value) const;
  void read(size_t i, std::vector<std::string>* value) const;
};
using OpFunction = void (*)(OpCall&);

namespace detail {

enum class Takes { input, output, attribute };

// What parameter type A of a function takes from a call; `get` gives what is kept for the length of
// the call, `pass` what the function gets. The first form is for attributes.
template <class A>
struct Parameter {
  static constexpr Takes takes = Takes::attribute;
  using Held = std::remove_cv_t<std::remove_reference_t<A>>;
  static Held get(OpCall& call, size_t i) { return call.attr<Held>(i); }
  static A pass(Held& held) { return held; }
};
template <class H, H (*kGet)(OpCall&, size_t), class A>
struct InputParameter {
  static constexpr Takes takes = Takes::input;
  using Held = H;
  static Held get(OpCall& call, size_t i) { return kGet(call, i); }
  static A pass(Held& held) { return held; }
};

inline Tensor one_tensor(OpCall& call, size_t i) {
  return call.input(i, false).tensors[0];
}
inline std::vector<Tensor> many_tensors(OpCall& call, size_t i) {
  return call.input(i, true).tensors;
}
inline std::vector<int64_t> one_shape(OpCall& call, size_t i) {
  return call.input(i, false).shapes[0];
}
inline std::vector<std::vector<int64_t>> many_shapes(OpCall& call, size_t i) {
  return call.input(i, true).shapes;
}
inline DataType one_dtype(OpCall& call, size_t i) {
  return call.input(i, false).dtypes[0];
}
inline std::vector<DataType> many_dtypes(OpCall& call, size_t i) {
  return call.input(i, true).dtypes;
}
template <class T, T (*kGet)(OpCall&, size_t)>
optional<T> if_given(OpCall& call, size_t i) {
  if (!call.inputs.at(i).given) return none;
  return kGet(call, i);
}

// The type A, by value and by each kind of reference, and as an optional.
#define PADDLE_INPUT(T, get)                                                                       \
  template <>                                                                                      \
  struct Parameter<const T&> : InputParameter<T, get, const T&> {};                                \
  template <>                                                                                      \
  struct Parameter<T&> : InputParameter<T, get, T&> {};                                            \
  template <>                                                                                      \
  struct Parameter<T> : InputParameter<T, get, T> {};                                              \
  template <>                                                                                      \
  struct Parameter<const optional<T>&>                                                             \
      : InputParameter<optional<T>, if_given<T, get>, const optional<T>&> {};                      \
  template <>                                                                                      \
  struct Parameter<optional<T>&> : InputParameter<optional<T>, if_given<T, get>, optional<T>&> {}; \
  template <>                                                                                      \
  struct Parameter<optional<T>> : InputParameter<optional<T>, if_given<T, get>, optional<T>> {};
PADDLE_INPUT(Tensor, one_tensor)
PADDLE_INPUT(std::vector<Tensor>, many_tensors)
PADDLE_INPUT(std::vector<std::vector<int64_t>>, many_shapes)
PADDLE_INPUT(DataType, one_dtype)
PADDLE_INPUT(std::vector<DataType>, many_dtypes)
#undef PADDLE_INPUT

template <>
struct Parameter<Tensor*> {
  static constexpr Takes takes = Takes::output;
  using Held = Tensor*;
  static Held get(OpCall& call, size_t i) { return &call.output(i).at(0); }
  static Tensor* pass(Held& held) { return held; }
};
template <>
struct Parameter<std::vector<Tensor*>> {
  static constexpr Takes takes = Takes::output;
  using Held = std::vector<Tensor*>;
  static Held get(OpCall& call, size_t i) {
    Held held;
    for (Tensor& t : call.output(i)) held.push_back(&t);
    return held;
  }
  static std::vector<Tensor*> pass(Held& held) { return held; }
};

// In functions that infer shapes a list of int64_t is the shape of an input, never an attribute.
template <class A>
struct ShapeParameter : Parameter<A> {};
#define PADDLE_SHAPE(A, H, get) \
  template <>                   \
  struct ShapeParameter<A> : InputParameter<H, get, A> {};
using OneShape = std::vector<int64_t>;
PADDLE_SHAPE(OneShape, OneShape, one_shape)
PADDLE_SHAPE(const OneShape&, OneShape, one_shape)
PADDLE_SHAPE(OneShape&, OneShape, one_shape)
#define PADDLE_IF_SHAPE if_given<OneShape, one_shape>
PADDLE_SHAPE(optional<OneShape>, optional<OneShape>, (PADDLE_IF_SHAPE))
PADDLE_SHAPE(const optional<OneShape>&, optional<OneShape>, (PADDLE_IF_SHAPE))
PADDLE_SHAPE(optional<OneShape>&, optional<OneShape>, (PADDLE_IF_SHAPE))
#undef PADDLE_IF_SHAPE
#undef PADDLE_SHAPE

// Calls fn with what its parameters take from the call.
template <template <class> class P, class R, class... Args, size_t... I>
R invoke(R (*fn)(Args...), OpCall& call, std::index_sequence<I...>) {
  constexpr Takes takes[] = {P<Args>::takes..., Takes::attribute};
  // Of its own kind, how many come before parameter `at`.
  constexpr auto place = [](const Takes* kinds, size_t at) {
    size_t before = 0;
    for (size_t i = 0; i < at; ++i) before += kinds[i] == kinds[at];
    return before;
  };
  std::tuple<typename P<Args>::Held...> held{P<Args>::get(call, place(takes, I))...};
  return fn(P<Args>::pass(std::get<I>(held))...);
}

template <class F, F f>
struct Kernel;
template <class R, class... Args, R (*f)(Args...)>
struct Kernel<R (*)(Args...), f> {
  static void run(OpCall& call) {
    if constexpr (std::is_void_v<R>) {
      invoke<Parameter>(f, call, std::index_sequence_for<Args...>());
    } else {
      static_assert(std::is_same_v<R, std::vector<Tensor>>,
                    "A kernel returns std::vector<paddle::Tensor>, or void.");
      call.made = invoke<Parameter>(f, call, std::index_sequence_for<Args...>());
      call.returned = true;
    }
  }
};

template <class F, F f>
struct InferShape;
template <class R, class... Args, R (*f)(Args...)>
struct InferShape<R (*)(Args...), f> {
  static_assert(std::is_same_v<R, std::vector<std::vector<int64_t>>>,
                "A function for PD_INFER_SHAPE returns std::vector<std::vector<int64_t>>.");
  static void run(OpCall& call) {
    call.made_shapes = invoke<ShapeParameter>(f, call, std::index_sequence_for<Args...>());
  }
};

template <class F, F f>
struct InferDtype;
template <class R, class... Args, R (*f)(Args...)>
struct InferDtype<R (*)(Args...), f> {
  static_assert(std::is_same_v<R, std::vector<DataType>>,
                "A function for PD_INFER_DTYPE returns std::vector<paddle::DataType>.");
  static void run(OpCall& call) {
    call.made_dtypes = invoke<Parameter>(f, call, std::index_sequence_for<Args...>());
  }
};

}  // namespace detail

#define PD_KERNEL(...) ::paddle::detail::Kernel<decltype(&__VA_ARGS__), &__VA_ARGS__>::run
#define PD_INFER_SHAPE(...) ::paddle::detail::InferShape<decltype(&__VA_ARGS__), &__VA_ARGS__>::run
#define PD_INFER_DTYPE(...) ::paddle::detail::InferDtype<decltype(&__VA_ARGS__), &__VA_ARGS__>::run

// --- descriptions of ops ---

struct OpMeta;

// Describes an op (level 0), its gradient (1) or the gradient of that (2). All parts of an op may
// stand in any order and file of one library.
class PADDLE_API OpMetaInfoBuilder {
 public:
  // on_gpu: the kernel takes tensors of GPUs, too; else they travel to the host for it.
  OpMetaInfoBuilder(const char* name, int level, const char* file, bool on_gpu);
  // Names; of the gradient's inputs: those of inputs and outputs of the op, and Grad(output).
  OpMetaInfoBuilder& Inputs(std::vector<std::string> names);
  // Of a gradient: Grad(input).
  OpMetaInfoBuilder& Outputs(std::vector<std::string> names);
  // "name: type"; bool, int, int64_t, float, double, std::string and std::vector of them but bool.
  OpMetaInfoBuilder& Attrs(std::vector<std::string> attrs);
  // Inputs that the kernel writes, and the outputs that they become.
  OpMetaInfoBuilder& SetInplaceMap(std::unordered_map<std::string, std::string> map);
  OpMetaInfoBuilder& SetKernelFn(OpFunction fn);
  OpMetaInfoBuilder& SetInferShapeFn(OpFunction fn);
  OpMetaInfoBuilder& SetInferDtypeFn(OpFunction fn);

 private:
  OpMeta* meta_;
};

}  // namespace argosy::extension

namespace paddle {
using namespace ::argosy::extension;  // NOLINT
}  // namespace paddle

// Sources of a CUDAExtension are compiled with PADDLE_WITH_CUDA.
#ifdef PADDLE_WITH_CUDA
#define PADDLE_ON_GPU true
#else
#define PADDLE_ON_GPU false
#endif
#define PADDLE_BUILD_OP(op_name, level)                                               \
  struct paddle_build_op_global_##level##_##op_name {};                               \
  static_assert(std::is_same_v<::paddle_build_op_global_##level##_##op_name,          \
                               paddle_build_op_global_##level##_##op_name>,           \
                "PD_BUILD_.. belongs to the global namespace.");                      \
  [[maybe_unused]] static ::paddle::OpMetaInfoBuilder paddle_op_##level##_##op_name = \
      ::paddle::OpMetaInfoBuilder(#op_name, level, __FILE__, PADDLE_ON_GPU)
#define PD_BUILD_OP(op_name) PADDLE_BUILD_OP(op_name, 0)
#define PD_BUILD_GRAD_OP(op_name) PADDLE_BUILD_OP(op_name, 1)
#define PD_BUILD_DOUBLE_GRAD_OP(op_name) PADDLE_BUILD_OP(op_name, 2)

// --- by dtype: run the function with data_t, the C++ type of TYPE, or raise ---

#define PADDLE_CASE(DTYPE, T, ...)     \
  case ::paddle::DataType::DTYPE: {    \
    using data_t [[maybe_unused]] = T; \
    return __VA_ARGS__();              \
  }
#define PADDLE_DISPATCH(TYPE, NAME, CASES)                                                         \
  [&] {                                                                                            \
    const auto paddle_dtype = TYPE;                                                                \
    switch (paddle_dtype) {                                                                        \
      CASES                                                                                        \
      default:                                                                                     \
        PD_THROW("function \"", NAME, "\" is not implemented for data type `", paddle_dtype, "`"); \
    }                                                                                              \
  }()
#define PADDLE_CASES_FLOATING(...) \
  PADDLE_CASE(FLOAT32, float, __VA_ARGS__) PADDLE_CASE(FLOAT64, double, __VA_ARGS__)
#define PADDLE_CASES_HALF(...)                         \
  PADDLE_CASE(FLOAT16, ::paddle::float16, __VA_ARGS__) \
  PADDLE_CASE(BFLOAT16, ::paddle::bfloat16, __VA_ARGS__)
#define PADDLE_CASES_INTEGRAL(...)         \
  PADDLE_CASE(INT32, int32_t, __VA_ARGS__) \
  PADDLE_CASE(INT64, int64_t, __VA_ARGS__) \
  PADDLE_CASE(INT8, int8_t, __VA_ARGS__)   \
  PADDLE_CASE(UINT8, uint8_t, __VA_ARGS__) PADDLE_CASE(INT16, int16_t, __VA_ARGS__)
#define PADDLE_CASES_COMPLEX(...)                          \
  PADDLE_CASE(COMPLEX64, ::paddle::complex64, __VA_ARGS__) \
  PADDLE_CASE(COMPLEX128, ::paddle::complex128, __VA_ARGS__)
#define PD_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) \
  PADDLE_DISPATCH(TYPE, NAME, PADDLE_CASES_FLOATING(__VA_ARGS__))
#define PD_DISPATCH_FLOATING_AND_HALF_TYPES(TYPE, NAME, ...) \
  PADDLE_DISPATCH(TYPE, NAME, PADDLE_CASES_FLOATING(__VA_ARGS__) PADDLE_CASES_HALF(__VA_ARGS__))
#define PD_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) \
  PADDLE_DISPATCH(TYPE, NAME, PADDLE_CASES_INTEGRAL(__VA_ARGS__))
#define PD_DISPATCH_COMPLEX_TYPES(TYPE, NAME, ...) \
  PADDLE_DISPATCH(TYPE, NAME, PADDLE_CASES_COMPLEX(__VA_ARGS__))
#define PD_DISPATCH_FLOATING_AND_INTEGRAL_TYPES(TYPE, NAME, ...) \
  PADDLE_DISPATCH(TYPE, NAME, PADDLE_CASES_FLOATING(__VA_ARGS__) PADDLE_CASES_INTEGRAL(__VA_ARGS__))
#define PD_DISPATCH_FLOATING_AND_COMPLEX_TYPES(TYPE, NAME, ...) \
  PADDLE_DISPATCH(TYPE, NAME, PADDLE_CASES_FLOATING(__VA_ARGS__) PADDLE_CASES_COMPLEX(__VA_ARGS__))
#define PD_DISPATCH_FLOATING_AND_INTEGRAL_AND_COMPLEX_TYPES(TYPE, NAME, ...)            \
  PADDLE_DISPATCH(TYPE, NAME,                                                           \
                  PADDLE_CASES_FLOATING(__VA_ARGS__) PADDLE_CASES_INTEGRAL(__VA_ARGS__) \
                      PADDLE_CASES_COMPLEX(__VA_ARGS__))

// Older and internal names of the same.
namespace phi {
using paddle::bfloat16;  // NOLINT
using paddle::CPUPlace;  // NOLINT
using paddle::DataType;  // NOLINT
using paddle::float16;   // NOLINT
using paddle::GPUPlace;  // NOLINT
using paddle::Place;     // NOLINT
namespace dtype {
using paddle::bfloat16;  // NOLINT
using paddle::float16;   // NOLINT
template <class T>
using complex = std::complex<T>;
}  // namespace dtype
}  // namespace phi
namespace paddle {
namespace experimental {
using namespace ::paddle;  // NOLINT
}  // namespace experimental
}  // namespace paddle
