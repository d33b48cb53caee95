// NCCL's functions between threads of one process, on memory of the host: as libnccl.so.2 for tests
// of what calls them. It looks at what each rank passes, and refuses what NCCL would: another
// order, count, dtype, op or root than the others', a stream that is none, a communicator that is
// gone.
//
// A call returns ncclInProgress where it may, as communicators that do not block do.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#define API extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kSuccess = 0, kSystemError = 2, kInvalidArgument = 4, kInvalidUsage = 5,
              kRemoteError = 6, kInProgress = 7;
constexpr uint64_t kStreamMark = 0x57ea3;

struct Id {
  char bytes[128];
};
struct Config {
  size_t size;
  unsigned magic, version;
  int blocking;
};

struct Call {
  std::string name;
  const void* from = nullptr;
  void* to = nullptr;
  size_t count = 0;
  int dtype = 0, op = 0, root = 0, peer = -1;
};

// What the ranks of one id have together.
struct Group {
  std::mutex mutex;
  std::condition_variable changed;
  int size = 0, joined = 0;
  std::string failure;
  // The calls of each rank, by their number; a call is carried out when all have come to it.
  std::map<uint64_t, std::vector<Call>> waiting;
  uint64_t done = 0;
  std::map<std::pair<int, int>, std::vector<Call>> mail;  // from, to
};

struct Comm {
  std::shared_ptr<Group> group;
  int rank = 0;
  uint64_t next = 0;
  std::atomic<bool> aborted{false};
};

std::mutex mutex;
std::map<std::string, std::shared_ptr<Group>> groups;
std::atomic<int> never_joins{0}, refuses{0}, async_error{0}, calls{0}, aborts{0}, destroyed{0};
std::atomic<uint64_t> ids{0};

thread_local int depth = 0;
thread_local std::vector<std::pair<Comm*, Call>> open;

size_t size_of(int dtype) {
  constexpr size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return dtype < 0 || dtype > 9 ? 0 : kSizes[dtype];
}

float from_bfloat16(uint16_t v) {
  const uint32_t bits = static_cast<uint32_t>(v) << 16;
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}
uint16_t to_bfloat16(float f) {  // whole numbers of tests need no rounding
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return static_cast<uint16_t>(bits >> 16);
}

template <class T>
T combined(T a, T b, int op) {
  switch (op) {
    case 1:
      return static_cast<T>(a * b);
    case 2:
      return std::max(a, b);
    case 3:
      return std::min(a, b);
    default:
      return static_cast<T>(a + b);
  }
}

template <class T>
void reduce_as(const std::vector<const char*>& from, char* to, size_t count, int op) {
  for (size_t i = 0; i < count; ++i) {
    T total = reinterpret_cast<const T*>(from[0])[i];
    for (size_t r = 1; r < from.size(); ++r)
      total = combined(total, reinterpret_cast<const T*>(from[r])[i], op);
    if (op == 4) total = static_cast<T>(total / static_cast<T>(from.size()));
    reinterpret_cast<T*>(to)[i] = total;
  }
}

bool reduce(const std::vector<const char*>& from, char* to, size_t count, int dtype, int op) {
  switch (dtype) {
    case 0:
      return reduce_as<int8_t>(from, to, count, op), true;
    case 1:
      return reduce_as<uint8_t>(from, to, count, op), true;
    case 2:
      return reduce_as<int32_t>(from, to, count, op), true;
    case 4:
      return reduce_as<int64_t>(from, to, count, op), true;
    case 7:
      return reduce_as<float>(from, to, count, op), true;
    case 8:
      return reduce_as<double>(from, to, count, op), true;
    case 9: {
      for (size_t i = 0; i < count; ++i) {
        float total = from_bfloat16(reinterpret_cast<const uint16_t*>(from[0])[i]);
        for (size_t r = 1; r < from.size(); ++r)
          total = combined(total, from_bfloat16(reinterpret_cast<const uint16_t*>(from[r])[i]), op);
        reinterpret_cast<uint16_t*>(to)[i] = to_bfloat16(total);
      }
      return true;
    }
    default:
      return false;
  }
}

// All ranks' calls of one number: an error, or none.
std::string carry_out(const std::vector<Call>& all) {
  const Call& first = all[0];
  for (const Call& c : all)
    if (c.name != first.name || c.count != first.count || c.dtype != first.dtype ||
        c.op != first.op || c.root != first.root)
      return "ranks call " + first.name + " and " + c.name + " or with other arguments";
  const size_t item = size_of(first.dtype), n = all.size();
  std::vector<std::string> read;  // all that is read, before anything is written
  const size_t from = first.count * item * (first.name == "ReduceScatter" ? n : 1);
  for (const Call& c : all) read.emplace_back(static_cast<const char*>(c.from), from);
  const auto part = [&](size_t at) {
    std::vector<const char*> out;
    for (const std::string& r : read) out.push_back(r.data() + at);
    return out;
  };
  for (size_t r = 0; r < n; ++r) {
    char* to = static_cast<char*>(all[r].to);
    const bool root = static_cast<int>(r) == first.root;
    if (first.name == "AllReduce" || (first.name == "Reduce" && root)) {
      if (!reduce(part(0), to, first.count, first.dtype, first.op)) return "a dtype";
    } else if (first.name == "ReduceScatter") {
      if (!reduce(part(r * first.count * item), to, first.count, first.dtype, first.op))
        return "a dtype";
    } else if (first.name == "Broadcast") {
      std::memcpy(to, read[static_cast<size_t>(first.root)].data(), from);
    } else if (first.name == "AllGather") {
      for (size_t q = 0; q < n; ++q) std::memcpy(to + q * from, read[q].data(), from);
    }
  }
  return "";
}

int ended(Comm& comm, const std::unique_lock<std::mutex>&) {
  if (comm.aborted) return kInvalidUsage;
  return comm.group->failure.empty() ? kSuccess : kRemoteError;
}

int collective(Comm& comm, const Call& call) {
  Group& g = *comm.group;
  std::unique_lock lock(g.mutex);
  const uint64_t number = comm.next++;
  auto& all = g.waiting[number];
  all.resize(static_cast<size_t>(g.size));
  all[static_cast<size_t>(comm.rank)] = call;
  const auto missing =
      std::count_if(all.begin(), all.end(), [](const Call& c) { return c.name.empty(); });
  if (!missing) {
    const std::string wrong = carry_out(all);
    if (!wrong.empty()) g.failure = wrong;
    g.waiting.erase(number);
    g.done = number + 1;
    g.changed.notify_all();
  }
  while (g.done <= number && g.failure.empty() && !comm.aborted)
    g.changed.wait_for(lock, std::chrono::milliseconds(1));
  return ended(comm, lock);
}

int messages(Comm& comm, const std::vector<Call>& list) {
  Group& g = *comm.group;
  std::unique_lock lock(g.mutex);
  for (const Call& c : list)
    if (c.name == "Send") g.mail[{comm.rank, c.peer}].push_back(c);
  g.changed.notify_all();
  for (const Call& c : list) {
    if (c.name != "Recv") continue;
    auto& box = g.mail[{c.peer, comm.rank}];
    while (box.empty() && g.failure.empty() && !comm.aborted)
      g.changed.wait_for(lock, std::chrono::milliseconds(1));
    if (box.empty()) return ended(comm, lock);
    const Call sent = box.front();
    box.erase(box.begin());
    if (sent.count != c.count || sent.dtype != c.dtype)
      g.failure = "a message of another size";
    else
      std::memcpy(c.to, sent.from, c.count * size_of(c.dtype));
    g.changed.notify_all();
  }
  for (const Call& c : list) {
    if (c.name != "Send") continue;
    const auto& box = g.mail[{comm.rank, c.peer}];
    while (!box.empty() && g.failure.empty() && !comm.aborted)
      g.changed.wait_for(lock, std::chrono::milliseconds(1));
  }
  return ended(comm, lock);
}

bool is_message(const Call& c) {
  return c.name == "Send" || c.name == "Recv";
}

int call(void* comm, void* stream, Call c) {
  auto* mine = static_cast<Comm*>(comm);
  if (!mine || mine->aborted) return kInvalidUsage;
  if (!stream || *static_cast<uint64_t*>(stream) != kStreamMark) return kInvalidArgument;
  if (!size_of(c.dtype) || c.op < 0 || c.op > 4 || !c.count) return kInvalidArgument;
  if (c.name != "Recv" && !c.from) return kInvalidArgument;
  if (c.name != "Send" && !c.to) return kInvalidArgument;
  const int size = mine->group->size;
  if (c.root < 0 || c.root >= size || c.peer >= size) return kInvalidArgument;
  if (refuses) return kSystemError;
  ++calls;
  if (depth) {
    open.emplace_back(mine, std::move(c));
    return kSuccess;
  }
  if (is_message(c)) return messages(*mine, {c});
  return collective(*mine, c);
}

}  // namespace

// --- for tests ---

API void fake_nccl_set(const char* what, int value) {
  const std::string name = what;
  if (name == "never_joins") never_joins = value;
  if (name == "refuses") refuses = value;
  if (name == "async_error") async_error = value;
}
API int fake_nccl_count(const char* what) {
  const std::string name = what;
  if (name == "depth") return depth;  // groups that the calling thread has begun
  return name == "calls" ? calls : name == "aborts" ? aborts : destroyed;
}

// --- NCCL ---

API int ncclGetVersion(int* version) {
  *version = 22800;
  return kSuccess;
}
API const char* ncclGetErrorString(int result) {
  constexpr const char* kTexts[] = {"no error",       "unhandled cuda error", "system error",
                                    "internal error", "invalid argument",     "invalid usage",
                                    "remote error",   "in progress"};
  return result < 0 || result > 7 ? "unknown" : kTexts[result];
}
API int ncclGetUniqueId(Id* id) {
  std::memset(id, 0, sizeof(*id));
  const uint64_t number = ++ids;
  std::memcpy(id->bytes + 64, &number, sizeof(number));
  return kSuccess;
}
API int ncclCommInitRankConfig(void** comm, int size, Id id, int rank, Config* config) {
  if (config->magic != 0xcafebeef || config->version < 21800 || config->blocking != 0)
    return kInvalidArgument;
  if (rank < 0 || rank >= size) return kInvalidArgument;
  auto* made = new Comm;
  made->rank = rank;
  {
    std::lock_guard lock(mutex);
    auto& group = groups[std::string(id.bytes, sizeof(id.bytes))];
    if (!group) group = std::make_shared<Group>();
    made->group = group;
  }
  std::lock_guard lock(made->group->mutex);
  made->group->size = size;
  if (!never_joins) ++made->group->joined;
  *comm = made;
  return kInProgress;
}
API int ncclCommGetAsyncError(void* comm, int* state) {
  auto& mine = *static_cast<Comm*>(comm);
  std::lock_guard lock(mine.group->mutex);
  if (async_error || !mine.group->failure.empty())
    *state = kRemoteError;
  else
    *state = mine.group->joined < mine.group->size ? kInProgress : kSuccess;
  return kSuccess;
}
API int ncclCommFinalize(void*) {
  return kInProgress;
}
API int ncclCommDestroy(void*) {
  ++destroyed;  // the memory stays: other ranks may look at the group
  return kSuccess;
}
API int ncclCommAbort(void* comm) {
  static_cast<Comm*>(comm)->aborted = true;
  ++aborts;
  return kSuccess;
}
API int ncclGroupStart() {
  ++depth;
  return kSuccess;
}
API int ncclGroupEnd() {
  if (--depth) return kSuccess;
  const auto all = std::exchange(open, {});
  std::vector<Call> mail;
  for (const auto& [comm, c] : all) {
    if (is_message(c)) {
      mail.push_back(c);
    } else if (const int r = collective(*comm, c)) {
      return r;
    }
  }
  if (mail.empty()) return all.empty() ? kSuccess : kInProgress;
  const int r = messages(*all[0].first, mail);
  return r == kSuccess ? kInProgress : r;
}
API int ncclAllReduce(const void* from, void* to, size_t n, int dtype, int op, void* comm,
                      void* stream) {
  return call(comm, stream, {"AllReduce", from, to, n, dtype, op});
}
API int ncclReduce(const void* from, void* to, size_t n, int dtype, int op, int root, void* comm,
                   void* stream) {
  return call(comm, stream, {"Reduce", from, to, n, dtype, op, root});
}
API int ncclReduceScatter(const void* from, void* to, size_t n, int dtype, int op, void* comm,
                          void* stream) {
  return call(comm, stream, {"ReduceScatter", from, to, n, dtype, op});
}
API int ncclBroadcast(const void* from, void* to, size_t n, int dtype, int root, void* comm,
                      void* stream) {
  return call(comm, stream, {"Broadcast", from, to, n, dtype, 0, root});
}
API int ncclAllGather(const void* from, void* to, size_t n, int dtype, void* comm, void* stream) {
  return call(comm, stream, {"AllGather", from, to, n, dtype});
}
API int ncclSend(const void* from, size_t n, int dtype, int peer, void* comm, void* stream) {
  return call(comm, stream, {"Send", from, nullptr, n, dtype, 0, 0, peer});
}
API int ncclRecv(void* to, size_t n, int dtype, int peer, void* comm, void* stream) {
  return call(comm, stream, {"Recv", nullptr, to, n, dtype, 0, 0, peer});
}
