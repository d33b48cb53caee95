#include "argosy/ps/config.h"

#include <gtest/gtest.h>

#include "argosy/base/error.h"

namespace argosy::ps {
namespace {

std::string error_of(const char* text) {
  try {
    parse_tables(text);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::invalid_argument);
    return e.what();
  }
  ADD_FAILURE() << "no error: " << text;
  return {};
}

TEST(TableConfig, WhatIsWrittenReadsBackEqual) {
  TableConfig sparse;
  sparse.id = 3;
  sparse.name = "emb \"w\" \xc3\xa9";
  sparse.accessor.kind = "click";
  sparse.accessor.dim = 11;
  sparse.accessor.dtype = "float16";
  sparse.accessor.weight.rule = "adagrad";
  sparse.accessor.weight.learning_rate = 0.1f;
  sparse.accessor.embedding.rule = "adam_shared";
  sparse.accessor.embedding.minimum = -10;
  sparse.accessor.show_scale = false;
  sparse.admission = {"count", 5, 0.25f};
  sparse.tier = "ssd";
  sparse.directory = "/somewhere";
  sparse.memory_rows = uint64_t{1} << 60;
  TableConfig summary;
  summary.kind = "summary";
  summary.size = 39;
  const std::string text = to_json({sparse, summary});
  const auto back = parse_tables(text);
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(to_json(back), text);
  EXPECT_EQ(back[0].name, sparse.name);
  EXPECT_EQ(back[0].accessor.weight.learning_rate, 0.1f);
  EXPECT_EQ(back[0].accessor.embedding.minimum, -10);
  EXPECT_EQ(back[0].accessor.embedding.maximum, std::numeric_limits<float>::max());
  EXPECT_FALSE(back[0].accessor.show_scale);
  EXPECT_EQ(back[0].memory_rows, uint64_t{1} << 60);
  EXPECT_EQ(back[1].size, 39u);
}

TEST(TableConfig, WhatIsLeftOutHasItsDefault) {
  const auto tables = parse_tables(R"([{"id": 1, "accessor": {"dim": 4}}, {"max_rows": 1e9}])");
  EXPECT_EQ(tables[0].kind, "sparse");
  EXPECT_EQ(tables[0].accessor.dim, 4);
  EXPECT_EQ(tables[0].accessor.embedding.rule, "sgd");
  EXPECT_EQ(tables[1].max_rows, 1000000000u);
  EXPECT_TRUE(parse_tables("[]").empty());
}

TEST(TableConfig, ErrorsNameWhatIsWrongAndWhatIsNear) {
  const struct {
    const char *text, *part;
  } cases[] = {
      {"[", "not JSON"},
      {"{}", "expected a list of tables"},
      {"[3]", "tables[0]: expected an object, got 3 (number)"},
      {R"([{"idd": 1}])", "tables[0] has no field 'idd', did you mean 'id'?"},
      {R"([{"accessor": {"embeding_threshold": 1}}])",
       "tables[0].accessor has no field 'embeding_threshold', did you mean 'embedding_threshold'?"},
      {R"([{"accessor": {"embedding": {"rule": "adagard"}}}])",
       "tables[0].accessor.embedding.rule: there is no 'adagard', did you mean 'adagrad'?"},
      {R"([{"accessor": {"embedding": {"rule": "zzzzzzzzzz"}}}])",
       "Choices: sgd, momentum, adagrad,"},
      {R"([{"id": -1}])", "tables[0].id: expected an integer in [0, 4294967295], got -1"},
      {R"([{"id": 1.5}])", "expected an integer"},
      {R"([{"id": 4294967296}])", "expected an integer"},
      {R"([{"id": true}])", "expected an integer"},
      {R"([{"name": 1}])", "tables[0].name: expected a string, got 1"},
      {R"([{"accessor": {"dim": 0}}])", "accessor.dim: expected a number in [1, 4096], got 0"},
      {R"([{"accessor": {"show_scale": 1}}])", "expected true or false"},
      {R"([{"accessor": {"embedding": {"learning_rate": 1e39}}}])", "float32"},
      {R"([{"accessor": {"embedding": {"learning_rate": "0.1"}}}])", "expected a number"},
      {R"([{"accessor": {"embedding": {"minimum": 1, "maximum": 1}}}])", "minimum < maximum"},
      {R"([{"accessor": {"kind": "click", "weight": {"rule": "adam", "beta1": 1}}}])",
       "weight.beta1"},
      {R"([{"accessor": {"dtype": "int8", "embedding": {"rule": "sum"}}}])", "exact weights"},
      {R"([{"kind": "dense"}])", "needs the number of its values"},
      {R"([{"kind": "summary", "size": 10}])", "multiple of 3"},
      {R"([{"tier": "ssd"}])", "name its folder"},
      {R"([{"tier": "ssd", "directory": "d", "max_rows": 5}])", "set memory_rows"},
      {R"([{"memory_rows": 5}])", "only tier ssd"},
      {R"([{"admission": {"kind": "count"}}])", "admission.count"},
      {R"([{"admission": {"kind": "probability", "probability": 1.5}}])", "admission.probability"},
      {R"([{"id": 7}, {"id": 7}])", "tables[1].id: 7 is the id of another table too"},
  };
  for (const auto& c : cases) {
    const std::string text = error_of(c.text);
    EXPECT_NE(text.find(c.part), std::string::npos) << c.text << "\n  gave: " << text;
  }
}

TEST(TableConfig, WhatIsNestedDeepIsRefused) {
  for (const size_t depth : {size_t{1000}, size_t{2'000'000}}) {
    const std::string text = std::string(depth, '[') + std::string(depth, ']');
    EXPECT_NE(error_of(text.c_str()).find("nested deeper than 500"), std::string::npos);
  }
}

}  // namespace
}  // namespace argosy::ps
