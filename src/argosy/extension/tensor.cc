#include <ostream>

#include "argosy/base/native_stream.h"
#include "argosy/extension/access.h"
#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"

namespace argosy::extension {
namespace {

using argosy::DType;

constexpr int kFirst = 1;  // DataType has UNDEFINED before what DType has

argosy::Shape shape_of(const std::vector<int64_t>& sizes) {
  argosy::Shape shape;
  for (int64_t s : sizes) {
    ARGOSY_CHECK(shape.rank() < argosy::kMaxRank && s >= 0, invalid_argument)
        << "[extension] a tensor's shape: expected at most " << argosy::kMaxRank
        << " sizes >= 0, got " << s << " at place " << shape.rank() << " of " << sizes.size()
        << '.';
    shape.push_back(s);
  }
  return shape;
}

argosy::Tensor concrete(const Tensor& t) {
  argosy::Tensor own = TensorAccess::unwrap(t);
  ARGOSY_CHECK(own.defined(), invalid_argument)
      << "[extension] an undefined paddle::Tensor is read. Do this: make it with paddle::empty(..) "
         "first.";
  return own;
}

}  // namespace

static_assert(static_cast<int>(DataType::BOOL) - kFirst == static_cast<int>(DType::bool_));
static_assert(static_cast<int>(DataType::INT64) - kFirst == static_cast<int>(DType::int64));
static_assert(static_cast<int>(DataType::FLOAT16) - kFirst == static_cast<int>(DType::float16));
static_assert(static_cast<int>(DataType::COMPLEX128) - kFirst ==
              static_cast<int>(DType::complex128));

DType to_dtype(DataType t) {
  ARGOSY_CHECK(t != DataType::UNDEFINED, type)
      << "[extension] DataType::UNDEFINED is no dtype here. Do this: name one, or take that of an "
         "input.";
  return static_cast<DType>(static_cast<int>(t) - kFirst);
}
DataType from_dtype(DType t) {
  return static_cast<DataType>(static_cast<int>(t) + kFirst);
}
argosy::op::Scalar to_scalar(const Scalar& s) {
  if (s.kind() == Scalar::Kind::boolean) return s.to<bool>();
  if (s.kind() == Scalar::Kind::integer) return s.to<int64_t>();
  return s.to<double>();
}

std::ostream& operator<<(std::ostream& out, DataType t) {
  return out << (t == DataType::UNDEFINED ? "undefined" : argosy::name_of(to_dtype(t)));
}
size_t SizeOf(DataType t) {
  return static_cast<size_t>(argosy::item_size(to_dtype(t)));
}

namespace detail {
void raise(const char* file, int line, const std::string& message) {
  ARGOSY_THROW(io) << message << " (at " << file << ':' << line << ')';
}
}  // namespace detail

argosy::Place to_place(const Place& place) {
  if (place.GetType() != AllocationType::GPU) return {};
  const argosy::Device* device = argosy::device::find(argosy::kAccelerator);
  ARGOSY_CHECK(device, not_implemented)
      << "[extension] a tensor is to be made on a GPU, and this process has none. Do this: leave "
         "the place out, or pass paddle::CPUPlace() or x.place().";
  ARGOSY_CHECK(place.GetDeviceId() >= 0 && place.GetDeviceId() < device->count(), invalid_argument)
      << "[extension] there is no GPU " << static_cast<int>(place.GetDeviceId()) << ", but "
      << device->count() << " of them. Do this: number them from 0.";
  return {argosy::kAccelerator, place.GetDeviceId()};
}

Tensor::Tensor(const Tensor& o) : impl_(o.impl_) {
  if (impl_) impl_->retain();
}
Tensor& Tensor::operator=(const Tensor& o) {
  return *this = Tensor(o);
}
Tensor::~Tensor() {
  if (impl_) impl_->release();
}
Tensor::Tensor(const Place& place, const std::vector<int64_t>& shape) {
  *this = TensorAccess::wrap(
      argosy::Tensor::describe(shape_of(shape), DType::float32, to_place(place)));
}

std::vector<int64_t> Tensor::shape() const {
  const argosy::Tensor t = concrete(*this);
  return {t.shape().begin(), t.shape().end()};
}
std::vector<int64_t> Tensor::strides() const {
  const argosy::Tensor t = concrete(*this);
  return {t.strides().begin(), t.strides().end()};
}
int64_t Tensor::numel() const {
  return concrete(*this).numel();
}
DataType Tensor::dtype() const {
  return impl_ ? from_dtype(impl_->dtype) : DataType::UNDEFINED;
}
Place Tensor::place() const {
  if (impl_ && impl_->place.kind == argosy::DeviceKind::cuda)
    return GPUPlace(static_cast<int8_t>(impl_->place.index));
  return CPUPlace();
}
gpuStream_t Tensor::stream() const {
  const argosy::Place place = concrete(*this).place();
  ARGOSY_CHECK(place.kind == argosy::kAccelerator, invalid_argument)
      << "[extension] stream(): the tensor is on the CPU, which has no streams. Do this: ask "
         "is_gpu() before.";
  return static_cast<gpuStream_t>(
      argosy::device::native_streams(place).handle(argosy::device::current(place)));
}
bool Tensor::is_dense_tensor() const {
  return impl_ && impl_->layout == argosy::Layout::strided;
}
bool Tensor::is_contiguous() const {
  return concrete(*this).is_contiguous();
}
bool Tensor::initialized() const {
  return impl_ && impl_->storage;
}

void* Tensor::elements(DataType as) const {
  const argosy::Tensor t = concrete(*this);
  ARGOSY_CHECK(as == dtype(), type)
      << "[extension] data<T>(): T is not the type of the tensor's elements: the tensor is " << t
      << ". Do this: choose T by dtype(), with PD_DISPATCH_FLOATING_TYPES for example.";
  ARGOSY_CHECK(t.has_data() || t.numel() == 0, invalid_argument)
      << "[extension] data<T>(): the tensor " << t
      << " has no elements here: it is read for its shape only, or was not allocated.";
  return t.raw();
}

void* Tensor::allocate(DataType as) {
  const argosy::Tensor t = concrete(*this);
  if (!t.has_data() || dtype() != as)
    *this = TensorAccess::wrap(argosy::Tensor::empty(t.shape(), to_dtype(as), t.place()));
  return impl_->data();
}

void Tensor::reshape(const std::vector<int64_t>& shape) {
  argosy::op::IntArray sizes{std::span<const int64_t>(shape)};
  *this = TensorAccess::wrap(argosy::ops::reshape(concrete(*this), sizes));
}
Tensor Tensor::slice(int64_t begin, int64_t end) const {
  return TensorAccess::wrap(argosy::ops::slice(concrete(*this), 0, begin, end));
}
Tensor Tensor::cast(DataType type) const {
  return TensorAccess::wrap(argosy::ops::cast(concrete(*this), to_dtype(type)));
}
Tensor Tensor::contiguous() const {
  return TensorAccess::wrap(argosy::op::contiguous(concrete(*this)));
}
Tensor Tensor::copy_to(const Place& place, bool) const {
  const argosy::Tensor t = concrete(*this);
  const argosy::Place there = to_place(place);
  return TensorAccess::wrap(there == t.place() ? argosy::ops::assign(t)
                                               : argosy::op::to_place(t, there));
}
void Tensor::copy_(const Tensor& from, const Place& place, bool blocking) {
  *this = from.copy_to(place, blocking);
}

Tensor Tensor::operator+(const Tensor& o) const {
  return add(*this, o);
}
Tensor Tensor::operator-(const Tensor& o) const {
  return subtract(*this, o);
}
Tensor Tensor::operator*(const Tensor& o) const {
  return multiply(*this, o);
}
Tensor Tensor::operator/(const Tensor& o) const {
  return divide(*this, o);
}
Tensor Tensor::operator<(const Tensor& o) const {
  return less_than(*this, o);
}
Tensor Tensor::operator<=(const Tensor& o) const {
  return less_equal(*this, o);
}
Tensor Tensor::operator==(const Tensor& o) const {
  return equal(*this, o);
}
Tensor Tensor::operator!=(const Tensor& o) const {
  return not_equal(*this, o);
}
Tensor Tensor::operator>(const Tensor& o) const {
  return greater_than(*this, o);
}
Tensor Tensor::operator>=(const Tensor& o) const {
  return greater_equal(*this, o);
}
Tensor Tensor::operator-() const {
  return scale(*this, -1.0);
}
Tensor Tensor::operator+(const Scalar& o) const {
  return add(*this, full_like(*this, o));
}
Tensor Tensor::operator-(const Scalar& o) const {
  return subtract(*this, full_like(*this, o));
}
Tensor Tensor::operator*(const Scalar& o) const {
  return multiply(*this, full_like(*this, o));
}
Tensor Tensor::operator/(const Scalar& o) const {
  return divide(*this, full_like(*this, o));
}
Tensor operator+(const Scalar& x, const Tensor& y) {
  return add(full_like(y, x), y);
}
Tensor operator-(const Scalar& x, const Tensor& y) {
  return subtract(full_like(y, x), y);
}
Tensor operator*(const Scalar& x, const Tensor& y) {
  return multiply(full_like(y, x), y);
}
Tensor operator/(const Scalar& x, const Tensor& y) {
  return divide(full_like(y, x), y);
}

}  // namespace argosy::extension
