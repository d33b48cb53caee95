#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "argosy/base/error.h"
#include "argosy/base/mutex.h"
#include "argosy/ps/service/auth.h"
#include "argosy/ps/service/certificates.h"
#include "argosy/ps/service/connections.h"
#include "argosy/ps/service/fault.h"
#include "argosy/ps/service/transport.h"
#include "argosy/ps/service/wire.h"

namespace argosy::ps {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::string_view kService = "/argosy.ps.v1.ParameterServer/";
constexpr std::string_view kNames[kMethods] = {
    "Hello", "PullSparse", "PullDense", "PushSparse", "PushDense", "Shrink", "EndDay", "Load",
    "Save",  "EndStep",    "Gather",    "Stats",      "Stop",      "Post",   "Collect"};

constexpr int kMaxCallsOfAConnection = 1024;
// Calls that each queue is ready to take before it looks again.
constexpr int kArmed = 8;

grpc::StatusCode status_of(Code code) {
  switch (code) {
    case Code::unauthenticated:
      return grpc::StatusCode::UNAUTHENTICATED;
    case Code::forbidden:
      return grpc::StatusCode::PERMISSION_DENIED;
    case Code::bad_request:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case Code::timeout:
      return grpc::StatusCode::DEADLINE_EXCEEDED;
    case Code::unsynced:
    case Code::busy:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case Code::failed:
      return grpc::StatusCode::INTERNAL;
    default:
      return grpc::StatusCode::FAILED_PRECONDITION;
  }
}

grpc::Slice slice_of(Bytes bytes) {
  const size_t size = bytes.size();
  return size ? grpc::Slice(bytes.release(), size, std::free) : grpc::Slice();
}

class GrpcListener;

struct Call;

// What gRPC hands back: an operation of a call is over, or the call itself.
struct Event {
  Call* call;
  bool whole_call;
};

struct Call {
  explicit Call(GrpcListener* listener, grpc::ServerCompletionQueue* queue)
      : listener(listener), queue(queue) {}
  Event operation{this, false}, end{this, true};
  GrpcListener* listener;
  grpc::ServerCompletionQueue* queue;
  grpc::GenericServerContext context;
  grpc::GenericServerAsyncReaderWriter stream{&context};
  grpc::ByteBuffer message;
  enum class State : uint8_t { accepting, reading, finishing };
  std::atomic<State> state{State::accepting};
  Method method = Method::hello;
  size_t bytes = 0;           // of the message, counted by the listener
  uint64_t answer_bytes = 0;  // of the answer, likewise
  Clock::time_point until;    // the caller's deadline
  Clock::time_point accepted, answered;
  std::atomic<bool> gone{false};    // nobody waits for the answer: cancelled, or no connection
  std::shared_ptr<Call> self;       // while gRPC has `operation`
  std::shared_ptr<Call> until_end;  // while it has `end`

  // Before an operation of gRPC begins; the thread that gets its event goes on.
  void hand_over(State next, const std::shared_ptr<Call>& this_call) {
    self = this_call;
    state = next;
  }
};

class GrpcListener final : public Listener {
 public:
  GrpcListener(const ServerOptions& options, Core& core)
      : core_(core),
        tokens_{options.token, options.admin_token.empty() ? options.token : options.admin_token},
        max_bytes_(options.max_message_bytes),
        max_keys_(options.max_keys),
        max_answers_(options.max_answer_bytes),
        max_calls_(options.max_calls),
        max_arriving_(options.max_arriving_calls),
        answer_deadline_(options.answer_deadline),
        message_deadline_(options.message_deadline),
        connections_(options.endpoint, options.max_connections),
        faults_(Faults::of(options.faults, 1000 + options.index)) {
    grpc::ServerBuilder builder;
    builder.RegisterAsyncGenericService(&service_);
    builder.SetMaxReceiveMessageSize(clamped(max_bytes_ + (64 << 10)));
    builder.SetMaxSendMessageSize(clamped(max_bytes_ + (64 << 10)));
    // Who connects and says nothing.
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 20'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxCallsOfAConnection);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 1 << 20);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 4 << 20);
    builder.AddChannelArgument(GRPC_ARG_TCP_READ_CHUNK_SIZE, 256 << 10);
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 64 << 10);
    builder.SetResourceQuota(
        grpc::ResourceQuota("argosy_ps").Resize(std::max<size_t>(size_t{2} << 30, 8 * max_bytes_)));
    std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
    if (!options.certificate.empty()) {
      const bool ask = !options.client_certificate_authority.empty();
      grpc::SslServerCredentialsOptions tls(
          ask ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
              : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
      if (ask)
        tls.pem_root_certs =
            read_authorities(options.client_certificate_authority, "client_certificate_authority");
      Identity own = read_identity(options.certificate, options.certificate_key);
      tls.pem_key_cert_pairs.push_back({std::move(own.key), std::move(own.chain)});
      credentials = grpc::SslServerCredentials(tls);
    }
    acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
    for (uint32_t i = 0; i < options.thread_count(); ++i)
      queues_.push_back(builder.AddCompletionQueue());
    server_ = builder.BuildAndStart();
    if (!server_) {
      for (auto& q : queues_) drain(*q);
      ARGOSY_THROW(io)
          << "[parameter_server] cannot serve on " << options.endpoint
          << ": the certificate or its key cannot be used. Do this: check certificate, "
             "certificate_key and client_certificate_authority.";
    }
    if (tokens_.worker.empty()) {
      try {
        secret_ = std::make_unique<SecretFile>(port());
      } catch (...) {
        server_->Shutdown();
        for (auto& q : queues_) drain(*q);
        throw;
      }
      tokens_ = secret_->tokens();
    }
    for (auto& q : queues_)
      for (int i = 0; i < kArmed; ++i) arm(q.get());
    for (auto& q : queues_) threads_.emplace_back([this, queue = q.get()] { serve(queue); });
    ticker_ = std::thread([this] { tick(); });
    connections_.open([this](int listener, int fd) {
      grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
      connection.listener_fd = listener;
      connection.fd = fd;
      acceptor_->HandleNewConnection(&connection);
    });
  }

  ~GrpcListener() override { stop(milliseconds(0)); }

  int port() const override { return connections_.port(); }

  bool stop(milliseconds grace) override {
    {
      MutexLock lock(mutex_);
      if (stopping_) return ended_;
      stopping_ = true;
    }
    core_.leave();
    // While the port is still held: who gets it next has a file of its own.
    if (secret_) secret_->remove();
    connections_.close();
    server_->Shutdown(std::chrono::system_clock::now() + grace);
    {
      MutexLock lock(mutex_);
      closed_ = true;
      changed_.notify_all();
    }
    ticker_.join();
    const bool core_ended = core_.stop();
    WaitLock lock(mutex_);
    // Every call has been answered, so its last event comes; but for those that a core has which
    // hangs.
    ended_ = changed_.wait_for(lock, std::chrono::seconds(core_ended ? 30 : 0),
                               [&]() ARGOSY_REQUIRES(mutex_) { return live_.empty(); }) &&
             core_ended;
    const bool ended = ended_;
    lock.unlock();
    if (!ended) {
      leak();
      return false;
    }
    for (auto& q : queues_) q->Shutdown();
    for (auto& t : threads_) t.join();
    return true;
  }

 private:
  static int clamped(uint64_t bytes) {
    return static_cast<int>(std::min<uint64_t>(bytes, INT32_MAX));
  }

  static void drain(grpc::ServerCompletionQueue& q) {
    void* tag;
    bool ok;
    q.Shutdown();
    while (q.Next(&tag, &ok)) {
    }
  }

  // A call that never ends would make gRPC abort: better to keep what it uses.
  void leak() {
    for (auto& t : threads_) t.detach();
    for (auto& q : queues_) q.release();
    server_.release();
  }

  void arm(grpc::ServerCompletionQueue* queue) {
    auto call = std::make_shared<Call>(this, queue);
    {
      MutexLock lock(mutex_);
      if (stopping_) return;
      live_.insert(call.get());
    }
    call->until_end = call;
    call->context.AsyncNotifyWhenDone(&call->end);
    call->hand_over(Call::State::accepting, call);
    service_.RequestCall(&call->context, &call->stream, queue, queue, &call->operation);
  }

  void serve(grpc::ServerCompletionQueue* queue) {
    void* tag;
    bool ok;
    while (queue->Next(&tag, &ok)) {
      const auto* event = static_cast<const Event*>(tag);
      Call* call = event->call;
      if (event->whole_call) {
        if (call->context.IsCancelled()) call->gone = true;
        const std::shared_ptr<Call> last = std::move(call->until_end);
        continue;
      }
      const Call::State state = call->state;  // orders what follows after hand_over
      const std::shared_ptr<Call> keep = std::move(call->self);
      switch (state) {
        case Call::State::accepting:
          if (ok) {
            accepted(keep);
          } else {
            call->until_end.reset();  // of a call that never began gRPC tells no end
            ended(*call);
          }
          break;
        case Call::State::reading:
          --reading_;
          ok ? arrived(keep)
             : answer(keep, {{Code::bad_request, "the message did not come, or is too large"}, {}});
          break;
        case Call::State::finishing:
          ended(*call);
      }
    }
  }

  void ended(Call& call) {
    in_flight_ -= call.bytes;
    answers_ -= call.answer_bytes;
    MutexLock lock(mutex_);
    live_.erase(&call);
    if (live_.empty()) changed_.notify_all();
  }

  // Nothing of the message has been read yet.
  void accepted(const std::shared_ptr<Call>& call) {
    arm(call->queue);
    call->accepted = Clock::now();
    call->until = until(call->context);
    const auto method = std::find_if(std::begin(kNames), std::end(kNames), [&](auto name) {
      const std::string& path = call->context.method();
      return path.size() == kService.size() + name.size() && path.rfind(kService, 0) == 0 &&
             path.compare(kService.size(), name.npos, name) == 0;
    });
    if (method == std::end(kNames))
      return answer(call, {{Code::bad_request, "there is no such method"}, {}});
    call->method = static_cast<Method>(method - std::begin(kNames));
    const auto& metadata = call->context.client_metadata();
    const auto found = metadata.find("authorization");
    if (found == metadata.end())
      return answer(call, {{Code::unauthenticated, "the client sent no token"}, {}});
    const Role role = role_of({found->second.data(), found->second.size()}, tokens_);
    if (role == Role::nobody)
      return answer(call, {{Code::unauthenticated, "the client's token is another one"}, {}});
    if (role != Role::administrator && is_administration(call->method))
      return answer(call,
                    {{Code::forbidden, "the call " + std::string(*method) +
                                           " needs the administrator's token, the client sent "
                                           "the workers'"},
                     {}});
    size_t live;
    {
      MutexLock lock(mutex_);
      live = live_.size() - std::min(live_.size(), kArmed * queues_.size());
    }
    // (Memory that messages take is bounded by this and by what the quota of gRPC lets in.)
    if (live > max_calls_ || reading_ >= max_arriving_ ||
        in_flight_ > std::max<uint64_t>(uint64_t{1} << 30, 4 * max_bytes_))
      return answer(call, {{Code::busy, "the server has too many calls in progress"}, {}});
    ++reading_;
    call->hand_over(Call::State::reading, call);
    call->stream.Read(&call->message, &call->operation);
  }

  void arrived(const std::shared_ptr<Call>& call) {
    call->bytes = call->message.Length();
    in_flight_ += call->bytes;
    if (!faults_) return handle(call, {});
    const Faults::Fate fate = faults_->draw();
    if (fate.lose_request) return lost(call);
    if (fate.delay.count() == 0) return handle(call, fate);
    MutexLock lock(mutex_);
    delayed_.push_back({Clock::now() + fate.delay, [this, call, fate] { handle(call, fate); }});
  }

  void handle(const std::shared_ptr<Call>& call, const Faults::Fate& fate) {
    Request request, again;
    request.method = again.method = call->method;
    bool understood = false;
    std::string why = "the message is not a Request of parameter_server.proto";
    {
      std::vector<grpc::Slice> slices;
      std::vector<Piece> pieces;
      try {
        if (call->message.Dump(&slices).ok()) {
          for (const grpc::Slice& s : slices)
            pieces.push_back({reinterpret_cast<const std::byte*>(s.begin()), s.size()});
          understood = decode_request(pieces, &request);
          if (fate.twice) decode_request(pieces, &again);
        }
      } catch (const std::bad_alloc&) {
        why = "the server is out of memory";
      }
    }
    call->message.Clear();
    if (!understood) return answer(call, {{Code::bad_request, std::move(why)}, {}});
    const uint64_t keys = request.keys.size() / sizeof(Key);
    // A server with other limits may have applied it.
    if (keys > max_keys_ && !core_.has_applied(request.header))
      return answer(
          call, {{Code::bad_request, "a call of " + std::to_string(keys) + " keys: the limit is " +
                                         std::to_string(max_keys_) + " (max_keys)"},
                 {}});
    if (!reserve(call, core_.answer_bytes(request))) return answer(call, unread());
    const Patience patience(call->until, Patience::Gone(call, &call->gone));
    if (fate.twice) core_.handle(std::move(again), patience, [call](const Core::Result&) {});
    core_.handle(std::move(request), patience, [this, call, fate](Core::Result result) {
      fate.lose_answer ? lost(call) : answer(call, std::move(result));
    });
  }

  // Counts what an answer takes from before it is made until gRPC is done with it: a client that
  // does not read would keep any number of them. False: there are too many, and this one must not
  // be.
  bool reserve(const std::shared_ptr<Call>& call, uint64_t bytes) {
    if (bytes <= call->answer_bytes) return true;
    const uint64_t more = bytes - call->answer_bytes;
    uint64_t before = answers_;
    do {
      if (before && before + more > max_answers_) return false;
    } while (!answers_.compare_exchange_weak(before, before + more));
    call->answer_bytes = bytes;
    return true;
  }

  Core::Result unread() const {
    return {{Code::busy, "answers that clients have not read yet take " +
                             std::to_string(answers_.load() >> 20) + " MiB, the limit is " +
                             std::to_string(max_answers_ >> 20) + " (max_answer_bytes)"},
            {}};
  }

  // From any thread, once for each call.
  void answer(const std::shared_ptr<Call>& call, Core::Result result) {
    uint64_t bytes = result.answer.values.size();
    for (const std::string& part : result.answer.parts) bytes += part.size();
    if (!result.failure && !reserve(call, bytes)) result = unread();
    if (result.failure) answers_ -= std::exchange(call->answer_bytes, 0);
    call->answered = Clock::now();
    call->hand_over(Call::State::finishing, call);
    if (result.failure) {
      const std::string details(name_of(result.failure.code));
      // Texts travel in a header, which has a limit.
      if (result.failure.text.size() > 4096) result.failure.text.resize(4096);
      call->stream.Finish({status_of(result.failure.code), result.failure.text, details},
                          &call->operation);
      return;
    }
    const Encoded e = encode_answer(result.answer);
    const grpc::Slice slices[] = {grpc::Slice(e.head), slice_of(std::move(result.answer.values))};
    const grpc::ByteBuffer message(slices, slices[1].size() ? 2 : 1);
    call->stream.WriteAndFinish(message, grpc::WriteOptions(), grpc::Status::OK, &call->operation);
  }

  // Never answered; ended when nobody waits any more.
  void lost(const std::shared_ptr<Call>& call) {
    WaitLock lock(mutex_);
    if (stopping_) {
      lock.unlock();
      return answer(call, {{Code::timeout, "lost on purpose"}, {}});
    }
    delayed_.push_back({call->until, [this, call] {
                          answer(call, {{Code::timeout, "lost on purpose"}, {}});
                        }});
  }

  void tick() {
    WaitLock lock(mutex_);
    while (true) {
      const bool stopping = stopping_;
      const Clock::time_point now = Clock::now();
      std::vector<std::function<void()>> due;
      std::erase_if(delayed_, [&](auto& one) {
        if (!stopping && one.first > now) return false;
        due.push_back(std::move(one.second));
        return true;
      });
      for (Call* call : live_)
        if (is_late(*call, now)) call->context.TryCancel();
      lock.unlock();
      for (const auto& f : due) f();
      due.clear();
      core_.tick();
      lock.lock();
      if (closed_ && delayed_.empty()) return;
      if (!closed_) changed_.wait_for(lock, milliseconds(faults_ ? 5 : 20));
    }
  }

  bool is_late(const Call& call, Clock::time_point now) const {
    switch (call.state.load()) {
      case Call::State::reading:
        return now - call.accepted > message_deadline_;
      case Call::State::finishing:
        return now - call.answered > answer_deadline_;
      default:
        return false;
    }
  }

  static Clock::time_point until(const grpc::ServerContext& context) {
    const gpr_timespec left =
        gpr_time_sub(gpr_convert_clock_type(context.raw_deadline(), GPR_CLOCK_MONOTONIC),
                     gpr_now(GPR_CLOCK_MONOTONIC));
    const auto ms = std::clamp<int64_t>(gpr_time_to_millis(left), 0, 3'600'000);
    return Clock::now() + milliseconds(ms);
  }

  Core& core_;
  Tokens tokens_;
  const uint64_t max_bytes_, max_keys_, max_answers_;
  const uint32_t max_calls_, max_arriving_;
  const milliseconds answer_deadline_, message_deadline_;
  Connections connections_;
  std::unique_ptr<SecretFile> secret_;  // of tokens that this server made
  const std::unique_ptr<Faults> faults_;
  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues_;
  std::vector<std::thread> threads_;
  std::thread ticker_;
  std::atomic<uint32_t> reading_{0};
  std::atomic<uint64_t> in_flight_{0}, answers_{0};  // bytes

  Mutex mutex_;
  CondVar changed_;
  std::set<Call*> live_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<std::pair<Clock::time_point, std::function<void()>>> delayed_
      ARGOSY_GUARDED_BY(mutex_);
  bool stopping_ ARGOSY_GUARDED_BY(mutex_) = false;  // no new calls
  bool ended_ ARGOSY_GUARDED_BY(mutex_) = false;     // and none is left
  bool closed_ ARGOSY_GUARDED_BY(mutex_) = false;    // gRPC hands out nothing more
};

}  // namespace

std::unique_ptr<Listener> listen(const ServerOptions& options, Core& core) {
  mark_used();
  return std::make_unique<GrpcListener>(options, core);
}

}  // namespace argosy::ps
