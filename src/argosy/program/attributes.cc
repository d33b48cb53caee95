#include "argosy/program/attributes.h"

#include "argosy/op/dispatch.h"
#include "argosy/program/program.h"

namespace argosy::program {

const Tensor& element_placeholder() {
  static const Tensor placeholder = Tensor::describe({}, DType::int64);
  return placeholder;
}

op::Scalar number_in(const Tensor& t) {
  ARGOSY_CHECK(t.numel() == 1, invalid_argument)
      << "A size or number of a Program must be a tensor of one element, got " << t << '.';
  auto read = [&](DType as) {
    Tensor wide = Tensor::empty({}, as);
    Tensor one = t.view({}, {});
    op::copy_into(wide, one);
    return wide;
  };
  if (t.dtype() == DType::bool_) return op::Scalar(*read(DType::int64).data<int64_t>() != 0);
  if (is_integral(t.dtype())) return op::Scalar(*read(DType::int64).data<int64_t>());
  return op::Scalar(*read(DType::float64).data<double>());
}

op::AttrBox attributes(const Operation& o, std::span<const Tensor> elements) {
  op::AttrBox box(*o.op->attrs, o.attrs.get());
  size_t next = 0;
  bool concrete = true;
  each_element(*o.op->attrs, box.get(), [&](Tensor& t, int64_t* size, op::Scalar* scalar) {
    const Tensor& element = elements[next++];
    if (element.symbolic()) {
      t = element;
      concrete = false;
      return;
    }
    op::Scalar value = number_in(element);
    if (size) *size = value.integer();
    if (scalar) *scalar = value;
  });
  // Numbers that were read are no elements any more. (All are of one kind: an interpreter has only
  // concrete values, a builder only symbolic ones.)
  if (concrete && next)
    for (const op::Field& f : o.op->attrs->fields)
      if (f.kind == op::FieldKind::int_array)
        reinterpret_cast<op::IntArray*>(static_cast<char*>(box.get()) + f.offset)->symbols.clear();
  return box;
}

op::AttrBox unread_attributes(const Operation& o, std::span<const Tensor> elements) {
  op::AttrBox box(*o.op->attrs, o.attrs.get());
  size_t next = 0;
  bool fit = true;
  each_element(*o.op->attrs, box.get(), [&](Tensor& t, int64_t*, op::Scalar* scalar) {
    t = elements[next++];
    fit = fit && scalar && t.layout() == Layout::strided && t.numel() == 1 &&
          (t.dtype() == DType::float32 || t.dtype() == DType::float64);
  });
  return fit ? std::move(box) : op::AttrBox();
}

}  // namespace argosy::program
