#include "argosy/streamed/ledger.h"

#include <gtest/gtest.h>

namespace argosy::streamed {
namespace {

// Streams as the device keeps them: a clock each, and events that are copies of clocks.
class Streams {
 public:
  explicit Streams(size_t count) : clocks(count), positions(count, 0) {}

  std::string use(uint32_t stream, const char* name, std::vector<Use> uses) {
    const Moment at{stream, positions[stream] + 1};
    std::string wrong = ledger.use({name, at, clocks[stream]}, uses);
    if (wrong.empty()) clocks[stream].add({stream, ++positions[stream]});
    return wrong;
  }
  void wait(uint32_t stream, const Clock& event) { clocks[stream].add(event); }
  void open(uintptr_t begin, size_t bytes, uint32_t stream) {
    ledger.open(begin, bytes, {stream, positions[stream]});
  }

  Ledger ledger;
  std::vector<Clock> clocks;
  std::vector<uint64_t> positions;
};

constexpr Use reads{1000, 1100, false}, writes{1000, 1100, true};

TEST(Ledger, FindsAReadThatNothingPutsAfterTheWrite) {
  Streams s(2);
  s.open(1000, 100, 0);
  EXPECT_EQ(s.use(0, "multiply", {writes}), "");
  const std::string wrong = s.use(1, "add", {reads});
  EXPECT_NE(wrong.find("[add] on stream 1 reads memory that [multiply] on stream 0 writes"),
            std::string::npos)
      << wrong;
  EXPECT_NE(wrong.find("Do this: record an event after [multiply]"), std::string::npos);
}

TEST(Ledger, AnEventPutsThemInOrder) {
  Streams s(3);
  s.open(1000, 100, 0);
  EXPECT_EQ(s.use(0, "multiply", {writes}), "");
  s.wait(1, s.clocks[0]);
  EXPECT_EQ(s.use(1, "add", {reads}), "");
  // Order goes on through a third stream.
  s.wait(2, s.clocks[1]);
  EXPECT_EQ(s.use(2, "scale", {writes}), "");
  // The event is of then, not of now.
  const Clock then = s.clocks[2];
  EXPECT_EQ(s.use(2, "scale again", {writes}), "");
  s.wait(0, then);
  EXPECT_NE(s.use(0, "exp", {reads}).find("[scale again]"), std::string::npos);
}

TEST(Ledger, AWriteWaitsForReadersToo) {
  Streams s(3);
  s.open(1000, 100, 0);
  EXPECT_EQ(s.use(0, "fill", {writes}), "");
  s.wait(1, s.clocks[0]);
  s.wait(2, s.clocks[0]);
  EXPECT_EQ(s.use(1, "sum", {reads}), "");
  EXPECT_EQ(s.use(2, "max", {reads}), "");
  s.wait(0, s.clocks[1]);
  const std::string wrong = s.use(0, "zero", {writes});
  EXPECT_NE(wrong.find("[zero] on stream 0 writes memory that [max] on stream 2 reads"),
            std::string::npos)
      << wrong;
}

TEST(Ledger, OnlyBytesInCommonCount) {
  Streams s(2);
  s.open(1000, 100, 0);
  s.wait(1, s.clocks[0]);
  EXPECT_EQ(s.use(0, "left", {{1000, 1050, true}}), "");
  EXPECT_EQ(s.use(1, "right", {{1050, 1100, true}}), "");
  EXPECT_NE(s.use(1, "across", {{1049, 1051, false}}).find("[left]"), std::string::npos);
}

TEST(Ledger, MemoryOfAnotherStreamWaitsForWhatThatWasDoing) {
  Streams s(2);
  s.open(2000, 100, 0);
  EXPECT_EQ(s.use(0, "work", {{2000, 2100, true}}), "");
  s.open(1000, 100, 0);
  EXPECT_NE(s.use(1, "first", {writes}).find("[allocation] on stream 0"), std::string::npos);
}

TEST(Ledger, FreedMemoryIsNotUsed) {
  Streams s(1);
  s.open(1000, 100, 0);
  EXPECT_EQ(s.use(0, "fill", {writes}), "");
  EXPECT_TRUE(s.ledger.close(1000, s.clocks[0]).wrong.empty());
  EXPECT_NE(s.use(0, "read", {reads}).find("memory that was freed"), std::string::npos);
}

TEST(Ledger, FreeingAsksForTheStreamsThatUseTheBlock) {
  for (const bool recorded : {false, true}) {
    Streams s(2);
    s.open(1000, 100, 0);
    EXPECT_EQ(s.use(0, "fill", {writes}), "");
    s.wait(1, s.clocks[0]);
    EXPECT_EQ(s.use(1, "relu", {reads}), "");
    if (recorded) s.ledger.record_use(1050, 1);
    const Ledger::Closing closing = s.ledger.close(1000, s.clocks[0]);
    ASSERT_EQ(closing.wait_for.size(), 1u);
    EXPECT_EQ(closing.wait_for[0].stream, 1u);
    EXPECT_EQ(closing.wrong.empty(), recorded) << closing.wrong;
    EXPECT_EQ(closing.wrong.find("[relu] on stream 1") == std::string::npos, recorded);
  }
}

TEST(Ledger, RemembersLittleOfALongLife) {
  Streams s(1);
  s.open(1000, 100, 0);
  for (int i = 0; i < 10000; ++i) {
    ASSERT_EQ(s.use(0, "write", {writes}), "");
    ASSERT_EQ(s.use(0, "read", {reads}), "");
  }
}

}  // namespace
}  // namespace argosy::streamed
