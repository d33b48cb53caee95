#include <algorithm>
#include <numeric>
#include <vector>

#include "argosy/op/define.h"
#include "argosy/ops/norm/parts.h"
#include "argosy/ops/operands.h"

namespace argosy::ops {
namespace {

using op::InferContext;
using op::KernelFrame;

struct EditDistanceAttrs {
  bool normalized = true;
  std::vector<int64_t> ignored_tokens;
};
ARGOSY_ATTRS(EditDistanceAttrs, normalized, ignored_tokens)

void edit_infer(InferContext& c, const EditDistanceAttrs&) {
  expect_rank(c, 0, 2, 2);
  expect_rank(c, 1, 2, 2);
  const int64_t rows = c.in[0].dim(0);
  expect_shape(c, 1, {rows, c.in[1].dim(1)});
  expect_size(c, 2, rows);
  expect_size(c, 3, rows);
  c.out[0] = {{rows, 1}, DType::float32};
  c.out[1] = {{1}, DType::int64};
}

// Row i of a [rows, width] tensor: its first length[i] tokens that are not ignored.
std::vector<int64_t> sequence(const Tensor& tokens, const Tensor& lengths, int64_t i,
                              const std::vector<int64_t>& ignored) {
  const int64_t width = tokens.dim(1);
  const int64_t length = lengths.defined() ? lengths.data<int64_t>()[i] : width;
  ARGOSY_CHECK(0 <= length && length <= width, invalid_argument)
      << "[edit_distance] a length is out of range: expected 0 to " << width << ", got " << length
      << ". Do this: pass the number of tokens of each row.";
  const int64_t* row = tokens.data<int64_t>() + i * width;
  std::vector<int64_t> kept;
  std::copy_if(row, row + length, std::back_inserter(kept), [&](int64_t token) {
    return std::find(ignored.begin(), ignored.end(), token) == ignored.end();
  });
  return kept;
}

// Fewest insertions, deletions and substitutions that turn a into b; one row of the table at a
// time.
int64_t levenshtein(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), int64_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    int64_t corner = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const int64_t changed = corner + (a[i] != b[j]);
      corner = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, corner + 1});
    }
  }
  return row.back();
}

void edit_run(KernelFrame& f, const EditDistanceAttrs& a) {
  auto given = [&](size_t i) {
    return f.in[i].defined() ? as_dtype(f.in[i], DType::int64) : Tensor();
  };
  const Tensor input = given(0), label = given(1), input_length = given(2), label_length = given(3);
  const int64_t rows = input.dim(0);
  for (int64_t i = 0; i < rows; ++i) {
    const auto guess = sequence(input, input_length, i, a.ignored_tokens);
    const auto truth = sequence(label, label_length, i, a.ignored_tokens);
    ARGOSY_CHECK(!a.normalized || !truth.empty(), invalid_argument)
        << "[edit_distance] label " << i << " is empty, so its length divides nothing. Do this: "
        << "pass normalized=False, or leave the row out.";
    const auto distance = static_cast<float>(levenshtein(guess, truth));
    f.out[0].data<float>()[i] =
        a.normalized ? distance / static_cast<float>(truth.size()) : distance;
  }
  *f.out[1].data<int64_t>() = rows;
}

ARGOSY_OP(edit_distance, EditDistanceAttrs)
    .doc(
        "The Levenshtein distance of each row of input from that of label, with normalized divided "
        "by the label's length, and the number of rows; ignored tokens are left out first.")
    .shape("input [b,t], label [b,u], input_length [*b], label_length [*b] -> [b,1], [1]")
    .input("input", kIndex)
    .input("label", kIndex)
    .optional_input("input_length", kIndex)
    .optional_input("label_length", kIndex)
    .index_output("distance")
    .index_output("sequence_num")
    .infer(edit_infer)
    .kernel("rows", edit_run)
    .done();

}  // namespace
}  // namespace argosy::ops
