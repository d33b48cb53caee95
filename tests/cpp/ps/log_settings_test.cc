// A server's log and the tables, rules and workers with which its records were made.
#include <fstream>
#include <numeric>

#include "argosy/base/file.h"
#include "tests/cpp/ps/promises.h"

namespace argosy::ps {
namespace {

class LogSettings : public Promises {};

TEST_F(LogSettings, ALogIsOfTheTablesItWasWrittenWith) {
  const std::vector<TableConfig> before = options_.tables;
  start();
  ASSERT_EQ(code(push(kOne, 1, {1, 2})), Code::ok);
  const auto refused = [&](auto&& change) {
    options_.tables = before;
    change();
    return error_of([&] { kill_and_start(); });
  };
  const auto wider = [&] { options_.tables[0].accessor.dim = 8; };
  const auto other_rule = [&] { options_.tables[0].accessor.embedding.rule = "sgd"; };
  EXPECT_NE(refused(wider).find("changes of table 0 (rows: plain dim=2"), std::string::npos);
  EXPECT_NE(refused(other_rule).find("which is another one now"), std::string::npos);
  EXPECT_NE(refused([&] { options_.tables[1].size = 60; }).find("dense: 6 numbers, sum"),
            std::string::npos);
  EXPECT_NE(refused([&] { options_.tables.pop_back(); }).find("which this server does not have"),
            std::string::npos);
  // Without the file, as an earlier version left it, records themselves tell.
  const auto forgets = [&] {
    wider();
    fs::remove(options_.directory + "/server-0-of-1/log/tables.json");
  };
  EXPECT_NE(refused(forgets).find("does not fit table 0 as it is now"), std::string::npos);
  EXPECT_EQ(refused([&] { options_.tables.push_back(sum_table(2, "sparse")); }), "");
  EXPECT_EQ(value(1), 1);
}

TEST_F(LogSettings, AFormatOfALaterVersionIsRefused) {
  start();
  ASSERT_EQ(code(push(kOne, 1, {1, 2})), Code::ok);
  const std::string path = options_.directory + "/server-0-of-1/log/tables.json";
  std::string text = read_file(path);
  text.replace(text.find("\"format\": 1"), 11, "\"format\": 2");
  std::ofstream(path) << text;
  const std::string error = error_of([&] { kill_and_start(); });
  EXPECT_NE(
      error.find("has format 2, this version reads format 1. Do this: start the version that"),
      std::string::npos)
      << error;
}

TEST_F(LogSettings, RecordsAreReplayedWithTheRulesThatAppliedThem) {
  OptimizerConfig& rule = options_.tables[0].accessor.embedding;
  rule.rule = "sgd";
  rule.learning_rate = 0.5f;
  start();
  ASSERT_EQ(code(push(kOne, 1, {5})), Code::ok);
  ASSERT_EQ(value(5), -0.5f);
  rule.learning_rate = 0.25f;
  options_.tables[0].name = "called otherwise";
  kill_and_start();
  EXPECT_EQ(value(5), -0.5f);
  ASSERT_EQ(code(push(kOne, 1, {5})), Code::ok) << "it was applied before";
  ASSERT_EQ(code(push(kOne, 2, {5})), Code::ok);
  EXPECT_EQ(value(5), -0.75f);
  kill_and_start();
  EXPECT_EQ(value(5), -0.75f);
  // Without a log from now on.
  rule.learning_rate = 4;
  options_.durability = "snapshot";
  kill_and_start();
  EXPECT_EQ(value(5), -0.75f);
  options_.durability = "log";
  kill_and_start();
  EXPECT_EQ(value(5), -0.75f);
}

// A log that other settings made is brought to its end over the same database.
TEST_F(LogSettings, RowsOnDiskAreMadeAgainWithThoseOfThen) {
  TableConfig& table = options_.tables[0];
  table.tier = "ssd";
  table.directory = options_.directory + "/db";
  table.memory_rows = 1024;
  fs::create_directory(options_.directory);
  OptimizerConfig& rule = table.accessor.embedding;
  rule.rule = "sgd";
  rule.learning_rate = 0.5f;
  std::vector<Key> all(3000);
  std::iota(all.begin(), all.end(), 0);
  start();
  ASSERT_EQ(code(push(kOne, 1, all)), Code::ok);
  rule.learning_rate = 0.25f;
  table.memory_rows = 2048;
  for (float expected = -0.5f; expected > -1.1f; expected -= 0.25f) {
    kill_and_start();
    for (const Key key : {0, 1500, 2999}) EXPECT_EQ(value(key), expected);
    ASSERT_EQ(code(push(kOne, static_cast<uint64_t>(-4 * expected), all)), Code::ok);
  }
}

}  // namespace
}  // namespace argosy::ps
