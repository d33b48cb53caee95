#include "argosy/parallel/data_parallel.h"

#include <map>

#include "argosy/comm/recorder.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"
#include "tests/cpp/parallel/ranks.h"

namespace argosy::parallel {
namespace {

using comm::ProcessGroup;
using passes::call;
using passes::Recorded;
using program::Role;

using Options = std::vector<std::pair<std::string, std::string>>;

constexpr int64_t kBatch = 3, kIn = 5, kHidden = 7;

Tensor numbers(const Shape& shape, int salt) {
  Tensor t = Tensor::empty(shape, DType::float64);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data<double>()[i] = static_cast<double>((i * 7 + salt * 13) % 23) / 23 - 0.5;
  return t;
}

// A step of tanh(x @ w + b) @ v, scaled by the norm of all gradients before the update.
struct Step {
  explicit Step(const Tensor& fed) {
    for (const Shape& s : {Shape{kIn, kHidden}, Shape{kHidden}, Shape{kHidden, 2}})
      parameters.push_back(passes::parameter(numbers(s, static_cast<int>(parameters.size()))));
    program::Builder& b = r.program->builder();
    const Tensor x = r.input(fed);
    const Tensor h = call("tanh", {ops::add(ops::matmul(x, parameters[0]), parameters[1])})[0];
    const Tensor y = ops::matmul(h, parameters[2]);
    const Tensor loss = ops::mean(ops::multiply(y, y));
    Tensors g = b.gradients({&loss, 1}, {}, parameters);
    b.role = Role::optimize;
    Tensor norm = ops::sum(ops::multiply(g[0], g[0]));
    for (size_t i = 1; i < 3; ++i) norm = ops::add(norm, ops::sum(ops::multiply(g[i], g[i])));
    for (Tensor& t : g) t = call("divide", {t, call("sqrt", {norm})[0]})[0];
    call("sgd_", {parameters[0], parameters[1], parameters[2], g[0], g[1], g[2]},
         [](op::AttrBox& a) { passes::set_attr(a, "lr", op::Scalar(0.5)); }, {3, 6, 6});
    b.role = Role::forward;
    r.output(loss);
  }
  Recorded r;
  std::vector<Tensor> parameters;
};

size_t count(const Program& p, std::string_view name) {
  size_t n = 0;
  program::each_operation(p.main, [&](program::Operation& o) { n += o.op->name == name; });
  return n;
}

// All samples, and what a rank has of them.
Tensor samples(int ranks) {
  return numbers({ranks * kBatch, kIn}, 5);
}
Tensor part(int ranks, int rank) {
  const Tensor all = samples(ranks);
  return all.view({kBatch, kIn}, all.strides(), rank * kBatch * kIn);
}

void check_equals_one_rank(int size, const Options& options, double tolerance,
                           comm::Over over = comm::Over::board) {
  std::vector<std::vector<double>> want;
  {
    Step whole(samples(size));
    whole.r.end();
    for (int i = 0; i < 20; ++i) execute(whole.r.program, whole.r.feeds);
    for (const Tensor& t : whole.parameters) want.push_back(test::elements<double>(t));
  }
  on_ranks(
      size,
      [&](ProcessGroup& g) {
        Step step(part(size, g.rank()));
        EXPECT_TRUE(step.r.rewrite({"data_parallel"}, options));
        EXPECT_FALSE(step.r.rewrite({"data_parallel"}, options));  // they are averages already
        for (int i = 0; i < 20; ++i) execute(step.r.program, step.r.feeds);
        for (size_t k = 0; k < want.size(); ++k) {
          const auto got = test::elements<double>(step.parameters[k]);
          for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[k][i], tolerance);
        }
      },
      over);
}

}  // namespace

TEST(DataParallel, RanksTrainAsOne) {
  for (int size : {1, 2, 3, 8, 64}) check_equals_one_rank(size, {}, 1e-12);
  for (comm::Over over : {comm::Over::mesh, comm::Over::ring})
    for (int size : {2, 3, 8}) check_equals_one_rank(size, {}, 1e-12, over);
  // A bucket for each gradient.
  check_equals_one_rank(3, {{"data_parallel.bucket", "1"}, {"data_parallel.first_bucket", "1"}},
                        1e-12);
}

TEST(DataParallel, ANarrowWireHasHalfTheBytes) {
  check_equals_one_rank(2, {{"data_parallel.wire", "float32"}}, 1e-5);
  on_ranks(2, [](ProcessGroup& g) {
    Step step(part(2, g.rank()));
    step.r.rewrite({"data_parallel"}, {{"data_parallel.wire", "float32"}});
    execute(step.r.program, step.r.feeds);
  });
  const comm::Header last = comm::records().back().header;
  EXPECT_EQ(last.dtype, DType::float32);  // of gradients in float64
  EXPECT_EQ(last.count, uint64_t(kIn * kHidden + kHidden + kHidden * 2));
}

// Exchanges begin before the rest of the gradient is computed, and end before what is clipped.
TEST(DataParallel, PlacesOfStartsAndWaits) {
  Step step(samples(1));
  step.r.rewrite({"data_parallel"},
                 {{"data_parallel.bucket", "1"}, {"data_parallel.first_bucket", "1"}});
  const auto ops = step.r.ops();
  EXPECT_EQ(count(*step.r.program, "all_reduce_start"), 3u);
  EXPECT_EQ(count(*step.r.program, "all_reduce_wait"), 3u);
  const auto first = std::find(ops.begin(), ops.end(), "all_reduce_start");
  // v's gradient is under way while those of w and b are made.
  EXPECT_NE(std::find(first, ops.end(), "matmul"), ops.end());
  const auto last_start = std::find(ops.rbegin(), ops.rend(), "all_reduce_start").base();
  const auto wait = std::find(ops.begin(), ops.end(), "all_reduce_wait");
  EXPECT_LT(last_start - ops.begin(), wait - ops.begin() + 1);
  const auto square = std::find(wait, ops.end(), "sum");
  EXPECT_NE(square, ops.end());
}

const Options kInParts = {{"data_parallel.bucket", "1"},
                          {"data_parallel.first_bucket", "1"},
                          {"data_parallel.parts", "3"},
                          {"data_parallel.part", "16"}};

TEST(DataParallel, RanksThatSendGradientsInPartsTrainAsOne) {
  for (int size : {1, 2, 3, 8}) check_equals_one_rank(size, kInParts, 1e-12);
  check_equals_one_rank(3, kInParts, 1e-12, comm::Over::mesh);
  Options narrow = kInParts;
  narrow.emplace_back("data_parallel.wire", "float32");
  check_equals_one_rank(2, narrow, 1e-5);
}

// The first rows of gradients of v, the first, and w, the last, are under way while further ones
// are made, and no whole is.
TEST(DataParallel, PlacesOfParts) {
  Step step(samples(1));
  const size_t products = count(*step.r.program, "matmul");
  step.r.rewrite({"data_parallel", "dead_code"}, kInParts);
  EXPECT_EQ(count(*step.r.program, "all_reduce_start"), 7u);
  EXPECT_EQ(count(*step.r.program, "all_reduce_wait"), 7u);
  EXPECT_EQ(count(*step.r.program, "matmul"), products + 4);
  std::string order;
  for (const std::string& name : step.r.ops())
    order += name == "matmul" ? "m" : name == "all_reduce_start" ? "s" : "";
  EXPECT_TRUE(order.ends_with("msmsms")) << order;
  EXPECT_LT(order.find("msmsms"), order.size() - 6) << order;
  std::map<int64_t, std::vector<int64_t>> rows;  // by columns
  program::each_operation(step.r.program->main, [&](program::Operation& o) {
    if (o.op->name == "all_reduce_start" && o.operands[0]->producer->op->name == "matmul")
      rows[o.operands[0]->shape[1]].push_back(o.operands[0]->shape[0]);
  });
  EXPECT_EQ(rows[kHidden], (std::vector<int64_t>{1, 2, 2}));
  EXPECT_EQ(rows[2], (std::vector<int64_t>{2, 2, 3}));
}

// Those of biases, which come between large ones of matrices.
TEST(DataParallel, SmallGradientsTravelTogether) {
  Recorded r;
  program::Builder& b = r.program->builder();
  std::vector<Tensor> p;
  for (const Shape& s :
       {Shape{kIn, kHidden}, Shape{kHidden}, Shape{kHidden, kHidden}, Shape{kHidden}})
    p.push_back(passes::parameter(numbers(s, static_cast<int>(p.size()))));
  Tensor x = r.input(samples(1));
  for (size_t i = 0; i < 4; i += 2) x = ops::add(ops::matmul(x, p[i]), p[i + 1]);
  const Tensor loss = ops::sum(x);
  std::vector<Tensor> all = p;
  for (const Tensor& g : b.gradients({&loss, 1}, {}, p)) all.push_back(g);
  b.role = Role::optimize;
  call("sgd_", all, [](op::AttrBox& a) { passes::set_attr(a, "lr", op::Scalar(1.0)); }, {4, 8, 8});
  r.rewrite({"data_parallel"},
            {{"data_parallel.bucket", "200"}, {"data_parallel.first_bucket", "200"}});
  std::vector<size_t> gradients;  // of each exchange
  program::each_operation(r.program->main, [&](program::Operation& o) {
    if (o.op->name == "all_reduce_start") gradients.push_back(o.operands.size());
  });
  EXPECT_EQ(gradients, (std::vector<size_t>{1, 2, 1}));
}

// One bucket for all: nothing travels alone. One whose maker has no rows: it goes as a whole.
TEST(DataParallel, WhatIsNotSentInParts) {
  Step together(samples(1));
  together.r.rewrite({"data_parallel"},
                     {{"data_parallel.parts", "3"}, {"data_parallel.part", "16"}});
  EXPECT_EQ(count(*together.r.program, "all_reduce_start"), 1u);

  Recorded r;
  program::Builder& b = r.program->builder();
  const Tensor w = passes::parameter(numbers({kIn, kHidden}, 1));
  const Tensor loss = ops::sum(ops::multiply(w, r.input(numbers({kIn, kHidden}, 2))));
  const Tensors grads = b.gradients({&loss, 1}, {}, {&w, 1});
  b.role = Role::optimize;
  call("sgd_", {w, grads[0]}, [](op::AttrBox& a) { passes::set_attr(a, "lr", op::Scalar(1.0)); },
       {1, 2, 2});
  r.rewrite({"data_parallel"}, kInParts);
  EXPECT_EQ(count(*r.program, "all_reduce_start"), 1u);
}

// What the gradient itself reads is not the average.
TEST(DataParallel, SharedValuesKeepTheirMeaning) {
  for (int size : {1, 2, 3}) {
    double want_w = 0, want_v = 0;
    for (int pass = 0; pass < 2; ++pass) {
      const int ranks = pass ? size : 1;
      on_ranks(ranks, [&](ProcessGroup& g) {
        Recorded r;
        program::Builder& b = r.program->builder();
        const Tensor w = passes::parameter(numbers({2}, 1)), v = passes::parameter(numbers({2}, 2));
        const Tensor x = r.input(pass ? part(size, g.rank()) : samples(size));
        // The gradient of v is also what is multiplied for that of w.
        const Tensor row = ops::mean(x);
        const Tensor loss = ops::sum(ops::multiply(ops::add(ops::multiply(w, row), v), row));
        const Tensor wrt[] = {w, v};
        const Tensors grads = b.gradients({&loss, 1}, {}, wrt);
        b.role = Role::optimize;
        call("sgd_", {w, v, grads[0], grads[1]},
             [](op::AttrBox& a) { passes::set_attr(a, "lr", op::Scalar(1.0)); }, {2, 4, 4});
        if (pass) r.rewrite({"data_parallel"});
        r.end();
        execute(r.program, r.feeds);
        const double got_w = w.data<double>()[0], got_v = v.data<double>()[0];
        if (!pass) {
          // Of each rank's own mean, since the gradient is not linear in it.
          want_v = got_v;
          double sum = 0;
          for (int k = 0; k < size; ++k) {
            const Tensor mine = part(size, k);
            double mean = 0;
            for (int64_t i = 0; i < mine.numel(); ++i) mean += mine.data<double>()[i];
            mean /= static_cast<double>(mine.numel());
            sum += mean * mean;
          }
          want_w = numbers({2}, 1).data<double>()[0] - sum / size;
        } else {
          EXPECT_NEAR(got_v, want_v, 1e-12);
          EXPECT_NEAR(got_w, want_w, 1e-12);
        }
      });
    }
  }
}

TEST(DataParallel, WrongOptions) {
  Step step(samples(1));
  const auto error = [&](const Options& options) {
    return test::error_of(ErrorKind::invalid_argument,
                          [&] { step.r.rewrite({"data_parallel"}, options); });
  };
  EXPECT_NE(error({{"data_parallel.wire", "int8"}})
                .find("[data_parallel] data_parallel.wire: expected a floating dtype such as "
                      "bfloat16, got 'int8'."),
            std::string::npos);
  EXPECT_NE(error({{"data_parallel.parts", "0"}})
                .find("[data_parallel] data_parallel.parts and data_parallel.part: expected "
                      "numbers from 1 on, got 0 and 524288."),
            std::string::npos);
  EXPECT_NE(
      error({{"data_parallel.gradients", "1;2"}}).find("expected numbers of values by commas"),
      std::string::npos);
  EXPECT_NE(error({{"data_parallel.gradients", "0"}})
                .find("expected gradients that updates read, got value 0, which is none"),
            std::string::npos);
}

}  // namespace argosy::parallel
