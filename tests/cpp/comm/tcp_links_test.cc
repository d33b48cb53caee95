#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>

#include "argosy/comm/net/tcp_network.h"
#include "tests/cpp/comm/world.h"

namespace argosy::comm {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string free_address() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size), 0);
  close(fd);
  return "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
}

struct Rank {
  std::shared_ptr<Network> network;
  std::unique_ptr<Links> links;
};

// Two ranks of this process.
std::vector<Rank> linked() {
  const std::string master = free_address();
  std::vector<std::future<Rank>> coming;
  for (int r = 0; r < 2; ++r)
    coming.push_back(std::async(std::launch::async, [&master, r] {
      net::TcpOptions o;
      o.rank = r;
      o.size = 2;
      o.master = master;
      o.seconds = 60;
      Rank rank;
      rank.network = net::connect_tcp_network(o, net::meet(o).store);
      rank.links = rank.network->connect(0, {0, 1}, r, 60);
      return rank;
    }));
  std::vector<Rank> ranks;
  for (auto& one : coming) ranks.push_back(one.get());
  return ranks;
}

constexpr seconds kLong{20};

size_t put(Links& links, int peer, size_t bytes) {
  std::vector<char> data(bytes, 1);
  const iovec span{data.data(), bytes};
  return links.put(Lane::collective, peer, {&span, 1});
}

size_t get(Links& links, int peer) {
  std::vector<char> data(size_t{1} << 20);
  const iovec span{data.data(), data.size()};
  return links.get(Lane::collective, peer, {&span, 1});
}

// How long rank 0 waits for bytes of rank 1.
std::chrono::steady_clock::duration waited(Links& links, size_t bytes, milliseconds limit) {
  const Channel::Wish wish{1, false, bytes};
  const auto begin = std::chrono::steady_clock::now();
  links.wait(Lane::collective, {&wish, 1}, limit);
  return std::chrono::steady_clock::now() - begin;
}

}  // namespace

// Who is woken for each packet takes the processor from who computes.
TEST(TcpLinks, WhoAwaitsMuchSleepsUntilItHasCome) {
  std::vector<Rank> ranks = linked();
  Links &mine = *ranks[0].links, &other = *ranks[1].links;
  EXPECT_EQ(put(other, 0, 100), 100u);
  EXPECT_LT(waited(mine, 1, kLong), kLong / 2);
  EXPECT_GE(waited(mine, 200, milliseconds(200)), milliseconds(190));  // half of it has come
  EXPECT_EQ(get(mine, 1), 100u);  // and can be had all the same
  EXPECT_EQ(put(other, 0, 100), 100u);
  auto later = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(milliseconds(50));
    return put(other, 0, 100);
  });
  EXPECT_LT(waited(mine, 200, kLong), kLong / 2);
  EXPECT_EQ(later.get(), 100u);
  EXPECT_EQ(get(mine, 1), 200u);
  // More than so much is not waited for.
  EXPECT_EQ(put(other, 0, 100000), 100000u);
  EXPECT_LT(waited(mine, size_t{1} << 30, kLong), kLong / 2);
  for (size_t had = 0; had < 100000;) had += get(mine, 1);
  // Few bytes after many wake it again.
  EXPECT_EQ(put(other, 0, 1), 1u);
  EXPECT_LT(waited(mine, 1, kLong), kLong / 2);
  EXPECT_EQ(get(mine, 1), 1u);
}

TEST(TcpLinks, WhoAwaitsMuchHearsThatThePeerHasEnded) {
  std::vector<Rank> ranks = linked();
  EXPECT_EQ(put(*ranks[1].links, 0, 10), 10u);
  ranks[1].links.reset();
  EXPECT_LT(waited(*ranks[0].links, 60000, kLong), kLong / 2);
  EXPECT_EQ(get(*ranks[0].links, 1), 10u);
}

}  // namespace argosy::comm
