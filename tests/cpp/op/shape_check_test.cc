#include "argosy/op/shape_check.h"

#include <gtest/gtest.h>

#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"

namespace argosy::op {
namespace {

void like_second(InferContext& c, const NoAttrs&) {
  c.out[0].shape = c.in[1].shape();
}
void of_shape(KernelFrame& f, const NoAttrs&) {
  for (int64_t i = 0; i < f.out[0].numel(); ++i)
    f.out[0].data<float>()[i] = static_cast<float>(f.in[1].rank());
}
void of_data(KernelFrame& f, const NoAttrs&) {
  for (int64_t i = 0; i < f.out[0].numel(); ++i)
    f.out[0].data<float>()[i] = f.in[1].has_data() ? f.in[1].data<float>()[0] : 0;
}
Tensors parts_of_data(const Inputs& in, const NoAttrs&) {
  Tensors out{Tensor::empty(in[1].shape(), DType::float32)};
  KernelFrame f{get("test_honest"), in, out};
  of_data(f, {});
  return out;
}

#define ARGOSY_TEST_OP(name) \
  ARGOSY_OP(name, NoAttrs).input("x").input("like").shape_only().output("out").infer(like_second)

ARGOSY_TEST_OP(test_honest).kernel("shape", of_shape).done();
ARGOSY_TEST_OP(test_liar).kernel("data", of_data).done();
ARGOSY_TEST_OP(test_lying_parts).kernel("shape", of_shape).compose(parts_of_data).done();

Tensor ones() {
  return ops::full(op::IntArray{3}, 1.0, DType::float32);
}

TEST(ShapeCheck, SaysWhatWasCalled) {
  start_shape_check();
  test_honest_op(ones(), ones());
  EXPECT_EQ(stop_shape_check(), std::vector<std::string>{"test_honest.like"});
}

TEST(ShapeCheck, FindsAKernelThatReads) {
  start_shape_check();
  try {
    test_liar_op(ones(), ones());
    ADD_FAILURE() << "expected an error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("[test_liar] is said to read nothing but the shape of "
                                         "like"),
              std::string::npos)
        << e.what();
  }
  EXPECT_TRUE(stop_shape_check().empty());
}

TEST(ShapeCheck, FindsACompositionThatReads) {
  start_shape_check();
  EXPECT_THROW(test_lying_parts_op(ones(), ones()), Error);
  stop_shape_check();
}

TEST(ShapeCheck, FindsWhatIsGivenWithoutDataAndReadAllTheSame) {
  start_shape_check();
  EXPECT_THROW(test_honest_op(Tensor::describe({3}, DType::float32), ones()), Error);
  stop_shape_check();
}

}  // namespace
}  // namespace argosy::op
