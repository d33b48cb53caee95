#include "argosy/op/dispatch.h"

#include <gtest/gtest.h>

#include <cstring>

#include "argosy/op/define.h"
#include "argosy/op/watched.h"
#include "argosy/ops/math/math.h"
#include "tests/cpp/tensors.h"

namespace argosy::op {
namespace {

using test::counting;
using test::elements;
using test::error_of;
using test::floats;
using test::number;
using test::permuted;
using test::tensor;
using Floats = std::vector<float>;

constexpr Place kNull{DeviceKind::null, 0};

// What the kernel that ran last was given.
struct Seen {
  int calls = 0;
  std::vector<Tensor> in;
  std::vector<size_t> sizes;  // of each input of the schema
};
Seen seen;

void look(KernelFrame& f, const NoAttrs&) {
  ++seen.calls;
  seen.in.assign(f.in.flat().begin(), f.in.flat().end());
  seen.sizes.clear();
  for (size_t i = 0; i < f.op.inputs.size(); ++i) seen.sizes.push_back(f.in.list(i).size());
}
const char* only_vectors(const Inputs& in, const NoAttrs&) {
  return in[0].rank() == 1 ? nullptr : "x is no vector";
}
const char* never(const Inputs&, const NoAttrs&) {
  return "it never runs";
}

ARGOSY_OP(probe_one, NoAttrs)
    .input("x", kFloating)
    .output("out")
    .kernel("vector", only_vectors, look)
    .strided()
    .kernel("never", never, look)
    .kernel("any", look)
    .done();
ARGOSY_OP(probe_pair, NoAttrs).input("x").input("y").output("out").kernel("any", look).done();
ARGOSY_OP(probe_promoted, NoAttrs)
    .input("x", kNumeric | kBool)
    .input("y", kNumeric | kBool)
    .output("out")
    .promote()
    .elementwise()
    .kernel("any", look)
    .done();
ARGOSY_OP(probe_lists, NoAttrs)
    .list_input("xs", kFloating)
    .input("y")
    .optional_input("weight", kFloating)
    .list_input("zs")
    .output("out")
    .kernel("any", look)
    .done();
ARGOSY_OP(probe_no_kernel, NoAttrs).input("x").output("out").kernel("never", never, look).done();
ARGOSY_OP(probe_source, NoAttrs)
    .output("out")
    .infer([](InferContext& c, const NoAttrs&) {
      c.out[0] = {{3}, DType::int16};
    })
    .kernel("any", look)
    .done();
ARGOSY_OP(probe_positive, NoAttrs)
    .input("x", only(DType::float32))
    .output("out")
    .index_output("count")
    .infer([](InferContext& c, const NoAttrs&) {
      c.out[0].shape = {kUnknown};
      c.out[1] = {{}, DType::int64};
    })
    .kernel("any",
            [](KernelFrame& f, const NoAttrs&) {
              Floats kept;
              for (float v : elements(f.in[0]))
                if (v > 0) kept.push_back(v);
              Tensor& out = f.allocate(0, {static_cast<int64_t>(kept.size())});
              std::copy(kept.begin(), kept.end(), out.data<float>());
              *f.out[1].data<int64_t>() = out.numel();
            })
    .done();
ARGOSY_OP(probe_hidden, NoAttrs)
    .input("x", kFloating)
    .output("out")
    .hidden_output("kept")
    .kernel("any", look)
    .done();
ARGOSY_OP(probe_writes, NoAttrs)
    .list_input("xs", kFloating)
    .input("y", kFloating)
    .list_output("out")
    .writes({0})
    .kernel("any",
            [](KernelFrame& f, const NoAttrs&) {
              for (Tensor& t : f.out) *t.data<float>() += *f.in[1].data<float>();
            })
    .done();
ARGOSY_OP(probe_composed, NoAttrs)
    .input("x", kFloating)
    .output("out")
    .kernel("vector", only_vectors, look)
    .compose([](const Inputs& in, const NoAttrs&) -> Tensors { return ops::add(in[0], in[0]); })
    .done();
ARGOSY_OP(probe_fails, NoAttrs)
    .input("x")
    .output("out")
    .kernel("any", [](KernelFrame& f,
                      const NoAttrs&) { ARGOSY_THROW(runtime) << '[' << f.name() << "] cannot."; })
    .done();

class Dispatch : public testing::Test {
 protected:
  void SetUp() override { seen = {}; }
};

Tensors call(const OpDef& op, std::vector<Tensor> flat, std::vector<uint32_t> ends = {}) {
  const Inputs in(flat, ends.empty() ? nullptr : ends.data());
  return dispatch(op, in, op.attrs->defaults);
}

// --- inputs ---

TEST_F(Dispatch, ListAndOptionalInputsByPlaceInTheSchema) {
  const Tensor a = number(1), b = number(2), y = tensor<int64_t>({}, {3}), c = number(4);
  call(probe_lists_op.def(), {a, b, y, Tensor(), c}, {2, 3, 4, 5});
  EXPECT_EQ(seen.sizes, (std::vector<size_t>{2, 1, 1, 1}));
  EXPECT_TRUE(seen.in[0].is(a) && seen.in[1].is(b) && seen.in[2].is(y) && seen.in[4].is(c));
  EXPECT_FALSE(seen.in[3].defined());
  call(probe_lists_op.def(), {y, c}, {0, 1, 2, 2});  // empty lists
  EXPECT_EQ(seen.sizes, (std::vector<size_t>{0, 1, 1, 0}));
  EXPECT_TRUE(seen.in[1].is(c));
}

TEST_F(Dispatch, InputsTellWhereEachBegins) {
  const std::vector<Tensor> flat{number(1), number(2), number(3), number(4)};
  const uint32_t ends[] = {2, 2, 3, 4};
  const Inputs in(flat, ends);
  EXPECT_EQ(in.place_of(0), 0u);
  EXPECT_EQ(in.place_of(2), 2u);
  EXPECT_EQ(in.place_of(3), 3u);
  EXPECT_TRUE(in[2].is(flat[2]) && in[3].is(flat[3]));
  EXPECT_EQ(in.list(0).size(), 2u);
  EXPECT_TRUE(in.list(1).empty());
  const Inputs plain(flat);
  EXPECT_TRUE(plain.list(1)[0].is(flat[1]));
  EXPECT_EQ(plain.list(1).size(), 1u);
}

TEST_F(Dispatch, WhatIsMissingIsAnError) {
  EXPECT_EQ(error_of(ErrorKind::operand,
                     [] {
                       call(probe_pair_op.def(), {number(1), Tensor()});
                     }),
            "[probe_pair] y is missing: expected a Tensor, got None. Do this: pass a Tensor.");
  EXPECT_EQ(error_of(ErrorKind::operand,
                     [] {
                       call(probe_lists_op.def(), {Tensor(), number(1), Tensor()}, {1, 2, 3, 3});
                     }),
            "[probe_lists] xs is missing: expected a Tensor, got None. Do this: pass a Tensor.");
  EXPECT_EQ(error_of(ErrorKind::internal, [] { call(probe_pair_op.def(), {number(1)}); }),
            "[probe_pair] takes 2 inputs, got 1");
  EXPECT_EQ(seen.calls, 0);
}

TEST_F(Dispatch, DtypesThatAreNotTakenAreErrors) {
  EXPECT_EQ(error_of(ErrorKind::type,
                     [] {
                       probe_one_op(tensor<int32_t>({2}, {1, 2}));
                     }),
            "[probe_one] x has an unsupported dtype: expected float16, bfloat16, float32, float64, "
            "got int32[2]. Do this: cast it with .astype(..).");
  const Tensor bad = tensor<int8_t>({1}, {1});
  EXPECT_EQ(error_of(ErrorKind::type,
                     [&] {
                       call(probe_lists_op.def(), {number(1), bad, bad}, {2, 3, 3, 3});
                     })
                .substr(0, 43),
            "[probe_lists] xs has an unsupported dtype: ");
  EXPECT_EQ(seen.calls, 0);
}

TEST_F(Dispatch, SparseTensorsAreTakenWhereTheSchemaSaysSo) {
  const Tensor sparse = Tensor::row_sparse(tensor<int64_t>({1}, {1}), counting({1, 2}), 3);
  EXPECT_EQ(error_of(ErrorKind::invalid_argument, [&] { probe_one_op(sparse); }),
            "[probe_one] x is a sparse tensor, which this op does not take. Do this: call "
            ".to_dense() first.");
}

TEST_F(Dispatch, DevicesDoNotMix) {
  const Tensor there = Tensor::empty({}, DType::float32, kNull);
  EXPECT_EQ(
      error_of(ErrorKind::invalid_argument, [&] { probe_pair_op(number(1), there); }),
      "[probe_pair] inputs are on different devices: y on null:0, others on cpu. Do this: move "
      "one of them with .to(..).");
}

// --- dtypes ---

// The dtype that operands of these forms are cast to; a size of 0 means a 0-d tensor.
struct Mix {
  DType a;
  bool a_number;
  DType b;
  bool b_number;
  std::optional<DType> common;
};

TEST_F(Dispatch, OperandsAreCastToTheirCommonDtype) {
  using enum DType;
  const Mix mixes[] = {
      {float32, false, float32, false, float32},
      {float16, false, float32, false, float32},
      {float16, false, bfloat16, false, float32},
      {float32, false, float64, false, float64},
      {complex64, false, float64, false, complex128},
      {int32, false, complex64, false, complex64},
      // A 0-d tensor counts as a number: within its kind it does not widen.
      {float32, false, float64, true, float32},
      {float64, true, float16, false, float16},
      {int32, false, int64, true, int32},
      {int64, false, float32, true, float32},
      {bool_, false, int64, true, int64},
      {float32, true, float64, true, float64},
      {uint8, true, int8, true, int16},
      // Tensors of whole and of floating numbers do not mix.
      {int32, false, float32, false, std::nullopt},
      {int32, false, int64, false, std::nullopt},
      {bool_, false, float32, false, std::nullopt},
  };
  for (const Mix& m : mixes) {
    SCOPED_TRACE(std::string(name_of(m.a)) + (m.a_number ? "[] " : "[2] ") + name_of(m.b) +
                 (m.b_number ? "[]" : "[2]"));
    const Tensor a = Tensor::empty(m.a_number ? Shape() : Shape({2}), m.a);
    const Tensor b = Tensor::empty(m.b_number ? Shape() : Shape({2}), m.b);
    std::memset(a.raw(), 0, a.nbytes());
    std::memset(b.raw(), 0, b.nbytes());
    if (!m.common) {
      const std::string text = error_of(ErrorKind::attribute, [&] { probe_promoted_op(a, b); });
      EXPECT_EQ(text, "[probe_promoted] operands of these dtypes do not mix: " + test::text_of(a) +
                          " and " + test::text_of(b) +
                          ". Do this: convert one of them with .astype(..).");
      continue;
    }
    const Tensor out = probe_promoted_op(a, b);
    EXPECT_EQ(out.dtype(), *m.common);
    EXPECT_EQ(seen.in[0].dtype(), *m.common);
    EXPECT_EQ(seen.in[1].dtype(), *m.common);
    EXPECT_EQ(seen.in[0].is(a), m.a == *m.common);  // not copied without need
  }
}

TEST_F(Dispatch, CastOperandsKeepTheirValues) {
  probe_promoted_op(tensor<int32_t>({2}, {3, -4}), number(0.5f));
  EXPECT_EQ(elements(seen.in[0]), (Floats{3, -4}));
  EXPECT_EQ(elements(seen.in[1]), (Floats{0.5f}));
}

TEST_F(Dispatch, OthersAreGivenAsTheyAre) {
  const Tensor a = tensor<int32_t>({2}, {1, 2}), b = floats({2}, {1, 2});
  const Tensor out = probe_pair_op(a, b);
  EXPECT_TRUE(seen.in[0].is(a) && seen.in[1].is(b));
  EXPECT_EQ(out.dtype(), DType::int32);  // without infer: like the first input
}

TEST_F(Dispatch, TheDefaultDtype) {
  EXPECT_EQ(default_dtype(), DType::float32);
  set_default_dtype(DType::float64);
  EXPECT_EQ(default_dtype(), DType::float64);
  set_default_dtype(DType::float32);
}

// --- kernels ---

TEST_F(Dispatch, TheFirstKernelThatDoesNotDeclineRuns) {
  std::string text;
  thread_state.explain = &text;
  probe_one_op(counting({2}));
  EXPECT_EQ(text, "probe_one: ran vector\n");
  text.clear();
  probe_one_op(counting({2, 2}));
  EXPECT_EQ(text,
            "probe_one: vector declined: x is no vector\n"
            "probe_one: never declined: it never runs\n"
            "probe_one: ran any\n");
  thread_state.explain = nullptr;
  EXPECT_EQ(seen.calls, 2);
}

TEST_F(Dispatch, KernelsGetContiguousInputsUnlessTheyTakeAny) {
  const Tensor matrix = permuted(counting({2, 3}), {1, 0});
  probe_one_op(matrix);
  EXPECT_FALSE(seen.in[0].is(matrix));
  EXPECT_TRUE(seen.in[0].is_contiguous());
  EXPECT_EQ(elements(seen.in[0]), (Floats{0, 3, 1, 4, 2, 5}));
  const Tensor vector = counting({6}).view({3}, {2});
  probe_one_op(vector);
  EXPECT_TRUE(seen.in[0].is(vector));
}

TEST_F(Dispatch, WithoutAKernelThereIsAnError) {
  EXPECT_EQ(error_of(ErrorKind::not_implemented,
                     [] {
                       probe_no_kernel_op(counting({2, 1}));
                     }),
            "[probe_no_kernel] has no kernel for float32[2, 1] on cpu. Do this: use "
            "argosy.explain(..) to see why each kernel declined.");
}

TEST_F(Dispatch, ErrorsOfKernelsComeThrough) {
  EXPECT_EQ(error_of(ErrorKind::runtime, [] { probe_fails_op(number(1)); }),
            "[probe_fails] cannot.");
  probe_one_op(number(1));
  EXPECT_EQ(seen.calls, 1);  // the next call runs as ever
}

TEST_F(Dispatch, CompositionsRunWhereThereIsNoKernel) {
  EXPECT_EQ(elements(probe_composed_op(counting({2, 2}))), (Floats{0, 2, 4, 6}));
  EXPECT_EQ(seen.calls, 0);
  probe_composed_op(counting({2}));
  EXPECT_EQ(seen.calls, 1);
}

TEST_F(Dispatch, CompositionsRunWhereOnlyTheirPartsHaveGradients) {
  Tensor x = counting({2});
  x.set_stop_gradient(false);
  std::string text;
  thread_state.explain = &text;
  EXPECT_TRUE(probe_composed_op(x).requires_grad());
  thread_state.explain = nullptr;
  EXPECT_EQ(seen.calls, 0);
  EXPECT_EQ(text.substr(0, 42), "probe_composed: opened its composition\nadd");
  GradMode off(false);
  EXPECT_FALSE(probe_composed_op(x).requires_grad());
  EXPECT_EQ(seen.calls, 1);
}

// --- outputs ---

TEST_F(Dispatch, SizesThatDependOnDataAreAllocatedByTheKernel) {
  const Tensors out = call(probe_positive_op.def(), {floats({4}, {1, -2, 0, 3})});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(elements(out[0]), (Floats{1, 3}));
  EXPECT_EQ(elements<int64_t>(out[1]), (std::vector<int64_t>{2}));
  EXPECT_EQ(call(probe_positive_op.def(), {counting({0})})[0].shape(), Shape({0}));
}

TEST_F(Dispatch, HiddenOutputsAreAmongAllOutputs) {
  EXPECT_EQ(probe_hidden_op.all({number(1)}).size(), 2u);
}

TEST_F(Dispatch, ElementwiseOutputsHaveTheBroadcastShape) {
  EXPECT_EQ(probe_promoted_op(counting({3, 1}), counting({2})).shape(), Shape({3, 2}));
  EXPECT_EQ(probe_promoted_op(counting({}), counting({0, 2})).shape(), Shape({0, 2}));
  EXPECT_NE(
      error_of(ErrorKind::invalid_argument, [] { probe_promoted_op(counting({3}), counting({2})); })
          .find("[probe_promoted] cannot broadcast shapes [3] and [2]"),
      std::string::npos);
}

TEST_F(Dispatch, InferTellsOutputsWithoutRunning) {
  const std::vector<Tensor> in{Tensor::describe({kUnknown, 1}, DType::float32),
                               Tensor::describe({4}, DType::float32)};
  InferContext c{probe_promoted_op.def(), Inputs(in), {}};
  infer(c, probe_promoted_op.def().attrs->defaults);
  ASSERT_EQ(c.out.size(), 1u);
  EXPECT_EQ(c.out[0].shape, Shape({kUnknown, 4}));
  EXPECT_EQ(c.out[0].dtype, DType::float32);
  EXPECT_EQ(seen.calls, 0);
}

TEST_F(Dispatch, WrittenInputsAreTheOutputs) {
  const Tensor a = number(1), b = number(2);
  const Tensors out = call(probe_writes_op.def(), {a, b, number(10)}, {2, 3});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_TRUE(out[0].is(a) && out[1].is(b));
  EXPECT_EQ(*a.data<float>(), 11);
  EXPECT_EQ(*b.data<float>(), 12);
  EXPECT_EQ(a.version(), 1u);
  EXPECT_STREQ(b.impl()->storage->writer(), "probe_writes");
}

TEST_F(Dispatch, ResultsAreNewMemoryOfVersion0) {
  const Tensor x = counting({2}), y = ops::add(x, x);
  EXPECT_FALSE(y.impl()->storage == x.impl()->storage);
  EXPECT_EQ(x.version(), 0u);
  EXPECT_EQ(y.version(), 0u);
}

// --- devices ---

TEST_F(Dispatch, TheNullDeviceInfersButComputesNothing) {
  const Tensor x = Tensor::empty({int64_t{1} << 40, 1}, DType::float32, kNull);
  const Tensor y = Tensor::empty({4}, DType::float32, kNull);
  const Tensor out = probe_promoted_op(x, y);
  EXPECT_EQ(out.shape(), Shape({int64_t{1} << 40, 4}));
  EXPECT_EQ(out.place(), kNull);
  EXPECT_EQ(seen.calls, 0);
}

TEST_F(Dispatch, WithoutInputsThePlaceIsThatOfTheThread) {
  EXPECT_EQ(probe_source_op.all({})[0].place(), Place{});
  EXPECT_EQ(seen.calls, 1);
  thread_state.place = kNull;
  const Tensor there = probe_source_op.all({})[0];
  thread_state.place = {};
  EXPECT_EQ(there.place(), kNull);
  EXPECT_EQ(there.shape(), Shape({3}));
  EXPECT_EQ(there.dtype(), DType::int16);
  EXPECT_EQ(seen.calls, 1);
}

// --- what a thread switches ---

TEST_F(Dispatch, GradModeIsAScope) {
  Tensor x = number(1);
  x.set_stop_gradient(false);
  {
    GradMode off(false);
    EXPECT_FALSE(ops::add(x, x).requires_grad());
    {
      GradMode on(true);
      EXPECT_TRUE(ops::add(x, x).requires_grad());
    }
    EXPECT_FALSE(ops::add(x, x).requires_grad());
  }
  EXPECT_TRUE(ops::add(x, x).requires_grad());
  EXPECT_FALSE(ops::add(number(1), number(1)).requires_grad());
}

// --- counts ---

TEST_F(Dispatch, DtypesAreCountedByOpAndOnlyOfTheUsersCalls) {
  start_dtype_counts();
  ops::add(counting({2}), counting({2}));
  ops::add(number(1), tensor<int32_t>({2}, {1, 2}));  // the cast inside is part of the call
  ops::add(tensor<int64_t>({1}, {1}), tensor<int64_t>({1}, {1}));
  ops::cast(number(1), DType::float16);
  ops::negative(Tensor::empty({1}, DType::bfloat16));
  probe_composed_op(number(1));  // and so is the addition
  {
    Unchecked nobody;
    ops::negative(number(1));
  }
  const std::vector<DTypeCount> counts = stop_dtype_counts();
  ops::negative(number(1));
  ASSERT_EQ(counts.size(), 4u);
  EXPECT_EQ(counts[0].op, "add");
  EXPECT_EQ(counts[0].float32, 2);
  EXPECT_EQ(counts[0].others, 1);
  EXPECT_EQ(counts[1].op, "cast");
  EXPECT_EQ(counts[1].float32, 1);
  EXPECT_EQ(counts[2].op, "negative");
  EXPECT_EQ(counts[2].bfloat16, 1);
  EXPECT_EQ(counts[2].float32 + counts[2].float16 + counts[2].others, 0);
  EXPECT_EQ(counts[3].op, "probe_composed");
  EXPECT_EQ(counts[3].float32, 1);
  start_dtype_counts();
  EXPECT_TRUE(stop_dtype_counts().empty());
}

}  // namespace
}  // namespace argosy::op
