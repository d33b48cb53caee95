#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "argosy/op/define.h"
#include "argosy/ops/sparse/sparse.h"

// Row-sparse gradients in optimizer ops: the same result as their dense form where every row is
// visited, and untouched rows where that is the promise.
namespace argosy {
namespace {

constexpr int64_t kHeight = 5, kWidth = 3;

Tensor filled(const Shape& shape, double first, double step, DType dtype = DType::float64) {
  Tensor t = Tensor::empty(shape, dtype);
  for (int64_t i = 0; i < t.numel(); ++i) {
    const double v = first + step * static_cast<double>(i);
    if (dtype == DType::float64)
      t.data<double>()[i] = v;
    else
      t.data<int64_t>()[i] = static_cast<int64_t>(v);
  }
  return t;
}

// Rows 3, 1 and 3 again, which add up.
Tensor gradient() {
  Tensor rows = Tensor::empty({3}, DType::int64);
  rows.data<int64_t>()[0] = 3;
  rows.data<int64_t>()[1] = 1;
  rows.data<int64_t>()[2] = 3;
  return Tensor::row_sparse(rows, filled({3, kWidth}, 0.5, 0.25), kHeight);
}

std::vector<double> values(const Tensor& t) {
  return {t.data<double>(), t.data<double>() + t.numel()};
}

// One list of one tensor for each input but masters; attributes by their defaults but for lr.
struct Call {
  std::vector<Tensor> inputs;
  std::vector<uint32_t> ends;

  Call& add(Tensor t) {
    inputs.push_back(std::move(t));
    ends.push_back(static_cast<uint32_t>(inputs.size()));
    return *this;
  }
  Call& none() {
    ends.push_back(static_cast<uint32_t>(inputs.size()));
    return *this;
  }
};

void set_real(const op::OpDef& op, void* attrs, const char* name, double value) {
  for (const op::Field& f : op.attrs->fields) {
    if (std::string(f.name) != name) continue;
    void* field = static_cast<char*>(attrs) + f.offset;
    if (f.kind == op::FieldKind::scalar)
      *static_cast<op::Scalar*>(field) = value;
    else
      *static_cast<double*>(field) = value;
    return;
  }
  FAIL() << op.name << " has no attribute " << name;
}
void set_bool(const op::OpDef& op, void* attrs, const char* name, bool value) {
  for (const op::Field& f : op.attrs->fields)
    if (std::string(f.name) == name && f.kind == op::FieldKind::boolean)
      *(static_cast<bool*>(attrs) + f.offset) = value;
}
void set_l2(const op::OpDef& op, void* attrs, double value) {
  for (const op::Field& f : op.attrs->fields)
    if (std::string(f.name) == "l2")
      *reinterpret_cast<std::vector<double>*>(static_cast<char*>(attrs) + f.offset) = {value};
}

struct Options {
  bool sparse = true;
  bool lazy = false;
  double l2 = 0;
  bool ahead = false;  // powers of beta begin a step later, as Adam's of row-sparse gradients are
};

// The parameter after two steps of an op whose states all have the parameter's shape, but for
// `scalars` more of one element each.
std::vector<double> two_steps(const char* name, int states, int scalars, const Options& o) {
  const op::OpDef& op = op::get(name);
  op::AttrBox box(*op.attrs, op.attrs->defaults);
  set_real(op, box.get(), "lr", 0.1);
  set_bool(op, box.get(), "lazy", o.lazy);
  if (o.l2 != 0) set_l2(op, box.get(), o.l2);
  Tensor param = filled({kHeight, kWidth}, 1, 0.1);
  Call call;
  Tensor grad = gradient();
  call.add(param).add(o.sparse ? grad : ops::to_dense(grad));
  for (int k = 0; k < states; ++k) call.add(filled({kHeight, kWidth}, 0, 0));
  if (std::string(name) == "adam_") call.none();  // moment2_maxs
  for (int k = 0; k < scalars; ++k) {
    const double beta = k == 0 ? 0.9 : 0.999;
    call.add(filled({1}, o.ahead ? beta * beta : beta, 0));
  }
  call.none();  // masters
  for (int step = 0; step < 2; ++step)
    op::dispatch(op, op::Inputs(call.inputs, call.ends.data()), box.get());
  return values(param);
}

bool row_moved(const std::vector<double>& param, int64_t row) {
  const std::vector<double> start = values(filled({kHeight, kWidth}, 1, 0.1));
  for (int64_t i = row * kWidth; i < (row + 1) * kWidth; ++i)
    if (param[static_cast<size_t>(i)] != start[static_cast<size_t>(i)]) return true;
  return false;
}

struct Form {
  const char* name;
  int states, scalars;
};
class SparseGradient : public testing::TestWithParam<Form> {};

TEST_P(SparseGradient, EqualsDense) {
  const Form f = GetParam();
  for (double l2 : {0.0, 0.3}) {
    const bool ahead = std::string(f.name) == "adam_";
    const auto dense =
        two_steps(f.name, f.states, f.scalars, {.sparse = false, .l2 = l2, .ahead = ahead});
    const auto sparse = two_steps(f.name, f.states, f.scalars, {.l2 = l2});
    for (size_t i = 0; i < dense.size(); ++i) EXPECT_DOUBLE_EQ(dense[i], sparse[i]) << i;
    EXPECT_TRUE(row_moved(sparse, 1));
    EXPECT_TRUE(row_moved(sparse, 3));
    EXPECT_EQ(row_moved(sparse, 0), l2 != 0);
  }
}
INSTANTIATE_TEST_SUITE_P(Ops, SparseGradient,
                         testing::Values(Form{"sgd_", 0, 0}, Form{"momentum_", 1, 0},
                                         Form{"adagrad_", 1, 0}, Form{"adam_", 2, 2},
                                         Form{"adamax_", 2, 1}, Form{"adadelta_", 2, 0},
                                         Form{"rmsprop_", 3, 0}),
                         [](const auto& info) { return std::string(info.param.name) + "op"; });

TEST(OptimOps, LazyAdamLeavesOtherRowsAlone) {
  const auto lazy = two_steps("adam_", 2, 2, {.lazy = true});
  const auto dense = two_steps("adam_", 2, 2, {.sparse = false, .ahead = true});
  for (int64_t row : {0, 2, 4}) EXPECT_FALSE(row_moved(lazy, row));
  // Rows that have a gradient in both steps move as they would in the dense form.
  for (size_t i = kWidth; i < 2 * kWidth; ++i) EXPECT_DOUBLE_EQ(lazy[i], dense[i]);
}

TEST(OptimOps, ClippingSeesMergedRows) {
  const op::OpDef& op = op::get("clip_by_global_norm");
  op::AttrBox box(*op.attrs, op.attrs->defaults);
  set_real(op, box.get(), "clip_norm", 0.5);
  const Tensor grad = gradient();
  const Tensor dense = ops::to_dense(grad);
  double square = 0;
  for (double v : values(dense)) square += v * v;
  const uint32_t ends[] = {1};
  Tensors out = op::dispatch(op, op::Inputs({&grad, 1}, ends), box.get());
  ASSERT_EQ(out[0].layout(), Layout::row_sparse);
  const auto clipped = values(ops::to_dense(out[0])), before = values(dense);
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_NEAR(clipped[i], before[i] * 0.5 / std::sqrt(square), 1e-14);
}

}  // namespace
}  // namespace argosy
