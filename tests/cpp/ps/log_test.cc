#include "argosy/ps/service/log.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "argosy/base/error.h"

namespace argosy::ps {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class LogTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/argosy_log_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override { fs::remove_all(directory_); }

  LogOptions options() const {
    LogOptions o;
    o.directory = directory_;
    o.retry_every = milliseconds(5);
    return o;
  }
  std::vector<std::string> read(uint64_t after) const {
    std::vector<std::string> all;
    LogReader reader(directory_, after);
    LogRecord record;
    while (reader.next(&record)) {
      EXPECT_EQ(record.number, after + all.size() + 1);
      all.emplace_back(reinterpret_cast<const char*>(record.payload.data()), record.payload.size());
    }
    return all;
  }
  std::vector<fs::path> segments() const {
    std::vector<fs::path> paths;
    for (const auto& e : fs::directory_iterator(directory_)) {
      if (e.path().filename().string().starts_with("log-")) paths.push_back(e.path());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  std::string directory_;
};

uint64_t put(Log& log, const std::string& text) {
  const std::span<const std::byte> all = std::as_bytes(std::span(text));
  const std::span<const std::byte> parts[] = {all.first(text.size() / 2),
                                              all.subspan(text.size() / 2)};
  return log.append(parts);
}

void flip(const fs::path& path, uint64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const char c = static_cast<char>(file.get() ^ 0x40);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(c);
}

std::string error_of(auto&& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::io);
    return e.what();
  }
  return "";
}

TEST(Checksum, IsCastagnoli) {
  EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u);
  EXPECT_EQ(crc32c("6789", 4, crc32c("12345", 5)), 0xe3069283u);
  // Long texts are summed in three streams, short ones one after another.
  std::string text(100003, 0);
  uint32_t random = 1;
  for (char& c : text) c = static_cast<char>((random = random * 1664525 + 1013904223) >> 24);
  uint32_t sum = 0;
  for (size_t at = 0; at < text.size(); at += 1000) {
    sum = crc32c(text.data() + at, std::min<size_t>(1000, text.size() - at), sum);
  }
  EXPECT_EQ(crc32c(text.data(), text.size()), sum);
  EXPECT_EQ(crc32c(text.data() + 777, text.size() - 777, crc32c(text.data(), 777)), sum);
}

TEST_F(LogTest, ReadsBackWhatWasAppended) {
  std::vector<std::string> expected;
  {
    Log log(options(), 0);
    for (int i = 0; i < 100; ++i) {
      expected.push_back(std::string(static_cast<size_t>(i * 7), static_cast<char>('a' + i % 26)));
      EXPECT_EQ(put(log, expected.back()), static_cast<uint64_t>(i + 1));
    }
    log.wait(100, milliseconds(60000));
    EXPECT_EQ(log.durable(), 100u);
    EXPECT_EQ(read(0), expected);
  }
  Log again(options(), 0);
  EXPECT_EQ(again.last(), 100u);
  expected.push_back("more");
  again.wait(put(again, "more"), milliseconds(60000));
  EXPECT_EQ(read(0), expected);
  expected.erase(expected.begin(), expected.begin() + 60);
  EXPECT_EQ(read(60), expected);
}

TEST_F(LogTest, ManyThreadsAppendAndWait) {
  Log log(options(), 0);
  std::atomic<uint64_t> called{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const uint64_t number = put(log, std::to_string(t) + ":" + std::to_string(i));
        log.when_durable(number, [&, number](const std::string& failure) {
          EXPECT_EQ(failure, "");
          EXPECT_GE(log.durable(), number);
          ++called;
        });
        log.wait(number, milliseconds(60000));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  const std::vector<std::string> all = read(0);
  EXPECT_EQ(all.size(), 200u);
  // Of each thread, in its order.
  int next[4] = {};
  for (const std::string& text : all) {
    EXPECT_EQ(std::stoi(text.substr(2)), next[text[0] - '0']++);
  }
  while (called < 200) std::this_thread::yield();
}

TEST_F(LogTest, ASecondProcessIsRefused) {
  Log log(options(), 0);
  EXPECT_NE(error_of([&] { Log other(options(), 0); }).find("in use"), std::string::npos);
}

TEST_F(LogTest, OneThatEndsIsWaitedFor) {
  auto dying = std::make_unique<Log>(options(), 0);
  std::thread ends([&] {
    std::this_thread::sleep_for(milliseconds(100));
    dying.reset();
  });
  EXPECT_EQ(error_of([&] { Log next(options(), 0); }), "");
  ends.join();
}

TEST_F(LogTest, ATornTailIsCut) {
  uint64_t whole = 0;
  {
    Log log(options(), 0);
    for (int i = 0; i < 3; ++i)
      log.wait(put(log, "record" + std::to_string(i)), milliseconds(60000));
    whole = fs::file_size(segments()[0]);
    log.wait(put(log, std::string(1000, 'x')), milliseconds(60000));
  }
  const uint64_t all = fs::file_size(segments()[0]);
  std::vector<char> bytes(all);
  std::ifstream(segments()[0], std::ios::binary).read(bytes.data(), static_cast<long>(all));
  for (uint64_t size = all - 1; size >= whole; size = size > whole + 40 ? size - 13 : size - 1) {
    std::ofstream(segments()[0], std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<long>(size));
    EXPECT_EQ(read(0).size(), 3u) << size;
    Log log(options(), 0);
    EXPECT_EQ(log.last(), 3u);
    EXPECT_EQ(fs::file_size(segments()[0]), whole);
  }
  Log log(options(), 0);
  log.wait(put(log, "after"), milliseconds(60000));
  EXPECT_EQ(read(0), (std::vector<std::string>{"record0", "record1", "record2", "after"}));
}

TEST_F(LogTest, AFileThatGotNoHeaderIsNoSegment) {
  { Log log(options(), 0); }
  std::ofstream(directory_ + "/log-00000000000000000001") << "ARGO";
  Log log(options(), 0);
  log.wait(put(log, "x"), milliseconds(60000));
  EXPECT_EQ(read(0).size(), 1u);
}

TEST_F(LogTest, DamageInWhatWasDurableIsAnError) {
  {
    Log log(options(), 0);
    for (int i = 0; i < 5; ++i) log.wait(put(log, std::string(100, 'y')), milliseconds(60000));
  }
  const fs::path path = segments()[0];
  // Each byte of a header, and some of the payload, of the second record (at 32 + 136).
  for (uint64_t at = 168; at < 168 + 136 - 4; at += at < 200 ? 1 : 17) {
    flip(path, at);
    const std::string open = error_of([&] { Log log(options(), 0); });
    EXPECT_NE(open.find(path.string() + "' is damaged at byte 168"), std::string::npos) << open;
    EXPECT_NE(error_of([&] { read(0); }).find("byte 168"), std::string::npos);
    flip(path, at);
  }
  EXPECT_EQ(read(0).size(), 5u);
}

TEST_F(LogTest, SegmentsAreMadeAndForgotten) {
  LogOptions o = options();
  o.segment_bytes = 500;
  Log log(o, 0);
  for (int i = 0; i < 40; ++i) log.wait(put(log, std::string(68, 'z')), milliseconds(60000));
  const size_t made = segments().size();
  EXPECT_GE(made, 8u);
  EXPECT_EQ(read(0).size(), 40u);
  uint64_t sum = 0;
  for (const fs::path& p : segments()) sum += fs::file_size(p);
  EXPECT_EQ(log.bytes(), sum);
  log.forget(20);
  EXPECT_LT(segments().size(), made);
  EXPECT_EQ(read(30).size(), 10u);
  EXPECT_NE(error_of([&] { read(0); }).find("are needed"), std::string::npos);
  log.forget(40);
  EXPECT_EQ(segments().size(), 1u);
}

TEST_F(LogTest, AMissingSegmentIsAnError) {
  LogOptions o = options();
  o.segment_bytes = 500;
  {
    Log log(o, 0);
    for (int i = 0; i < 40; ++i) log.wait(put(log, std::string(68, 'z')), milliseconds(60000));
  }
  const fs::path middle = segments()[3];
  fs::rename(middle, directory_ + "/aside");
  EXPECT_NE(error_of([&] { read(0); }).find("is damaged"), std::string::npos);
  fs::rename(directory_ + "/aside", middle);
  fs::remove(segments()[0]);
  EXPECT_NE(error_of([&] { Log log(o, 0); }).find("are missing"), std::string::npos);
}

TEST_F(LogTest, BeginsAnewBehindASnapshot) {
  {
    Log log(options(), 0);
    log.wait(put(log, "old"), milliseconds(60000));
  }
  Log log(options(), 10);
  EXPECT_EQ(log.last(), 10u);
  EXPECT_EQ(put(log, "new"), 11u);
  log.wait(11, milliseconds(60000));
  EXPECT_EQ(read(10), (std::vector<std::string>{"new"}));
}

// The limit of file sizes stands in for a full disk.
TEST_F(LogTest, AFullDiskRefusesPushesAndLosesNone) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  std::vector<std::string> expected;
  {
    Log log(options(), 0);
    expected.push_back("first");
    log.wait(put(log, "first"), milliseconds(60000));
    const rlimit full{200, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &full);
    // It gets a number, so it will be there in the end, though nobody may acknowledge it now.
    expected.push_back(std::string(5000, 'b'));
    const uint64_t number = put(log, expected.back());
    const std::string failure = error_of([&] { log.wait(number, milliseconds(60000)); });
    EXPECT_NE(failure.find("Do this: make room"), std::string::npos) << failure;
    std::string told;
    log.when_durable(number, [&](const std::string& text) { told = text; });
    EXPECT_EQ(told, failure);
    EXPECT_EQ(error_of([&] { put(log, "refused"); }), failure);
    EXPECT_EQ(read(0).size(), 1u);
    setrlimit(RLIMIT_FSIZE, &before);
    std::string last;
    for (int i = 0; i < 2000; ++i) {
      last = error_of([&] { log.wait(number, milliseconds(1000)); });
      if (last.empty()) break;
      std::this_thread::sleep_for(milliseconds(5));
    }
    EXPECT_EQ(last, "");
    expected.push_back("third");
    EXPECT_EQ(put(log, "third"), number + 1);
    log.wait(number + 1, milliseconds(60000));
  }
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(read(0), expected);
}

}  // namespace
}  // namespace argosy::ps
