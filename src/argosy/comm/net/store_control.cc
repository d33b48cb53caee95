#include "argosy/comm/net/store_control.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "argosy/comm/net/store_server.h"

namespace argosy::comm::net {

namespace {

Control::Notice notice_of(const std::string& value) {
  return {static_cast<Failure>(value.empty() ? 0 : value[0]), value.empty() ? "" : value.substr(1)};
}

}  // namespace

void StoreControl::Heard::keep(uint32_t group, Notice notice) {
  MutexLock lock(mutex);
  auto& first = failures[group];
  if (!first) first = std::make_shared<const Notice>(std::move(notice));
  any = true;
}

void StoreControl::Heard::change(const std::string& key, const std::string& value) {
  unsigned group = 0;
  int rank = 0;
  if (std::sscanf(key.c_str(), "failure/%u", &group) == 1) {
    keep(group, notice_of(value));
  } else if (std::sscanf(key.c_str(), "left/%u/%d", &group, &rank) == 2) {
    MutexLock lock(mutex);
    left.emplace(group, rank);
  }
}

// !JOB/failure/GROUP, !JOB/left/GROUP/RANK; JOB/waits/GROUP/RANK, of which nobody is told.
std::string StoreControl::key_of(const char* kind, uint32_t group) const {
  return job_ + '/' + kind + std::to_string(group);
}

StoreControl::StoreControl(std::shared_ptr<StoreClient> store, const std::string& job, int rank)
    : store_(std::move(store)),
      job_(job),
      rank_(rank),
      process_(getpid()),
      heard_(std::make_shared<Heard>()) {
  StoreClient::Listener listener;
  listener.changed = [heard = heard_, of_job = kNews + job + '/'](const std::string& key,
                                                                  const std::string& value) {
    if (key.rfind(of_job, 0) == 0) heard->change(key.substr(of_job.size()), value);
  };
  listener.gone = [heard = heard_](int rank, bool silent) {
    MutexLock lock(heard->mutex);
    heard->gone.emplace(rank, silent);
  };
  listener.lost = [heard = heard_, at = print_address(store_->address())](const std::string& why) {
    Message m;
    m << "[init_parallel_env] the job's store at " << at << " is lost: " << why
      << "; so nobody can say which ranks live. Do this: see what rank 0 and its launcher wrote "
         "last"
         ", and the network to their host.";
    MutexLock lock(heard->mutex);
    heard->lost = std::make_shared<const Notice>(Notice{Failure::lost, m.str()});
    heard->any = true;
  };
  store_->watch(rank, std::move(listener));
}

StoreControl::~StoreControl() {
  if (process_ == getpid()) store_->bye();
}

void StoreControl::post(uint32_t group, Failure failure, const std::string& text) noexcept {
  try {
    const std::string mine = static_cast<char>(failure) + text;
    heard_->keep(group, notice_of(store_->set_once(kNews + key_of("failure/", group), mine)));
  } catch (...) {  // without a store this rank's own text has to do
    heard_->keep(group, {failure, text});
  }
}

std::shared_ptr<const Control::Notice> StoreControl::failure(uint32_t group) const {
  if (!heard_->any) [[likely]]
    return nullptr;
  MutexLock lock(heard_->mutex);
  const auto it = heard_->failures.find(group);
  return it == heard_->failures.end() ? heard_->lost : it->second;
}

void StoreControl::leave(uint32_t group) noexcept {
  try {
    store_->set(kNews + key_of("left/", group) + '/' + std::to_string(rank_), "");
  } catch (...) {  // the others see that its links end
  }
}

bool StoreControl::left(uint32_t group, int rank) const {
  MutexLock lock(heard_->mutex);
  return heard_->left.count({group, rank}) > 0;
}

bool StoreControl::gone(int rank) const {
  MutexLock lock(heard_->mutex);
  return heard_->gone.count(rank) > 0;
}

double StoreControl::silence(int rank) const {
  MutexLock lock(heard_->mutex);
  const auto it = heard_->gone.find(rank);
  const bool silent = it != heard_->gone.end() && it->second;
  return silent ? std::chrono::duration<double>(StoreServer::kSilent).count() : 0;
}

void StoreControl::refresh() noexcept {
  try {
    store_->ping();
  } catch (...) {  // what is known has to do
  }
}

void StoreControl::waits(uint32_t group, uint64_t sequence) noexcept {
  try {
    store_->set(key_of("waits/", group) + '/' + std::to_string(rank_), std::to_string(sequence));
  } catch (...) {
  }
}

std::vector<Control::Waiting> StoreControl::waiting(uint32_t group) noexcept {
  std::vector<Waiting> out;
  try {
    const std::string prefix = key_of("waits/", group) + '/';
    for (const auto& [key, value] : store_->list(prefix))
      out.push_back(
          {std::atoi(key.c_str() + prefix.size()), std::strtoull(value.c_str(), nullptr, 10)});
  } catch (...) {
  }
  return out;
}

}  // namespace argosy::comm::net
