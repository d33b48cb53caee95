#include "argosy/kernels/cpu/packed_panels.h"

#include "argosy/base/parallel.h"

namespace argosy::cpu {
namespace {

constexpr int64_t kMostRows = 224;  // of a chunk, so that those of x stay in the cache
constexpr int64_t kLeastRows = 12;  // of a chunk of several
constexpr int64_t kNear = 1 << 20;  // bytes of weights, or of x, that a core's cache holds

// Which of both is read from afar less: all weights for each chunk of rows, or x for each group.
bool is_panels_first(int64_t row_chunks, int64_t groups, int64_t weight_bytes, int64_t x_bytes) {
  return weight_bytes > kNear && row_chunks * weight_bytes > groups * x_bytes;
}

// How long products of these rows with so many panels take, in rows of one panel: a panel is read
// as fast as three rows are multiplied by it.
double time_of(int64_t rows, int64_t panels) {
  return static_cast<double>(std::max<int64_t>(rows, 3) * panels);
}

// For several threads: the cut that is done first, if threads may also come late, tasks cost
// something, and rows of x that no cache holds are read again for each group.
// `microsecond`: of work, as time_of() has it.
PanelCut shared_cut(int64_t m, int64_t panels, int64_t threads, double microsecond,
                    double bytes_of_row) {
  constexpr double kTask = 0.7, kBytes = 20e3, kLate = 0.1;  // us; bytes each us; part of a task
  const int64_t least_chunks = divide_up(m, kMostRows), most_chunks = divide_up(m, kLeastRows);
  PanelCut best{};
  double least = 0;
  for (int64_t wanted : {int64_t{1}, threads, 2 * threads, 4 * threads}) {
    const int64_t of_group = divide_up(panels, std::min(wanted, panels));
    const int64_t groups = divide_up(panels, of_group);
    for (int64_t times : {1, 2}) {
      const int64_t tasks = divide_up(least_chunks * groups, threads) * threads * times;
      const int64_t wanted_chunks = std::clamp(divide_up(tasks, groups), least_chunks, most_chunks);
      const int64_t rows = divide_up(m, wanted_chunks), row_chunks = divide_up(m, rows);
      const double bytes = static_cast<double>(rows) * bytes_of_row;
      const double extra = (kTask + (bytes > kNear ? bytes / kBytes : 0)) * microsecond;
      const double task = time_of(rows, of_group);
      const auto rounds = static_cast<double>(divide_up(row_chunks * groups, threads));
      const double time = rounds * (task + extra) + kLate * task;
      if (best.rows && time >= least) continue;
      least = time;
      best = {rows, row_chunks, of_group, groups, false, false};
    }
  }
  return best;
}

// A bit for the weights at some addresses: whether they were read backward the last time.
thread_local uint64_t turned = 0;

}  // namespace

bool turns_around(int64_t rows, const float* weights) {
  constexpr int64_t kFew = 3;  // multiplied as fast as a panel is read
  constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;
  if (rows > kFew) return false;
  const uint64_t bit = uint64_t{1} << (reinterpret_cast<uintptr_t>(weights) / 64 * kSpread >> 58);
  turned ^= bit;
  return turned & bit;
}

PanelCut cut_panels(int64_t m, int64_t k, int64_t n, int64_t x_bytes) {
  constexpr double kLeastWork = 6;  // microseconds that two threads are worth while for
  const int64_t panels = count_panels(n), weight_bytes = bytes_of_panels(k, n);
  const int64_t threads = in_parallel_region() ? 1 : num_threads();
  const double microsecond = 1000.0 / static_cast<double>(k);  // 128 GFLOP/s
  PanelCut c;
  if (threads > 1 && time_of(m, panels) > kLeastWork * microsecond) {
    c = shared_cut(m, panels, threads, microsecond,
                   static_cast<double>(x_bytes) / static_cast<double>(m));
  } else {
    const int64_t chunks = divide_up(m, kMostRows);
    // A panel is multiplied by all rows while it is near.
    const bool alone = is_panels_first(chunks, panels, weight_bytes, x_bytes);
    c = {divide_up(m, chunks), chunks, alone ? 1 : panels, alone ? panels : 1, false, false};
  }
  c.panels_first = is_panels_first(c.row_chunks, c.groups, weight_bytes, x_bytes);
  c.x_is_large = x_bytes > weight_bytes;
  return c;
}

}  // namespace argosy::cpu
