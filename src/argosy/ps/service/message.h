#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "argosy/base/export.h"

// What clients and servers say to each other, apart from how it travels (wire.h, transport.h).
// The meaning of fields is in parameter_server.proto.
namespace argosy::ps {

// Bytes of one owner, not initialized.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(size_t size) : data_(size ? std::malloc(size) : nullptr), size_(size) {
    if (size && !data_) throw std::bad_alloc();
  }
  std::byte* data() const { return static_cast<std::byte*>(data_.get()); }
  size_t size() const { return size_; }
  std::span<const std::byte> span() const { return {data(), size_}; }
  template <class T>
  std::span<T> as() const {
    return {static_cast<T*>(data_.get()), size_ / sizeof(T)};
  }
  // To be freed with std::free.
  void* release() {
    size_ = 0;
    return data_.release();
  }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> data_;
  size_t size_ = 0;
};

using Piece = std::span<const std::byte>;

enum class Method : uint8_t {
  hello,
  pull_sparse,
  pull_dense,
  push_sparse,
  push_dense,
  shrink,
  end_day,
  load,
  save,
  end_step,
  gather,
  stats,
  stop,
  post,
  collect,
};
constexpr int kMethods = 15;

enum class Change : uint8_t { add, assign, step };
// What workers meet for: each other's texts, only to meet, or to meet for the last time.
enum class Gather : int32_t { parts, barrier, last };
enum class SavePhase : uint8_t { whole, prepare, pause, finish, publish, cancel, reserve, keep };

struct ClientId {
  uint64_t high = 0, low = 0;
  auto operator<=>(const ClientId&) const = default;
};

// The fields of a header, X(type, name, default): what the struct has, and what wire.cc copies to
// and from the message of parameter_server.proto, whose fields have the same names and say what
// they mean.
#define ARGOSY_PS_HEADER(X)             \
  X(uint64_t, client_high, 0)           \
  X(uint64_t, client_low, 0)            \
  X(uint64_t, epoch, 0)                 \
  X(uint64_t, incarnation, 0)           \
  X(uint64_t, sequence, 0)              \
  X(uint32_t, attempt, 0)               \
  X(uint32_t, worker, 0)                \
  X(uint32_t, workers, 1)               \
  X(uint32_t, server, 0)                \
  X(uint32_t, servers, 1)               \
  X(uint32_t, table, 0)                 \
  X(float, learning_rate, -1)           \
  X(Change, change, Change::add)        \
  X(bool, create, false)                \
  X(uint64_t, step, 0)                  \
  X(uint64_t, round, 0)                 \
  X(int32_t, mode, 0)                   \
  X(uint32_t, wait_ms, 0)               \
  X(std::string, name, {})              \
  X(std::string, text, {})              \
  X(SavePhase, phase, SavePhase::whole) \
  X(uint32_t, only, 0)                  \
  X(float, share, 1)                    \
  X(uint64_t, save, 0)                  \
  X(uint64_t, retry_ms, 0)

struct Header {
#define ARGOSY_PS_FIELD(type, name, value) type name = value;
  ARGOSY_PS_HEADER(ARGOSY_PS_FIELD)
#undef ARGOSY_PS_FIELD
  ClientId client() const {
    return {client_high, client_low};
  }
  void set_client(ClientId id) {
    client_high = id.high, client_low = id.low;
  }
};

struct Request {
  Method method = Method::hello;
  Header header;
  Bytes keys, values;
};

struct TableShape {
  uint32_t id = 0;
  bool dense = false;
  uint32_t pull_width = 0, push_width = 0;  // sparse
  uint64_t size = 0;                        // dense: of the part here
};

struct Answer {
  uint64_t number = 0, epoch = 0, incarnation = 0, next_step = 0, next_round = 0;
  bool step_open = false;  // the step before next_step waits for other workers
  std::string text;
  std::vector<std::string> parts;
  std::vector<TableShape> tables;
  Bytes values;
};

// Why a call failed. The names travel, so they are part of the protocol.
enum class Code : uint8_t {
  ok,
  bad_request,      // not understood, or against a limit
  unauthenticated,  // wrong or missing token
  forbidden,        // the call is the administrator's
  mismatch,         // configurations differ
  unknown_client,   // say hello first: the server is new, or forgot an idle client
  stale_epoch,      // the servers were sharded anew
  too_old,          // the sequence number left the window: nobody knows whether it was applied
  timeout,          // others did not come in time
  busy,             // try again (of a client: no connection)
  unsynced,         // applied, but the disk refuses it for now: asked again, it may be there
  failed,           // disk, memory, or a defect of the server
  silent,           // of a client: no answer yet
};
ARGOSY_API std::string_view name_of(Code code);
ARGOSY_API Code code_of(std::string_view name);  // failed for unknown names

struct Failure {
  Code code = Code::ok;
  std::string text;
  explicit operator bool() const { return code != Code::ok; }
};

}  // namespace argosy::ps
