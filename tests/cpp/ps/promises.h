#pragma once

#include <chrono>
#include <filesystem>
#include <future>
#include <map>

#include "argosy/ps/service/server_core.h"
#include "tests/cpp/ps/recovery_host.h"

// The server of the tests of promises.
namespace argosy::ps {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr ClientId kOne{1, 1}, kTwo{2, 2}, kThree{3, 3};

// A server without sockets that keeps a log, with rows that add up what is pushed.
class Promises : public WithDirectory {
 protected:
  void SetUp() override {
    WithDirectory::SetUp();
    options_.tables = {sum_table(0, "sparse"), sum_table(1, "dense", 6)};
    options_.durability = "log";
    options_.directory = directory_ + "/state";
    options_.save_roots = {directory_};
  }
  void TearDown() override {
    core_.reset();
    WithDirectory::TearDown();
  }

  void start(std::initializer_list<ClientId> clients = {kOne}) {
    core_ = std::make_unique<Core>(options_);
    for (const ClientId client : clients) greet(client);
  }
  // The server as kill -9 leaves it and a new one finds it, elsewhere.
  void kill_and_start(std::initializer_list<ClientId> clients = {kOne}) {
    const std::string next = directory_ + "/again-" + std::to_string(++kills_);
    copy_as_it_stands(directory_ + "/" + at_, next);
    core_.reset();
    at_ = next.substr(directory_.size() + 1);
    options_.directory = next;
    for (TableConfig& t : options_.tables)
      if (t.tier == "ssd") t.directory = next + "/db";
    start(clients);
  }
  // What a snapshot in the background writes and removes meanwhile would make a mix of two moments.
  static void copy_as_it_stands(const std::string& from, const std::string& to) {
    const auto files = [&] {
      std::map<std::string, std::pair<fs::file_time_type, uintmax_t>> found;
      for (const auto& entry : fs::recursive_directory_iterator(from))
        found[entry.path()] = {entry.last_write_time(),
                               entry.is_regular_file() ? entry.file_size() : 0};
      return found;
    };
    for (const auto end = Core::Clock::now() + seconds(60);; fs::remove_all(to)) {
      try {
        const auto before = files();
        fs::copy(from, to, fs::copy_options::recursive);
        if (files() == before) return;
      } catch (const fs::filesystem_error&) {
        // A file went.
      }
      ASSERT_LT(Core::Clock::now(), end) << from << " changes all the time.";
    }
  }
  Core::Result greet(ClientId client, uint32_t worker = 0, uint64_t next = 1,
                     uint64_t incarnation = 0) {
    Request r = request(Method::hello, client, worker);
    r.header.sequence = next;
    r.header.incarnation = incarnation;
    Core::Result result = call(std::move(r));
    EXPECT_FALSE(result.failure) << result.failure.text;
    return result;
  }

  Request request(Method method, ClientId client, uint32_t worker = 0) const {
    Request r;
    r.method = method;
    r.header.set_client(client);
    r.header.epoch = core_->epoch();
    r.header.workers = options_.workers;
    r.header.worker = worker;
    r.header.wait_ms = 25;  // a busy server has noted the request by then
    return r;
  }
  Request push(ClientId client, uint64_t sequence, const std::vector<Key>& keys, float value = 1,
               Change change = Change::add) const {
    Request r = request(Method::push_sparse, client);
    r.header.sequence = sequence;
    r.header.change = change;
    r.keys = Bytes(8 * keys.size());
    std::copy(keys.begin(), keys.end(), r.keys.as<Key>().begin());
    r.values = Bytes(8 * keys.size());
    for (float& v : r.values.as<float>()) v = value;
    return r;
  }
  Request whole(Method method, ClientId client, uint64_t sequence,
                const std::string& directory = "") const {
    Request r = request(method, client);
    r.header.sequence = sequence;
    r.header.name = directory;
    return r;
  }
  Core::Result call(Request r) const {
    auto promise = std::make_shared<std::promise<Core::Result>>();
    core_->handle(std::move(r), Core::Clock::now() + seconds(10),
                  [promise](Core::Result result) { promise->set_value(std::move(result)); });
    auto future = promise->get_future();
    while (future.wait_for(milliseconds(1)) != std::future_status::ready) core_->tick();
    return future.get();
  }
  Code code(Request r) const { return call(std::move(r)).failure.code; }
  float value(Key key) const {
    Request r = request(Method::pull_sparse, kOne);
    r.keys = Bytes(8);
    r.keys.as<Key>()[0] = key;
    const Core::Result result = call(std::move(r));
    EXPECT_FALSE(result.failure) << result.failure.text;
    return result.answer.values.as<float>()[0];
  }

  ServerOptions options_;
  std::unique_ptr<Core> core_;
  std::string at_ = "state";
  int kills_ = 0;
};

}  // namespace argosy::ps
