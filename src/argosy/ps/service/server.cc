#include "argosy/ps/service/server.h"
#include "argosy/base/mutex.h"

#include "argosy/base/error.h"
#include "argosy/ps/service/auth.h"
#include "argosy/ps/service/transport.h"

namespace argosy::ps {
namespace {

class GrpcServer final : public Server {
 public:
  explicit GrpcServer(const ServerOptions& options) : core_(std::make_unique<Core>(options)) {
    core_->on_stop([this] {
      MutexLock lock(mutex_);
      asked_ = true;
      changed_.notify_all();
    });
    listener_ = listen(options, *core_);
  }

  ~GrpcServer() override {
    // In a forked child none of the threads exists: nothing can be ended.
    if (forked()) {
      (void)listener_.release();
      (void)core_.release();
      return;
    }
    stop();
    if (!hangs_) return;
    (void)listener_.release();
    (void)core_.release();
  }

  int port() const override { return listener_->port(); }

  void wait() override {
    {
      WaitLock lock(mutex_);
      changed_.wait(lock, [&]() ARGOSY_REQUIRES(mutex_) { return asked_; });
    }
    stop();
  }

  bool wait_for(std::chrono::milliseconds limit) override {
    {
      WaitLock lock(mutex_);
      if (!changed_.wait_for(lock, limit, [&]() ARGOSY_REQUIRES(mutex_) { return asked_; }))
        return false;
    }
    stop();
    return true;
  }

  void stop() override {
    {
      MutexLock lock(mutex_);
      asked_ = true;
      changed_.notify_all();
    }
    // Who comes second waits for the first.
    MutexLock stopping(stopping_);
    if (!listener_->stop(std::chrono::seconds(5))) hangs_ = true;
  }

  std::string stats() override { return core_->stats(); }

 private:
  std::unique_ptr<Core> core_;
  std::unique_ptr<Listener> listener_;
  Mutex stopping_;
  // In a call that nobody can end; what it uses stays.
  bool hangs_ ARGOSY_GUARDED_BY(stopping_) = false;
  Mutex mutex_;
  CondVar changed_;
  bool asked_ ARGOSY_GUARDED_BY(mutex_) = false;
};

}  // namespace

Server::~Server() = default;

std::unique_ptr<Server> serve(const ServerOptions& options) {
  ARGOSY_CHECK(!forked(), runtime)
      << "[parameter_server] this process was forked from one that used the parameter server, "
         "whose "
         "threads it does not have. Do this: start processes with spawn, or fork before.";
  check_exposure(options);
  return std::make_unique<GrpcServer>(options);
}

}  // namespace argosy::ps
