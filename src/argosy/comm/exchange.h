#pragma once

#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/comm/channel.h"
#include "argosy/comm/pieces.h"
#include "argosy/comm/staging.h"
#include "argosy/comm/work.h"
#include "argosy/tensor/tensor.h"

namespace argosy::comm {

// A message from one rank to another: a header, then the bytes. Messages of an ordered pair come in
// the order in which they were sent; nothing else has an order, so exchanges in any order of calls
// end as long as they are asynchronous. A message that fits into the ring is sent before anybody
// receives it.
struct Transfer {
  bool sending = false;
  int peer = 0;
  Header header;
  Pieces data;
  std::vector<Tensor> keep;  // owns the bytes
  Tensor target;             // gets staging's values at the end, if defined
  Tensor staging;
  Staging devices;
  double seconds = 300;  // most without progress, once it is this transfer's turn
  uint64_t record = 0;
  std::shared_ptr<Work> work;

  size_t moved = 0;  // bytes, the header's included
  Header arrived;    // receiving: what the sender says of it
  bool begun = false;
  Clock::time_point until;
};

// The transfers of one rank of a group. They are moved by whoever drives: a caller that waits for
// its own, else a thread that starts with the first asynchronous one.
class Exchange {
 public:
  explicit Exchange(std::shared_ptr<Channel> channel);
  ~Exchange();
  // Ends what is pending by an error and returns when nobody moves anything any more.
  void close();
  bool idle_now();

  void start(std::shared_ptr<Transfer> transfer);  // its work says when it has ended
  void run(std::shared_ptr<Transfer> transfer);    // throws what ended it

 private:
  using Pending = std::deque<std::shared_ptr<Transfer>>;
  // Until `mine` has ended; null: until nothing is pending.
  void drive(const Transfer* mine);
  // Moves what can be moved, ends what is done; whether anything moved.
  bool advance() ARGOSY_REQUIRES(mutex_);
  bool move(Transfer& t);
  // Compares what has come with what is expected, before a byte of the message is taken.
  void check_header(const Transfer& t);
  void end(Transfer& t, std::exception_ptr error);
  // Limits, failures and ranks that have left; `due`: processes that have ended, too.
  void check_waiting(bool due) ARGOSY_REQUIRES(mutex_);
  // What has to happen before anything moves again.
  std::vector<Channel::Wish> wishes() ARGOSY_REQUIRES(mutex_);
  void add(std::shared_ptr<Transfer> transfer) ARGOSY_REQUIRES(mutex_);
  void loop();
  void wake_thread() ARGOSY_REQUIRES(mutex_);
  [[noreturn]] void fail_waiting(const Transfer& t, Failure failure);

  std::shared_ptr<Channel> channel_;
  Mutex mutex_;
  CondVar changed_;
  Pending pending_ ARGOSY_GUARDED_BY(mutex_);
  bool driven_ ARGOSY_GUARDED_BY(mutex_) = false;
  bool closing_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::thread thread_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::comm
