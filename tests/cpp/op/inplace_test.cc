#include <gtest/gtest.h>

#include "argosy/op/dispatch.h"
#include "argosy/ops/math/math.h"
#include "argosy/passes/rewrite.h"
#include "tests/cpp/tensors.h"

namespace argosy::op {
namespace {

using passes::default_attrs;
using passes::set_attr;
using test::counting;
using test::elements;
using test::error_of;
using test::floats;
using test::number;
using test::permuted;
using test::tensor;
using Floats = std::vector<float>;

Tensor inplace(const char* name, std::vector<Tensor> in) {
  const OpDef& op = get(name);
  return dispatch_inplace(op, Inputs(in), op.attrs->defaults);
}

TEST(Inplace, TheSameHandleAndMemoryWithANewVersion) {
  Tensor x = counting({3});
  const void* memory = x.raw();
  const Tensor out = inplace("multiply", {x, floats({3}, {2, 3, 4})});
  EXPECT_TRUE(out.is(x));
  EXPECT_EQ(x.raw(), memory);
  EXPECT_EQ(elements(x), (Floats{0, 3, 8}));
  EXPECT_EQ(x.version(), 1u);
  EXPECT_STREQ(x.impl()->storage->writer(), "multiply");
  inplace("negative", {x});
  EXPECT_EQ(elements(x), (Floats{0, -3, -8}));
  EXPECT_EQ(x.version(), 2u);
}

TEST(Inplace, WholeNumbersAreNotAddedFractions) {
  Tensor x = counting<int32_t>({3}, 1);
  EXPECT_NE(error_of(ErrorKind::attribute,
                     [&] {
                       inplace("add", {x, number(2.75f)});
                     })
                .find("do not mix in place: x is int32[3], the result would be float32"),
            std::string::npos);
  EXPECT_EQ(elements<int32_t>(x), (std::vector<int32_t>{1, 2, 3}));
}

TEST(Inplace, ANarrowResultKeepsItsDtype) {
  Tensor half = Tensor::empty({1}, DType::float16);
  *half.data<float16>() = float16(0.5f);
  inplace("add", {half, number(1)});
  EXPECT_EQ(half.dtype(), DType::float16);
  EXPECT_EQ(static_cast<float>(*half.data<float16>()), 1.5f);
}

TEST(Inplace, OthersBroadcastToX) {
  Tensor x = counting({2, 3});
  inplace("add", {x, floats({3}, {10, 20, 30})});
  EXPECT_EQ(elements(x), (Floats{10, 21, 32, 13, 24, 35}));
  inplace("subtract", {x, number(10)});
  EXPECT_EQ(elements(x), (Floats{0, 11, 22, 3, 14, 25}));
}

TEST(Inplace, AResultOfAnotherShapeIsRefused) {
  Tensor x = counting({2});
  EXPECT_EQ(error_of(ErrorKind::invalid_argument,
                     [&] {
                       inplace("add", {x, counting({3, 2})});
                     }),
            "[add] in place needs a result of x's shape: x is float32[2], the result would be [3, "
            "2]. Do this: use the form that returns a new tensor.");
  EXPECT_EQ(elements(x), (Floats{0, 1}));
  EXPECT_EQ(x.version(), 0u);
}

TEST(Inplace, AMissingXIsAnError) {
  EXPECT_EQ(error_of(ErrorKind::operand,
                     [] {
                       inplace("add", {Tensor(), number(1)});
                     }),
            "[add] x is missing: expected a Tensor, got None. Do this: pass a Tensor.");
}

TEST(Inplace, AViewIsWrittenWithinItsBase) {
  Tensor base = counting({3, 3});
  Tensor column = base.view({3}, {3}, 1), square = permuted(base, {1, 0}).view({2, 2}, {1, 3}, 4);
  inplace("add", {column, floats({3}, {100, 200, 300})});
  EXPECT_EQ(elements(base), (Floats{0, 101, 2, 3, 204, 5, 6, 307, 8}));
  inplace("negative", {square});
  EXPECT_EQ(elements(base), (Floats{0, 101, 2, 3, -204, -5, 6, -307, -8}));
  EXPECT_EQ(base.version(), 2u);
}

// The operand is read as it was before the write.
TEST(Inplace, OperandsMayShareTheMemory) {
  Tensor x = counting({3, 3});
  inplace("add", {x, x});
  EXPECT_EQ(elements(x), (Floats{0, 2, 4, 6, 8, 10, 12, 14, 16}));
  Tensor y = counting({3, 3});
  inplace("add", {y, permuted(y, {1, 0})});
  EXPECT_EQ(elements(y), (Floats{0, 4, 8, 4, 8, 12, 8, 12, 16}));
  Tensor z = counting({5}, 1.0f);
  inplace("add", {z.view({4}, {1}, 1), z.view({4}, {1})});
  EXPECT_EQ(elements(z), (Floats{1, 3, 5, 7, 9}));
  Tensor back = counting({4}, 1.0f);
  inplace("add", {back, back.view({4}, {-1}, 3)});
  EXPECT_EQ(elements(back), (Floats{5, 5, 5, 5}));
  Tensor first = counting({3}, 1.0f);
  inplace("multiply", {first, first.view({}, {}, 1)});  // by its own second element
  EXPECT_EQ(elements(first), (Floats{2, 4, 6}));
}

TEST(Inplace, WithoutElements) {
  Tensor x = counting({0, 3});
  inplace("add", {x, counting({3})});
  EXPECT_EQ(x.shape(), Shape({0, 3}));
  EXPECT_EQ(x.version(), 1u);
}

TEST(Inplace, LeavesThatNeedAGradientAreNotWritten) {
  Tensor x = counting({2});
  x.set_stop_gradient(false);
  EXPECT_EQ(
      error_of(ErrorKind::invalid_argument,
               [&] {
                 inplace("add", {x, number(1)});
               }),
      "[add] cannot write in place into a leaf tensor that needs a gradient "
      "(stop_gradient=False): float32[2]. Do this: use the form that returns a new tensor, or "
      "wrap the call in no_grad().");
  EXPECT_EQ(elements(x), (Floats{0, 1}));
  {
    GradMode off(false);
    inplace("add", {x, number(1)});
  }
  EXPECT_EQ(elements(x), (Floats{1, 2}));
  Tensor y = ops::add(x, x);  // not a leaf
  inplace("add", {y, number(1)});
  EXPECT_EQ(elements(y), (Floats{3, 5}));
}

// --- x becomes a handle on other data ---

TEST(Inplace, AnotherDtypeTakesOtherMemory) {
  Tensor x = floats({2}, {1.5f, -2.5f}), other = x.view({2}, {1});
  AttrBox attrs = default_attrs(get("cast"));
  set_attr(attrs, "dtype", DType::int32);
  const Tensor in[] = {x};
  dispatch_inplace(get("cast"), Inputs(in), attrs.get());
  EXPECT_EQ(elements<int32_t>(x), (std::vector<int32_t>{1, -2}));
  EXPECT_EQ(elements(other), (Floats{1.5f, -2.5f}));  // which the view still has
}

TEST(Inplace, AnotherShapeIsAViewAndNoWrite) {
  Tensor x = counting({2, 3}), same = x.view({6}, {1});
  AttrBox attrs = default_attrs(get("reshape"));
  set_attr(attrs, "shape", IntArray{3, -1});
  const Tensor in[] = {x};
  dispatch_inplace(get("reshape"), Inputs(in), attrs.get());
  EXPECT_EQ(x.shape(), Shape({3, 2}));
  EXPECT_TRUE(x.impl()->storage == same.impl()->storage);
  EXPECT_EQ(x.version(), 0u);
}

}  // namespace
}  // namespace argosy::op
