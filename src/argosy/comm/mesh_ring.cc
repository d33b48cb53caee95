#include <array>
#include <memory>
#include <vector>

#include "argosy/comm/mesh_reduce.h"
#include "argosy/comm/shares.h"

namespace argosy::comm {

void all_reduce_ring(Mesh& mesh, Talk& talk, const Job& job) {
  const int n = mesh.size(), me = mesh.rank();
  const int before = (me + n - 1) % n, behind = (me + 1) % n;
  const size_t item = item_of(job);
  const Shares s(0, job.bytes(), item, n);
  const size_t pieces = (s.share + kShare - 1) / kShare;
  const auto share_of = [&](int step) { return ((me - step) % n + n) % n; };
  const auto at = [&](int r, size_t i) { return s.at(r) + std::min(s.length(r), i * kShare); };
  const auto length = [&](int r, size_t i) { return at(r, i + 1) - at(r, i); };
  const Reduce op = job.header.op == Reduce::avg ? Reduce::sum : job.header.op;
  // Two steps' worth: what comes next is under way while the last is used.
  std::unique_ptr<char[]> room(new char[2 * s.share]);
  std::vector<Pending> come(2 * pieces);
  const auto slot = [&](int step, size_t i) {
    return room.get() + static_cast<size_t>(step % 2) * s.share + i * kShare;
  };
  const auto pending = [&](int step, size_t i) -> Pending& {
    return come[static_cast<size_t>(step % 2) * pieces + i];
  };
  const auto receive_step = [&](int step) {
    const int r = share_of(step + 1);
    for (size_t i = 0; i < pieces; ++i)
      talk.receive(before, slot(step, i), length(r, i), &pending(step, i));
  };
  receive_step(0);
  for (size_t i = 0; i < pieces; ++i)
    talk.send(behind, job.send[0], at(share_of(0), i), length(share_of(0), i));
  for (int step = 0; step + 1 < n; ++step) {
    const int r = share_of(step + 1);
    const bool last = step + 2 == n;
    if (!last) receive_step(step + 1);
    for (size_t i = 0; i < pieces; ++i) {
      talk.wait(pending(step, i));
      const size_t begin = at(r, i);
      each_of_both(job.receive[0], begin, job.send[0], begin, length(r, i),
                   [&](char* to, char* own, size_t offset, size_t bytes) {
                     const std::array<const char*, 2> sources{slot(step, i) + offset, own};
                     combine(last ? job.header.op : op, job.header.dtype, to, sources,
                             static_cast<int64_t>(bytes / item), n);
                   });
      talk.send(behind, job.receive[0], begin, length(r, i));
    }
  }
  // Finished shares go round.
  std::vector<Pending> arrived(pieces * static_cast<size_t>(n));
  for (int step = 0; step + 1 < n; ++step)
    for (size_t i = 0; i < pieces; ++i)
      talk.receive(before, job.receive[0], at(share_of(step), i), length(share_of(step), i),
                   &arrived[static_cast<size_t>(step) * pieces + i]);
  for (int step = 0; step + 2 < n; ++step)
    for (size_t i = 0; i < pieces; ++i) {
      talk.wait(arrived[static_cast<size_t>(step) * pieces + i]);
      talk.send(behind, job.receive[0], at(share_of(step), i), length(share_of(step), i));
    }
  talk.settle();
}

}  // namespace argosy::comm
