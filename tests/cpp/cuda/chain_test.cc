#include "argosy/kernels/cuda/chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "argosy/kernels/cuda/nvrtc.h"

namespace argosy::cuda {
namespace {

ChainOp float_op(const char* name, int inputs) {
  ChainOp op{name, false, true, {}, {4, 4, 4, 4}, inputs, "float", 12};
  for (int k = 0; k <= inputs; ++k) op.types[k] = "float";
  return op;
}
const ChainOp kNegative = float_op("NegativeOp", 1), kAdd = float_op("AddOp", 2),
              kFma = float_op("FmaOp", 3), kScale = float_op("ScaleOp", 1);
const ChainOp kHalfAdd{"AddOp",   false, true,    {"bf16_t", "bf16_t", "bf16_t"},
                       {2, 2, 2}, 2,     "float", 12};
const ChainOp kToFloat{"CastOp", true, true, {"bf16_t", "float"}, {2, 4}, 1, "float", 12};

View view(void* data, std::vector<int64_t> shape, std::vector<int64_t> strides = {}) {
  View v;
  v.data = data;
  v.rank = static_cast<int>(shape.size());
  int64_t dense = 1;
  for (int d = v.rank - 1; d >= 0; --d) {
    const auto at = static_cast<size_t>(d);
    v.shape[d] = shape[at];
    v.strides[d] = strides.empty() ? dense : strides[at];
    dense *= shape[at];
  }
  return v;
}

ChainStep step(const ChainOp& op, std::vector<View> operands, bool unread = false) {
  ChainStep s;
  s.op = &op;
  std::copy(operands.begin(), operands.end(), s.operands);
  s.unread = unread;
  return s;
}

std::vector<std::pair<size_t, size_t>> ends_of(const std::vector<ChainGroup>& groups) {
  std::vector<std::pair<size_t, size_t>> ends;
  for (const ChainGroup& g : groups) ends.emplace_back(g.begin, g.end);
  return ends;
}
using Ends = std::vector<std::pair<size_t, size_t>>;

class ChainTest : public testing::Test {
 protected:
  View dense(int64_t at) { return view(memory_ + at, {8, 16}); }
  alignas(64) float memory_[4096] = {};
};

TEST_F(ChainTest, ValuesBetweenStepsAreNotInMemory) {
  const std::vector<ChainStep> steps = {step(kScale, {dense(0), dense(1024)}, true),
                                        step(kAdd, {dense(1024), dense(128), dense(1024)}, true),
                                        step(kAdd, {dense(1024), dense(0), dense(2048)})};
  const auto groups = chain_groups(steps);
  ASSERT_EQ(ends_of(groups), (Ends{{0, 3}}));
  ASSERT_EQ(groups[0].operands.size(), 3u);
  EXPECT_EQ(groups[0].operands[2].written_by, 2);
  ChainForm form;
  ASSERT_TRUE(chain_form(steps, groups[0], form));
  EXPECT_EQ(form.pack, 4);
  EXPECT_EQ(form.rank, 1);
  EXPECT_EQ(form.args.items, 32u);
  const std::string text = chain_text(steps, groups[0], form);
  EXPECT_EQ(text.find("c.data[3]"), std::string::npos) << text;
}

TEST_F(ChainTest, WhatIsReadLaterIsWritten) {
  const std::vector<ChainStep> steps = {step(kScale, {dense(0), dense(1024)}),
                                        step(kScale, {dense(1024), dense(2048)}, true)};
  const auto groups = chain_groups(steps);
  ASSERT_EQ(ends_of(groups), (Ends{{0, 2}}));
  ASSERT_EQ(groups[0].operands.size(), 2u);
  EXPECT_EQ(groups[0].operands[1].view->data, memory_ + 1024);
}

TEST_F(ChainTest, OtherElementsOfWhatIsWrittenCutTheGroup) {
  const View turned = view(memory_ + 1024, {8, 16}, {1, 8});
  EXPECT_EQ(ends_of(chain_groups(std::vector{step(kScale, {dense(0), dense(1024)}),
                                             step(kScale, {turned, dense(2048)})})),
            (Ends{{0, 1}, {1, 2}}));
  // One element further on.
  EXPECT_EQ(ends_of(chain_groups(std::vector{step(kScale, {dense(0), dense(1024)}),
                                             step(kScale, {dense(1025), dense(2048)})})),
            (Ends{{0, 1}, {1, 2}}));
  // Read by the first, written elsewhere by the second.
  EXPECT_EQ(ends_of(chain_groups(std::vector{step(kScale, {dense(0), dense(1024)}),
                                             step(kScale, {dense(512), dense(64)})})),
            (Ends{{0, 1}, {1, 2}}));
  // A row that all read, and one of them overwrites.
  const View row = view(memory_, {8, 16}, {0, 1});
  EXPECT_EQ(ends_of(chain_groups(std::vector{step(kAdd, {dense(512), row, dense(1024)}),
                                             step(kScale, {dense(1024), dense(0)})})),
            (Ends{{0, 1}, {1, 2}}));
}

TEST_F(ChainTest, AStepThatOverlapsItselfIsAlone) {
  const std::vector<ChainStep> steps = {step(kScale, {dense(0), dense(3)}),
                                        step(kScale, {dense(512), dense(1024)}),
                                        step(kScale, {dense(1024), dense(2048)})};
  EXPECT_EQ(ends_of(chain_groups(steps)), (Ends{{0, 1}, {1, 3}}));
}

TEST_F(ChainTest, OtherShapesCutTheGroup) {
  const View flat = view(memory_ + 1024, {128});
  EXPECT_EQ(ends_of(chain_groups(
                std::vector{step(kScale, {dense(0), dense(1024)}), step(kScale, {flat, flat})})),
            (Ends{{0, 1}, {1, 2}}));
}

TEST_F(ChainTest, AnUnreadResultThatALaterGroupReadsIsWritten) {
  const View flat = view(memory_ + 1024, {128}), out = view(memory_ + 2048, {128});
  const std::vector<ChainStep> steps = {
      step(kScale, {dense(0), dense(512)}, true), step(kScale, {dense(512), dense(1024)}, true),
      step(kScale, {flat, flat}, true), step(kScale, {flat, out})};
  const auto groups = chain_groups(steps);
  ASSERT_EQ(ends_of(groups), (Ends{{0, 2}, {2, 4}}));
  ASSERT_EQ(groups[0].operands.size(), 2u);
  EXPECT_EQ(groups[0].operands[1].view->data, memory_ + 1024);
}

// Blocks that values of the chain no longer need are used again, by values of other sizes, too.
TEST_F(ChainTest, MemoryOfUnreadResultsIsUsedAgain) {
  const auto over = [&](int64_t at, bool unread, bool read_again) {
    std::vector<ChainStep> steps = {step(kScale, {dense(0), dense(1024)}, unread),
                                    step(kScale, {dense(1024), dense(2048)}),
                                    step(kScale, {dense(2048), dense(at)})};
    if (read_again) steps.push_back(step(kAdd, {dense(1024), dense(at), dense(3072)}));
    return ends_of(chain_groups(steps));
  };
  EXPECT_EQ(over(1024 + 16, true, false), (Ends{{0, 3}}));
  EXPECT_EQ(over(1024 + 16, false, false), (Ends{{0, 2}, {2, 3}}));
  EXPECT_EQ(over(1024 + 16, true, true), (Ends{{0, 2}, {2, 3}, {3, 4}}));
}

TEST_F(ChainTest, PacksFollowAlignmentAndRows) {
  const auto pack_of = [](const std::vector<ChainStep>& steps) {
    const auto groups = chain_groups(steps);
    ChainForm form;
    EXPECT_TRUE(chain_form(steps, groups[0], form));
    return form.pack;
  };
  char* at = reinterpret_cast<char*>(memory_);
  const auto add = [&](int64_t a, int64_t b, std::vector<int64_t> shape,
                       std::vector<int64_t> strides = {}) {
    const View out = view(at + 8192, shape), x = view(at + a, shape),
               y = view(at + b, shape, strides);
    return std::vector{step(kHalfAdd, {x, y, out}), step(kHalfAdd, {out, x, out})};
  };
  EXPECT_EQ(pack_of(add(0, 4096, {8, 16})), 8);
  EXPECT_EQ(pack_of(add(0, 4096 + 2, {8, 16})), 1);
  EXPECT_EQ(pack_of(add(0, 4096 + 8, {8, 16})), 4);
  EXPECT_EQ(pack_of(add(0, 4096, {8, 16}, {0, 1})), 8);  // a row for all
  EXPECT_EQ(pack_of(add(0, 4096, {8, 12}, {0, 1})), 4);  // whose end is within a pack of 8
  EXPECT_EQ(pack_of(add(0, 4096, {8, 16}, {1, 0})), 8);  // an element for a whole row
  EXPECT_EQ(pack_of(add(0, 4096, {8, 16}, {1, 8})), 1);  // columns
  EXPECT_EQ(pack_of(add(0, 4096, {5}, {})), 4);          // 4 and 1 behind them
}

TEST_F(ChainTest, KeysTellFormsApart) {
  const auto key_of = [](const std::vector<ChainStep>& steps) {
    const auto groups = chain_groups(steps);
    ChainForm form;
    EXPECT_TRUE(chain_form(steps, groups[0], form));
    return chain_key(steps, groups[0], form);
  };
  const auto two = [&](const View& x, bool unread) {
    return std::vector{step(kAdd, {dense(0), x, dense(1024)}, unread),
                       step(kAdd, {dense(1024), dense(0), dense(2048)})};
  };
  const std::string key = key_of(two(dense(512), true));
  EXPECT_EQ(key, key_of(two(dense(1536), true)));
  EXPECT_NE(key, key_of(two(dense(0), true)));
  EXPECT_NE(key, key_of(two(dense(512), false)));
  EXPECT_NE(key, key_of(two(dense(513), true)));
  EXPECT_NE(key, key_of(two(view(memory_ + 512, {8, 16}, {0, 1}), true)));
}

// --- against the steps one by one ---

float computed(const ChainOp& op, const float* in) {
  if (op.inputs == 1) return -in[0];
  return op.inputs == 2 ? in[0] + in[1] : in[0] * in[1] + in[2];
}

// Addresses of the element at place i, in row-major order.
float* element(const View& v, int64_t i) {
  int64_t offset = 0;
  for (int d = v.rank - 1; d >= 0; --d) {
    offset += i % v.shape[d] * v.strides[d];
    i /= v.shape[d];
  }
  return static_cast<float*>(v.data) + offset;
}

void run_alone(const ChainStep& s, int64_t n) {
  std::vector<float> out;
  for (int64_t i = 0; i < n; ++i) {
    float in[3] = {};
    for (int k = 0; k < s.op->inputs; ++k) in[k] = *element(s.operands[k], i);
    out.push_back(computed(*s.op, in));
  }
  for (int64_t i = 0; i < n; ++i) *element(s.result(), i) = out[static_cast<size_t>(i)];
}

// As the kernel does: each element reads, computes and writes for itself, in any order.
void run_group(std::span<const ChainStep> steps, const ChainGroup& g, int64_t n,
               std::mt19937& random) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) order[static_cast<size_t>(i)] = i;
  std::ranges::shuffle(order, random);
  for (const int64_t i : order) {
    std::vector<float> loaded, made;
    for (const auto& at : g.operands) loaded.push_back(at.read ? *element(*at.view, i) : 0);
    size_t source = 0;
    for (size_t s = g.begin; s < g.end; ++s) {
      float in[3] = {};
      for (int k = 0; k < steps[s].op->inputs; ++k) {
        const ChainGroup::Source& from = g.sources[source++];
        in[k] = from.step >= 0 ? made[static_cast<size_t>(from.step)]
                               : loaded[static_cast<size_t>(from.operand)];
      }
      made.push_back(computed(*steps[s].op, in));
    }
    for (const auto& at : g.operands)
      if (at.written_by >= 0) *element(*at.view, i) = made[static_cast<size_t>(at.written_by)];
  }
}

// Where the kernel goes: for each operand the addresses in the order of elements it visits.
void expect_walk(std::span<const ChainStep> steps, const ChainGroup& g, int64_t n) {
  ChainForm form;
  ASSERT_TRUE(chain_form(steps, g, form));
  const auto forms = g.forms.size();
  std::map<std::vector<const void*>, int> want, found;
  for (int64_t i = 0; i < n; ++i) {
    std::vector<const void*> at;
    for (const auto& o : g.operands) at.push_back(element(*o.view, i));
    ++want[at];
  }
  const auto visit = [&](const std::vector<int64_t>& place, int64_t j) {
    std::vector<const void*> at;
    for (size_t o = 0; o < g.operands.size(); ++o) {
      const auto form_of = static_cast<size_t>(g.operands[o].form);
      const int64_t in_pack = form.repeats[form_of] ? 0 : j;
      at.push_back(static_cast<float*>(form.args.data[o]) + place[form_of] + in_pack);
    }
    ++found[at];
  };
  const auto place_of = [&](uint32_t item) {
    std::vector<int64_t> place(forms);
    for (int d = form.rank - 1; d > 0; --d) {
      const uint32_t size = form.args.size[d].d, r = item % size;
      for (size_t k = 0; k < forms; ++k) place[k] += r * form.args.strides[d][k];
      item /= size;
    }
    for (size_t k = 0; k < forms; ++k) place[k] += item * form.args.strides[0][k];
    return place;
  };
  for (uint32_t i = 0; i < form.args.items; ++i)
    for (int64_t j = 0; j < form.pack; ++j) visit(place_of(i), j);
  for (uint32_t r = 0; r < form.args.rest; ++r) {
    std::vector<int64_t> place = place_of(form.args.items);
    for (size_t k = 0; k < forms; ++k) place[k] += form.args.strides[0][k] ? r : 0;
    visit(place, 0);
  }
  EXPECT_EQ(want, found);
}

TEST(ChainRandom, GroupsDoWhatTheirStepsDo) {
  constexpr size_t kCells = 600;
  std::mt19937 random(1);
  const auto below = [&](size_t n) { return static_cast<int64_t>(random() % n); };
  size_t grouped = 0, dropped = 0;
  for (int round = 0; round < 3000; ++round) {
    alignas(64) float memory[kCells], sequential[kCells];
    for (float& v : memory) v = static_cast<float>(below(9));
    std::memcpy(sequential, memory, sizeof memory);
    const std::vector<int64_t> shape = below(4)
                                           ? std::vector<int64_t>{1 + below(4), 4 * (1 + below(3))}
                                           : std::vector<int64_t>{1 + below(30)};
    const int64_t columns = shape.back(), rows = shape.size() == 2 ? shape[0] : 1,
                  n = rows * columns;
    // Few beginnings, so that values meet.
    const auto any_view = [&](float* base, bool result) {
      float* data = base + below(5) * 64 + (below(8) ? 0 : below(3));
      if (shape.size() == 1) return view(data, shape, {below(6) || result ? 1 : 0});
      switch (below(result ? 10 : 14)) {
        case 0:
          return view(data, shape, {1, rows});
        case 1:
          return view(data, shape, {columns + 4, 1});
        case 10:
          return view(data, shape, {0, 1});
        case 11:
          return view(data, shape, {1, 0});
        case 12:
          return view(data, shape, {0, 0});
        default:
          return view(data, shape);
      }
    };
    std::vector<ChainStep> steps;
    const int64_t count = 2 + below(7);
    for (int64_t i = 0; i < count; ++i) {
      const ChainOp& op = *std::vector{&kNegative, &kAdd, &kFma}[static_cast<size_t>(below(3))];
      std::vector<View> operands;
      for (int k = 0; k < op.inputs; ++k) operands.push_back(any_view(memory, false));
      operands.push_back(any_view(memory, true));
      steps.push_back(step(op, operands, below(2)));
    }
    // One by one, on a copy; who wrote a cell last.
    std::vector<int> writer(kCells, -1);
    for (size_t i = 0; i < steps.size(); ++i) {
      ChainStep s = steps[i];
      for (View& v : s.operands)
        if (v.data) v.data = sequential + (static_cast<float*>(v.data) - memory);
      run_alone(s, n);
      for (int64_t e = 0; e < n; ++e)
        writer[static_cast<size_t>(element(s.result(), e) - sequential)] = static_cast<int>(i);
    }
    size_t next = 0;
    for (const ChainGroup& g : chain_groups(steps)) {
      ASSERT_EQ(g.begin, next);
      next = g.end;
      if (g.size() == 1) {
        run_alone(steps[g.begin], n);
        continue;
      }
      ++grouped;
      expect_walk(steps, g, n);
      int written = 0;
      for (const auto& at : g.operands) written += at.written_by >= 0;
      dropped += static_cast<size_t>(written) < g.size();
      run_group(steps, g, n, random);
    }
    ASSERT_EQ(next, steps.size());
    for (size_t c = 0; c < kCells; ++c) {
      if (writer[c] >= 0 && steps[static_cast<size_t>(writer[c])].unread) continue;
      ASSERT_EQ(memory[c], sequential[c]) << "round " << round << ", cell " << c;
    }
  }
  EXPECT_GT(grouped, 1000u);
  EXPECT_GT(dropped, 300u);
}

// --- their texts ---

class ChainCompiles : public ChainTest {
 protected:
  void SetUp() override {
    if (const char* missing = compiler_missing()) GTEST_SKIP() << missing;
  }
  static void expect_compiles(const std::vector<ChainStep>& steps) {
    const auto groups = chain_groups(steps);
    ASSERT_EQ(groups.size(), 1u);
    ChainForm form;
    ASSERT_TRUE(chain_form(steps, groups[0], form));
    const std::string text = chain_text(steps, groups[0], form);
    for (const int capability : {80, 90}) {
      const Compiled made = compile_text(text, chain_headers(), capability);
      EXPECT_FALSE(made.code.empty()) << made.error << text;
    }
  }
};

TEST_F(ChainCompiles, PacksRowsAndARest) {
  expect_compiles({step(kScale, {dense(0), dense(1024)}, true),
                   step(kAdd, {dense(1024), dense(128), dense(2048)})});
  expect_compiles({step(kAdd, {dense(0), view(memory_ + 256, {8, 16}, {0, 1}), dense(1024)}, true),
                   step(kAdd, {dense(1024), dense(128), dense(2048)})});
  const auto odd = [&](int64_t at) { return view(memory_ + at, {7, 13}); };
  expect_compiles({step(kScale, {odd(0), odd(1024)}, true), step(kScale, {odd(1024), odd(2048)})});
}

TEST_F(ChainCompiles, ConversionsAndNumbers) {
  auto scaled = step(kScale, {dense(1024), dense(2048)});
  scaled.has_params = true;
  expect_compiles({step(kToFloat, {dense(0), dense(1024)}, true), scaled});
}

// A comparison of bfloat16 numbers chooses between two, as bits; and so on with the result.
TEST_F(ChainCompiles, ValuesThatAreReadAsAnotherType) {
  const ChainOp less{"LessOp",  false, true,    {"bf16_t", "bf16_t", "bool"},
                     {2, 2, 1}, 2,     "float", 12};
  const ChainOp where{
      "WhereOp",    false, true,      {"uint8_t", "uint16_t", "uint16_t", "uint16_t"},
      {1, 2, 2, 2}, 3,     "uint8_t", 3};
  const View choice = dense(1024), sum = dense(1536);
  expect_compiles({step(less, {dense(0), dense(128), choice}, true),
                   step(kHalfAdd, {dense(0), dense(128), sum}, true),
                   step(where, {choice, sum, dense(0), dense(2048)}, true),
                   step(kHalfAdd, {dense(2048), sum, dense(2048)})});
}

TEST_F(ChainCompiles, AnErrorIsTold) {
  const Compiled made = compile_text("no text of a kernel", chain_headers(), 90);
  EXPECT_TRUE(made.code.empty());
  EXPECT_NE(made.error.find("error"), std::string::npos) << made.error;
}

}  // namespace
}  // namespace argosy::cuda
