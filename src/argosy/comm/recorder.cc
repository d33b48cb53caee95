#include "argosy/comm/recorder.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "argosy/base/error.h"
#include "argosy/base/mutex.h"

namespace argosy::comm {

namespace {

double now() {
  const auto t = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(t).count();
}

struct Recorder {
  Mutex mutex;
  std::vector<Record> ring ARGOSY_GUARDED_BY(mutex);  // record k is at k % kRecords
  uint64_t next ARGOSY_GUARDED_BY(mutex) = 0;
  bool dumped ARGOSY_GUARDED_BY(mutex) = false;
};

Recorder& recorder() {
  static Recorder& r = *new Recorder;  // threads of groups may outlive static objects
  return r;
}

}  // namespace

uint64_t record(const Header& header, int rank) {
  Recorder& r = recorder();
  const double started = now();
  MutexLock lock(r.mutex);
  if (r.ring.size() < kRecords) r.ring.resize(kRecords);
  r.ring[r.next % kRecords] = {header, rank, Stage::started, started, 0};
  return r.next++;
}

void finish(uint64_t number, Stage stage) {
  Recorder& r = recorder();
  const double ended = now();
  MutexLock lock(r.mutex);
  if (r.next - number > kRecords) return;
  Record& of = r.ring[number % kRecords];
  of.stage = stage;
  of.seconds = ended - of.started;
}

std::vector<Record> records() {
  Recorder& r = recorder();
  MutexLock lock(r.mutex);
  std::vector<Record> out;
  for (uint64_t k = r.next > kRecords ? r.next - kRecords : 0; k < r.next; ++k)
    out.push_back(r.ring[k % kRecords]);
  return out;
}

std::string print_records() {
  constexpr const char* kStages[] = {"started", "done", "FAILED"};
  std::string out;
  for (const Record& r : records()) {
    char line[160];
    std::snprintf(line, sizeof line, "%.6f rank %d group %u #%llu %s %.6f s: ", r.started, r.rank,
                  r.header.group, static_cast<unsigned long long>(r.header.sequence),
                  kStages[static_cast<int>(r.stage)], r.seconds);
    out += line + describe(r.header) + '\n';
  }
  return out;
}

void dump_records(int rank, const char* why) {
  const char* folder = std::getenv("ARGOSY_COMM_DUMP");
  if (!folder || !*folder) folder = std::getenv("PADDLE_LOG_DIR");
  if (!folder || !*folder) return;
  {
    Recorder& r = recorder();
    MutexLock lock(r.mutex);
    if (std::exchange(r.dumped, true)) return;
  }
  Message path;
  path << folder << "/comm." << rank << '.' << static_cast<int>(getpid()) << ".log";
  std::ofstream file(path.str());
  file << why << '\n' << print_records();
  file.close();
  if (file) std::fprintf(stderr, "argosy: the last collectives are in %s\n", path.str().c_str());
}

}  // namespace argosy::comm
