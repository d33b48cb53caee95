#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "argosy/base/error.h"
#include "argosy/ps/service/auth.h"
#include "argosy/ps/service/mailbox.h"

namespace argosy::ps {
namespace {

using Clock = Mailbox::Clock;

TEST(Access, Roles) {
  const Tokens two{"w", "a"}, one{"w", "w"};
  EXPECT_EQ(role_of("Bearer w", two), Role::worker);
  EXPECT_EQ(role_of("Bearer a", two), Role::administrator);
  EXPECT_EQ(role_of("Bearer w", one), Role::administrator);
  for (const char* other : {"", "w", "Bearer", "Bearer ", "Bearer x", "Bearer wa", "bearer w"})
    EXPECT_EQ(role_of(other, two), Role::nobody) << other;
}

TEST(Access, Administration) {
  int count = 0;
  for (int m = 0; m < kMethods; ++m) count += is_administration(static_cast<Method>(m));
  EXPECT_EQ(count, 5);
  for (const Method m : {Method::save, Method::load, Method::shrink, Method::end_day, Method::stop})
    EXPECT_TRUE(is_administration(m));
}

TEST(Access, Exposure) {
  ServerOptions s;
  s.endpoint = "127.0.0.1:0";
  EXPECT_NO_THROW(check_exposure(s));
  s.endpoint = "0.0.0.0:0";
  EXPECT_THROW(check_exposure(s), Error);
  s.insecure = true;
  EXPECT_THROW(check_exposure(s), Error);
  s.token = "t";
  EXPECT_NO_THROW(check_exposure(s));
  s.insecure = false;
  EXPECT_THROW(check_exposure(s), Error);
  s.certificate = s.certificate_key = "file";
  EXPECT_NO_THROW(check_exposure(s));

  ClientOptions c;
  c.endpoints = {"127.0.0.1:1", "10.0.0.1:1"};
  EXPECT_NO_THROW(check_exposure(c));  // it has nothing to tell
  for (std::string* token : {&c.token, &c.admin_token}) {
    *token = "t";
    EXPECT_THROW(check_exposure(c), Error);
    c.insecure = true;
    EXPECT_NO_THROW(check_exposure(c));
    c.insecure = false;
    *token = "";
  }
  c.token = "t";
  c.certificate_authority = "file";
  EXPECT_NO_THROW(check_exposure(c));
}

// A user whose files are in a temporary folder.
class SecretFiles : public testing::Test {
 protected:
  SecretFiles() {
    char name[] = "/tmp/argosy_access_XXXXXX";
    folder_ = ::mkdtemp(name);
    ::setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
  }
  ~SecretFiles() override {
    ::unsetenv("XDG_RUNTIME_DIR");
    std::filesystem::remove_all(folder_);
  }
  std::string folder_;
};

TEST_F(SecretFiles, ComeBack) {
  EXPECT_FALSE(find_tokens(7));
  Tokens first;
  {
    const SecretFile killed(7);  // it goes without remove()
    first = killed.tokens();
    EXPECT_EQ(find_tokens(7), first);
    EXPECT_NE(first.worker, first.admin);
    EXPECT_GE(first.worker.size(), 32u);
  }
  EXPECT_FALSE(find_tokens(7));
  SecretFile again(7);
  EXPECT_EQ(again.tokens(), first);
  EXPECT_NE(SecretFile(8).tokens(), first);
  again.remove();
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/argosy/port-7"));
  EXPECT_NE(SecretFile(7).tokens(), first);
}

// Whoever is there at the same time has the same tokens, and they can be found.
TEST_F(SecretFiles, Races) {
  std::atomic<int> here{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        SecretFile file(7);
        ++here;
        const auto found = find_tokens(7);
        if (!found || *found != file.tokens()) ++wrong;
        --here;
        file.remove();
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/argosy"));
}

// --- mailboxes ---

Bytes piece_of(const std::string& text) {
  Bytes b(text.size());
  std::copy(text.begin(), text.end(), b.as<char>().begin());
  return b;
}

class MailboxTest : public testing::Test {
 protected:
  explicit MailboxTest(uint64_t max_bytes = 1 << 30) : box_(0, 1, 2, max_bytes) {}

  Code post(uint64_t number, const std::string& text, uint64_t round = 1) {
    Header h;
    h.worker = 0;
    h.table = 1;
    h.step = number;
    h.round = round;
    return box_.post(h, piece_of(text), &taken_).code;
  }
  // What worker 1 gets of worker 0, without waiting: the texts, one after the other.
  std::string collect(uint64_t count, uint64_t round = 1) {
    Header h;
    h.worker = 1;
    h.round = round;
    const uint64_t counts[] = {count, 0};
    std::string all = "nothing was called";
    box_.collect(h, counts, Clock::now(), [&](const Mailbox::Collected& c) {
      code_ = c.failure.code;
      all = "";
      for (const std::string& p : c.pieces) all += p.substr(Mailbox::kPieceHead) + '.';
    });
    box_.tick(Clock::now(), false);
    return all;
  }

  Mailbox box_;
  bool taken_ = false;
  Code code_ = Code::ok;
};

TEST_F(MailboxTest, EachPieceOnce) {
  EXPECT_EQ(collect(0), "");
  EXPECT_EQ(post(0, "a"), Code::ok);
  EXPECT_EQ(post(0, "a"), Code::ok);
  EXPECT_TRUE(taken_);
  EXPECT_EQ(post(1, "b"), Code::ok);
  EXPECT_EQ(post(2, ""), Code::ok);
  EXPECT_EQ(post(2, ""), Code::ok);
  EXPECT_EQ(collect(0), "a.b..");
  EXPECT_EQ(collect(0), "a.b..");  // the answer was lost
  EXPECT_EQ(collect(1), "b..");
  EXPECT_EQ(collect(0), "");  // asked before, arrived after
  EXPECT_EQ(post(0, "a"), Code::ok);
  EXPECT_EQ(collect(1), "b..");
  EXPECT_EQ(post(3, "c"), Code::bad_request);  // after the end
  EXPECT_EQ(box_.bytes(), 65u);
}

TEST_F(MailboxTest, WhatTheServerDoesNotHave) {
  EXPECT_EQ(post(1, "b"), Code::bad_request);
  collect(1);
  EXPECT_EQ(code_, Code::bad_request);
  EXPECT_EQ(post(0, std::string(Mailbox::kPiece + 1, 'x')), Code::bad_request);
}

TEST_F(MailboxTest, Rounds) {
  EXPECT_EQ(post(0, "a"), Code::ok);
  EXPECT_EQ(post(0, "x", 2), Code::ok);
  EXPECT_EQ(post(0, "a"), Code::bad_request);  // late
  collect(0);
  EXPECT_EQ(code_, Code::bad_request);
  EXPECT_EQ(collect(0, 2), "x.");
}

TEST_F(MailboxTest, StrangeNumbers) {
  Header h;
  h.round = 1;
  for (const uint32_t worker : {2u, 1u << 31, UINT32_MAX}) {
    h.worker = worker;
    h.table = 1;
    EXPECT_EQ(box_.post(h, piece_of("x"), &taken_).code, Code::bad_request);
    box_.collect(h, {}, Clock::now(), [&](const auto& c) { code_ = c.failure.code; });
    EXPECT_EQ(code_, Code::bad_request);
    h.worker = 0;
    h.table = worker;
    EXPECT_EQ(box_.post(h, piece_of("x"), &taken_).code, Code::bad_request);
  }
  h.worker = 1;
  const uint64_t counts[] = {0, 0, 0};
  box_.collect(h, counts, Clock::now(), [&](const auto& c) { code_ = c.failure.code; });
  EXPECT_EQ(code_, Code::bad_request);
}

struct SmallMailbox : MailboxTest {
  SmallMailbox() : MailboxTest(0) {}
};

TEST_F(SmallMailbox, PostingWaitsForRoom) {
  const std::string half(Mailbox::kPiece / 2, 'x');
  int taken = 0;
  for (taken = 0; post(static_cast<uint64_t>(taken), half) == Code::ok && taken_; ++taken)
    ASSERT_LT(taken, 3);
  EXPECT_EQ(taken, 1);
  EXPECT_LE(box_.bytes(), Mailbox::kPiece + 64);
  EXPECT_EQ(post(1, half), Code::ok);
  EXPECT_FALSE(taken_);
  EXPECT_EQ(collect(0).size(), half.size() + 1);
  EXPECT_EQ(collect(1), "");
  EXPECT_EQ(box_.bytes(), 0u);
  EXPECT_EQ(post(1, half), Code::ok);
  EXPECT_TRUE(taken_);
}

TEST_F(SmallMailbox, SmallPiecesCountToo) {
  uint64_t n = 0;
  while (post(n, "x") == Code::ok && taken_) ASSERT_LT(++n, 100'000u);
  EXPECT_LE(n, Mailbox::kPiece / 64);
  EXPECT_EQ(post(n, ""), Code::ok);  // the end always has room
  EXPECT_TRUE(taken_);
}

// Who collects is woken by what comes, and let go when its time is over or the server leaves.
TEST_F(MailboxTest, Waiting) {
  Header h;
  h.worker = 1;
  h.round = 1;
  const uint64_t counts[] = {0, 0};
  int called = 0;
  size_t got = 0;
  const auto wait = [&](int seconds) {
    box_.collect(h, counts, Clock::now() + std::chrono::seconds(seconds),
                 [&](const Mailbox::Collected& c) {
                   ++called;
                   got += c.pieces.size();
                 });
  };
  wait(600);
  box_.tick(Clock::now(), false);
  EXPECT_EQ(called, 0);
  box_.tick(Clock::now(), true);
  EXPECT_EQ(called, 1);
  wait(0);
  box_.tick(Clock::now(), false);
  EXPECT_EQ(called, 2);
  EXPECT_EQ(got, 0u);
  wait(600);
  post(0, "a");
  EXPECT_EQ(called, 3);
  EXPECT_EQ(got, 1u);
}

}  // namespace
}  // namespace argosy::ps
