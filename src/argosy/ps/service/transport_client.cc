#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "argosy/base/error.h"
#include "argosy/base/mutex.h"
#include "argosy/ps/service/auth.h"
#include "argosy/ps/service/certificates.h"
#include "argosy/ps/service/fault.h"
#include "argosy/ps/service/transport.h"
#include "argosy/ps/service/wire.h"

namespace argosy::ps {
namespace {

using std::chrono::milliseconds;

constexpr const char* kPaths[kMethods] = {
    "/argosy.ps.v1.ParameterServer/Hello",     "/argosy.ps.v1.ParameterServer/PullSparse",
    "/argosy.ps.v1.ParameterServer/PullDense", "/argosy.ps.v1.ParameterServer/PushSparse",
    "/argosy.ps.v1.ParameterServer/PushDense", "/argosy.ps.v1.ParameterServer/Shrink",
    "/argosy.ps.v1.ParameterServer/EndDay",    "/argosy.ps.v1.ParameterServer/Load",
    "/argosy.ps.v1.ParameterServer/Save",      "/argosy.ps.v1.ParameterServer/EndStep",
    "/argosy.ps.v1.ParameterServer/Gather",    "/argosy.ps.v1.ParameterServer/Stats",
    "/argosy.ps.v1.ParameterServer/Stop",      "/argosy.ps.v1.ParameterServer/Post",
    "/argosy.ps.v1.ParameterServer/Collect"};

// gRPC's deadlines by the clock that nobody sets.
gpr_timespec deadline_of(milliseconds from_now) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_millis(from_now.count(), GPR_TIMESPAN));
}

// gRPC may keep a slice for some time after the call has ended, and frees it from any thread.
struct Kept {
  explicit Kept(const std::shared_ptr<const Bytes>& b) : bytes(b) {
    made.store(true, std::memory_order_release);
  }
  std::shared_ptr<const Bytes> bytes;
  std::atomic<bool> made{false};  // orders the end after the beginning as a sanitizer sees it
};

grpc::Slice slice_of(const std::shared_ptr<const Bytes>& bytes) {
  const auto end = [](void* p) {
    auto* kept = static_cast<Kept*>(p);
    if (kept->made.load(std::memory_order_acquire)) delete kept;
  };
  return grpc::Slice(bytes->data(), bytes->size(), end, new Kept(bytes));
}

Failure failure_of(const grpc::Status& s) {
  const std::string text = s.error_message();
  if (!s.error_details().empty()) return {code_of(s.error_details()), text};
  switch (s.error_code()) {
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return {Code::silent, "it does not answer"};
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::UNIMPLEMENTED:
    case grpc::StatusCode::OUT_OF_RANGE:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return {Code::bad_request, text};
    default:  // a connection that could not be made, or broke
      return {Code::busy, text};
  }
}

// What calls to one server say of who asks.
class Credentials {
 public:
  Credentials(const ClientOptions& options, const std::string& endpoint)
      : given_(!options.token.empty() || !options.admin_token.empty()),
        local_(is_loopback(endpoint)),
        port_(std::atoi(endpoint.substr(endpoint.rfind(':') + 1).c_str())) {
    tokens_.worker = options.token.empty() ? options.admin_token : options.token;
    tokens_.admin = options.admin_token.empty() ? options.token : options.admin_token;
  }

  // Where none was given: looks for those that the server left; throws as find_tokens does.
  void look() {
    if (given_ || !local_) return;
    MutexLock lock(mutex_);
    if (tokens_.worker.empty()) tokens_ = find_tokens(port_).value_or(Tokens());
  }

  std::string token(Method method) const {
    MutexLock lock(mutex_);
    return is_administration(method) ? tokens_.admin : tokens_.worker;
  }

  // After `refused` was not the right token: Code::busy if there is another one by now, since the
  // server was started (anew) meanwhile.
  Failure refused(Method method, const std::string& refused, Failure why) {
    if (given_ || !local_) return why;
    MutexLock lock(mutex_);
    try {
      tokens_ = find_tokens(port_).value_or(Tokens());
    } catch (const Error& e) {
      return {why.code, why.text + "; " + e.what()};
    }
    if ((is_administration(method) ? tokens_.admin : tokens_.worker) != refused)
      return {Code::busy, "the server has just started"};
    return {why.code,
            why.text + " (the server left none for this user in " + token_folders() + ')'};
  }

 private:
  const bool given_, local_;
  const int port_;
  mutable Mutex mutex_;
  Tokens tokens_ ARGOSY_GUARDED_BY(mutex_);
};

class GrpcTransport final : public Transport {
 public:
  explicit GrpcTransport(const ClientOptions& options)
      : faults_(Faults::of(options.faults, options.worker)) {
    check_exposure(options);
    for (const std::string& endpoint : options.endpoints)
      credentials_.push_back(std::make_unique<Credentials>(options, endpoint));
    std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
    if (!options.certificate_authority.empty()) {
      grpc::SslCredentialsOptions tls;
      tls.pem_root_certs = read_authorities(options.certificate_authority, "certificate_authority");
      if (!options.certificate.empty()) {
        Identity own = read_identity(options.certificate, options.certificate_key);
        tls.pem_cert_chain = std::move(own.chain);
        tls.pem_private_key = std::move(own.key);
      }
      credentials = grpc::SslCredentials(tls);
    }
    per_server_ = std::clamp(options.channels, 1u, 16u);
    for (const std::string& endpoint : options.endpoints)
      for (uint32_t i = 0; i < per_server_; ++i) {
        grpc::ChannelArguments a;
        a.SetMaxReceiveMessageSize(-1);
        a.SetMaxSendMessageSize(-1);
        a.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // Client does
        a.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
        a.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // one connection each
        // From one attempt to connect to the next; gRPC takes no less than 100.
        a.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
        a.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
        // In spite of its name: what one attempt may take, the handshake of TLS included.
        a.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1'000);
        a.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
        a.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
        a.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 1 << 20);
        a.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 4 << 20);
        a.SetInt(GRPC_ARG_TCP_READ_CHUNK_SIZE, 256 << 10);
        channels_.push_back(grpc::CreateCustomChannel(endpoint, credentials, a));
        stubs_.push_back(std::make_unique<grpc::GenericStub>(channels_.back()));
      }
  }

  ~GrpcTransport() override {
    for (auto& q : queues_) {
      q->Shutdown();
      void* tag;
      bool ok;
      while (q->Next(&tag, &ok)) {
      }
    }
  }

  void run(std::span<Exchange*> exchanges, milliseconds attempt) override {
    // Before anything is on its way: this may throw.
    for (const Exchange* x : exchanges) credentials_[x->server]->look();
    std::unique_ptr<grpc::CompletionQueue> queue = take_queue();
    const Clock::time_point end = Clock::now() + attempt;
    for (const Exchange* x : exchanges) await_connection(*x, end);
    std::vector<std::unique_ptr<Call>> calls;
    std::vector<Later> later;
    size_t open = exchanges.size();  // without an outcome
    size_t events = 0;               // that will come
    const auto send = [&](Exchange* x, bool echo, bool lose_answer) {
      const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
      if (left.count() <= 0) return;
      calls.push_back(start(*x, left, queue.get()));
      calls.back()->echo = echo;
      calls.back()->lose_answer = lose_answer;
      ++events;
    };
    for (Exchange* x : exchanges) {
      x->failure = {Code::silent, "it does not answer"};
      ++x->attempts;
      if (!faults_) {
        send(x, false, false);
        continue;
      }
      const Faults::Fate fate = faults_->draw();
      if (fate.lose_request) continue;
      later.push_back({Clock::now() + fate.delay, x, fate.lose_answer, fate.twice});
    }
    while (open) {
      Clock::time_point wake = end;
      std::erase_if(later, [&](const Later& l) {
        if (l.when > Clock::now()) {
          wake = std::min(wake, l.when);
          return false;
        }
        send(l.exchange, false, l.lose_answer);
        if (l.twice) send(l.exchange, true, true);
        return true;
      });
      const auto left = std::chrono::duration_cast<milliseconds>(wake - Clock::now());
      void* tag = nullptr;
      bool ok;
      // The queue ends calls at their deadline, so this one is a little later.
      const auto wait = std::max(left, milliseconds(0)) + milliseconds(wake == end ? 100 : 1);
      const auto got = queue->AsyncNext(&tag, &ok, deadline_of(wait));
      if (got == grpc::CompletionQueue::TIMEOUT) {
        if (Clock::now() >= end) break;
        continue;
      }
      --events;
      auto* call = static_cast<Call*>(tag);
      if (call->echo || call->lose_answer) continue;
      --open;
      finish(call);
    }
    for (auto& call : calls)
      if (!call->done) call->context.TryCancel();
    for (; events; --events) {
      void* tag;
      bool ok;
      queue->Next(&tag, &ok);
    }
    give_queue(std::move(queue));
  }

  uint64_t bytes_sent() const override { return sent_; }
  uint64_t bytes_received() const override { return received_; }

 private:
  struct Call {
    Exchange* exchange;
    grpc::ClientContext context;
    std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
    grpc::ByteBuffer message;
    grpc::Status status;
    std::string token;
    bool echo = false, lose_answer = false, done = false;
  };
  struct Later {
    Clock::time_point when;
    Exchange* exchange;
    bool lose_answer, twice;
  };

  // The connection of this thread to a server.
  size_t channel_of(const Exchange& x) const {
    static std::atomic<uint32_t> threads{0};
    static thread_local const uint32_t thread = threads++;
    return x.server * per_server_ + thread % per_server_;
  }

  // Lets a connection come to be that is not there yet, or broke. gRPC gets on with it only while
  // somebody waits in one of its queues: calls that fail at once and a pause between them would
  // leave it where it is. A call without a connection is sent all the same, to fail with the
  // reason.
  void await_connection(const Exchange& x, Clock::time_point end) {
    const bool hello = x.method == Method::hello;
    if (!hello && (!x.attempts || x.method == Method::stop)) return;
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    channels_[channel_of(x)]->WaitForConnected(
        deadline_of(std::min(left / 2, hello ? milliseconds(2'000) : milliseconds(300))));
  }

  std::unique_ptr<Call> start(Exchange& x, milliseconds left, grpc::CompletionQueue* queue) {
    auto call = std::make_unique<Call>();
    call->exchange = &x;
    call->context.set_deadline(deadline_of(left));
    call->token = credentials_[x.server]->token(x.method);
    if (!call->token.empty())
      call->context.AddMetadata("authorization", authorization_of(call->token));
    x.header.attempt = x.attempts - 1;
    const size_t keys = x.keys ? x.keys->size() : 0, values = x.values ? x.values->size() : 0;
    const Encoded e = encode_request(x.header, keys, values);
    grpc::Slice slices[4];
    size_t n = 0;
    slices[n++] = grpc::Slice(e.head);
    if (keys) slices[n++] = slice_of(x.keys);
    if (!e.before_last.empty()) slices[n++] = grpc::Slice(e.before_last);
    if (values) slices[n++] = slice_of(x.values);
    const grpc::ByteBuffer message(slices, n);
    sent_.fetch_add(message.Length(), std::memory_order_relaxed);
    call->reader = stubs_[channel_of(x)]->PrepareUnaryCall(
        &call->context, kPaths[static_cast<int>(x.method)], message, queue);
    call->reader->StartCall();
    call->reader->Finish(&call->message, &call->status, call.get());
    return call;
  }

  void finish(Call* call) {
    call->done = true;
    Exchange& x = *call->exchange;
    if (!call->status.ok()) {
      x.failure = failure_of(call->status);
      if (x.failure.code == Code::unauthenticated)
        x.failure = credentials_[x.server]->refused(x.method, call->token, std::move(x.failure));
      return;
    }
    received_.fetch_add(call->message.Length(), std::memory_order_relaxed);
    std::vector<grpc::Slice> slices;
    std::vector<Piece> pieces, values;
    if (call->message.Dump(&slices).ok())
      for (const grpc::Slice& s : slices)
        pieces.push_back({reinterpret_cast<const std::byte*>(s.begin()), s.size()});
    x.failure = {};
    if (!decode_answer(pieces, &x.answer, &values))
      x.failure = {Code::failed, "its answer is not one of parameter_server.proto"};
    else if (x.take && !x.take(values))
      x.failure = {Code::failed, "its answer has a wrong number of values"};
  }

  std::unique_ptr<grpc::CompletionQueue> take_queue() {
    MutexLock lock(mutex_);
    if (queues_.empty()) return std::make_unique<grpc::CompletionQueue>();
    auto queue = std::move(queues_.back());
    queues_.pop_back();
    return queue;
  }
  void give_queue(std::unique_ptr<grpc::CompletionQueue> queue) {
    MutexLock lock(mutex_);
    queues_.push_back(std::move(queue));
  }

  std::vector<std::unique_ptr<Credentials>> credentials_;  // of each server
  const std::unique_ptr<Faults> faults_;
  uint32_t per_server_ = 1;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;   // per_server_ for each server
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;  // of each
  std::atomic<uint64_t> sent_{0}, received_{0};
  Mutex mutex_;
  // Not in use.
  std::vector<std::unique_ptr<grpc::CompletionQueue>> queues_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Transport> make_transport(const ClientOptions& options) {
  mark_used();
  return std::make_unique<GrpcTransport>(options);
}

}  // namespace argosy::ps
