#include "argosy/infer/einsum.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "argosy/base/error.h"
#include "argosy/infer/call.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"

namespace argosy::infer {
namespace {

void expect(bool holds, const char* what) {
  ARGOSY_CHECK(holds, invalid_argument) << "[einsum] " << what << '.';
}

bool is_sorted(const std::vector<int64_t>& v) {
  return std::ranges::is_sorted(v);
}

using Labels = std::string;  // one for each dimension; those of "..." are 'A' - 1 - k and below

// An operand with its labels, each once.
struct Term {
  Tensor x;
  Labels labels;
};

Term without_repeats(Term t) {
  for (size_t i = 0; i < t.labels.size(); ++i) {
    const size_t j = t.labels.find(t.labels[i], i + 1);
    if (j == Labels::npos) continue;
    // The diagonal becomes the last dimension.
    t.x = call("diagonal", {t.x},
               {{"axis1", static_cast<int64_t>(i)}, {"axis2", static_cast<int64_t>(j)}});
    const char label = t.labels[i];
    t.labels.erase(j, 1);
    t.labels.erase(i, 1);
    t.labels += label;
    return without_repeats(std::move(t));
  }
  return t;
}

Term ordered(const Term& t, const Labels& order) {
  std::vector<int64_t> perm;
  for (char label : order) perm.push_back(static_cast<int64_t>(t.labels.find(label)));
  return {is_sorted(perm) ? t.x : ops::transpose(t.x, perm), order};
}

// Sums over the labels that are not in `kept`.
Term summed(Term t, const Labels& kept) {
  op::IntArray axes;
  Labels left;
  for (size_t i = 0; i < t.labels.size(); ++i) {
    if (kept.find(t.labels[i]) == Labels::npos)
      axes.values.push_back(static_cast<int64_t>(i));
    else
      left += t.labels[i];
  }
  if (axes.size()) t.x = call("sum", {t.x}, {{"axis", axes}, {"dtype", t.x.dtype()}});
  t.labels = left;
  return t;
}

// The dimensions from `begin` to `end` as one, the product of their sizes.
void push_joined(op::IntArray& shape, const Tensor& x, size_t begin, size_t end) {
  if (end - begin == 1) return ops::push_size(shape, x, static_cast<int>(begin));
  int64_t numel = 1;
  bool known = true;
  for (size_t i = begin; i < end; ++i) {
    known = known && x.dim(static_cast<int>(i)) >= 0;
    numel *= x.dim(static_cast<int>(i));
  }
  if (known) return shape.values.push_back(numel);
  Tensor product = ops::constant(op::Scalar(int64_t{1}), DType::int64);
  for (size_t i = begin; i < end; ++i)
    product = ops::multiply(product, ops::size_of(x, static_cast<int>(i), DType::int64));
  shape.symbols.push_back({static_cast<uint32_t>(shape.values.size()), product});
  shape.values.push_back(kUnknown);
}

// The product of two terms, summed over the labels that are not in `kept`.
Term multiplied(Term a, Term b, const Labels& kept) {
  const auto has = [](const Labels& labels, char label) {
    return labels.find(label) != Labels::npos;
  };
  a = summed(std::move(a), kept + b.labels);
  b = summed(std::move(b), kept + a.labels);
  Labels batch, summed_over, only_a, only_b;
  for (char label : a.labels)
    (!has(b.labels, label) ? only_a : has(kept, label) ? batch : summed_over) += label;
  for (char label : b.labels)
    if (!has(a.labels, label)) only_b += label;
  bool broadcast = false;  // sizes of 1 beside others, which "..." allows
  for (char label : batch + summed_over) {
    const int64_t m = a.x.dim(static_cast<int>(a.labels.find(label)));
    const int64_t k = b.x.dim(static_cast<int>(b.labels.find(label)));
    broadcast = broadcast || (m != k && (m == 1 || k == 1));
  }
  const Term left = ordered(a, batch + only_a + summed_over);
  const Term right = ordered(b, batch + summed_over + only_b);
  const Labels all = batch + only_a + only_b;
  if (summed_over.empty() || broadcast) {
    // Elementwise, with dimensions of size 1 where a term has none.
    const Labels whole = all + summed_over;
    auto spread = [&](const Term& t) {
      Labels order;
      op::IntArray missing;
      for (size_t i = 0; i < whole.size(); ++i) {
        if (has(t.labels, whole[i]))
          order += whole[i];
        else
          missing.values.push_back(static_cast<int64_t>(i));
      }
      const Tensor x = ordered(t, order).x;
      return missing.size() ? ops::unsqueeze(x, missing) : x;
    };
    return summed({ops::multiply(spread(a), spread(b)), whole}, all);
  }
  const size_t nb = batch.size(), na = only_a.size(), ns = summed_over.size(), no = only_b.size();
  op::IntArray ls, rs, os;
  for (size_t i = 0; i < nb; ++i) {
    ops::push_size(ls, left.x, static_cast<int>(i));
    ops::push_size(rs, right.x, static_cast<int>(i));
    ops::push_size(os, left.x, static_cast<int>(i));
  }
  push_joined(ls, left.x, nb, nb + na);
  push_joined(ls, left.x, nb + na, nb + na + ns);
  push_joined(rs, right.x, nb, nb + ns);
  push_joined(rs, right.x, nb + ns, nb + ns + no);
  for (size_t i = 0; i < na; ++i) ops::push_size(os, left.x, static_cast<int>(nb + i));
  for (size_t i = 0; i < no; ++i) ops::push_size(os, right.x, static_cast<int>(nb + ns + i));
  const Tensor y = ops::matmul(ops::reshape(left.x, ls), ops::reshape(right.x, rs));
  return {ops::reshape(y, os), all};
}

// "..." as labels of their own, aligned at the right.
Labels labels_of(const std::string& text, int rank, int dots) {
  Labels labels;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.') {
      expect(text.compare(i, 3, "...") == 0, "the equation is not one of Einsum");
      i += 2;
      const int here = rank < 0 ? dots : rank - static_cast<int>(text.size() - 3);
      expect(here >= 0, "the equation has more labels than an operand dimensions");
      for (int k = here; k-- > 0;) labels += static_cast<char>(1 + k);
    } else {
      expect(std::isalpha(static_cast<unsigned char>(text[i])),
             "the equation is not one of Einsum");
      labels += text[i];
    }
  }
  expect(rank < 0 || labels.size() == static_cast<size_t>(rank),
         "the equation has another number of labels than an operand dimensions");
  return labels;
}

}  // namespace

Tensor einsum(std::string equation, std::span<const Tensor> operands) {
  std::erase_if(equation, [](char c) { return c == ' '; });
  const size_t arrow = equation.find("->");
  std::vector<std::string> texts{""};
  for (char c : equation.substr(0, arrow)) {
    if (c == ',')
      texts.emplace_back();
    else
      texts.back() += c;
  }
  expect(texts.size() == operands.size(), "the equation has another number of operands");
  std::vector<Term> terms;
  int dots = 0;
  std::map<char, int> count;
  for (size_t i = 0; i < texts.size(); ++i) {
    Labels labels = labels_of(texts[i], operands[i].rank(), 0);
    for (char label : labels) {
      ++count[label];
      dots = std::max(dots, static_cast<int>(label) < 'A' ? static_cast<int>(label) : 0);
    }
    terms.push_back(without_repeats({operands[i], labels}));
  }
  Labels result;
  if (arrow != std::string::npos) {
    result = labels_of(equation.substr(arrow + 2), -1, dots);
  } else {
    for (int k = dots; k-- > 0;) result += static_cast<char>(1 + k);
    for (auto [label, times] : count)
      if (times == 1 && label >= 'A') result += label;
  }
  for (char label : result) expect(count.contains(label), "a label of the result is in no operand");
  Term all = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    Labels kept = result;
    for (size_t j = i + 1; j < terms.size(); ++j) kept += terms[j].labels;
    all = multiplied(std::move(all), terms[i], kept);
  }
  return ordered(summed(std::move(all), result), result).x;
}

}  // namespace argosy::infer
