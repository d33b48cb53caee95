#include "argosy/comm/collectives.h"

#include <algorithm>
#include <cstring>

#include "argosy/comm/combine.h"
#include "argosy/comm/in_place.h"

namespace argosy::comm {

namespace {

size_t rounds_of(size_t bytes, size_t width) {
  return std::max<size_t>(1, (bytes + width - 1) / width);
}

// take(at, n): what the ranks show at [at, at + n) of `bytes` can be read.
template <class F>
void show_all(Steps& steps, const Job& job, size_t bytes, F&& take) {
  for (size_t i = 0; i < rounds_of(bytes, kWindow); ++i) {
    const size_t at = i * kWindow;
    if (!job.send.empty()) {
      const size_t all = job.send[0].bytes();
      if (at < all) job.send[0].copy_to(steps.mine(), at, std::min(kWindow, all - at));
    }
    steps.show();
    if (at < bytes) take(at, std::min(kWindow, bytes - at));
  }
}

// The same where each rank has a segment for every other: the window has a part of each, `width`
// bytes long. take(at, width): of the segments [at, at + width).
template <class F>
void show_segments(Board& board, Steps& steps, const Job& job, size_t longest, F&& take) {
  const size_t width = kWindow / static_cast<size_t>(board.size()) / 64 * 64;
  for (size_t i = 0; i < rounds_of(longest, width); ++i) {
    const size_t at = i * width;
    for (size_t d = 0; d < job.send.size(); ++d) {
      const size_t all = job.send[d].bytes();
      if (at < all) job.send[d].copy_to(steps.mine() + d * width, at, std::min(width, all - at));
    }
    steps.show();
    take(at, width);
  }
}

void reduce_into(const Board& board, const Job& job, const Steps& steps, const Pieces& target,
                 size_t at, size_t n, size_t from) {
  const size_t item = static_cast<size_t>(item_size(job.header.dtype));
  std::vector<const char*> sources(static_cast<size_t>(board.size()));
  target.each(at, n, [&](char* p, size_t offset, size_t bytes) {
    for (int r = 0; r < board.size(); ++r)
      sources[static_cast<size_t>(r)] = steps.of(r) + from + offset;
    combine(job.header.op, job.header.dtype, p, sources, static_cast<int64_t>(bytes / item),
            board.size());
  });
}

// Above this, a rank that reduced all by itself would read more than two steps cost.
constexpr size_t kAlone = size_t{8} << 10;

// Each rank reduces its share of what is shown, and shows that: few bytes are read by all.
void all_reduce_by_shares(Board& board, Steps& steps, const Job& job) {
  const Pieces& tensor = job.send[0];
  const size_t item = static_cast<size_t>(item_size(job.header.dtype));
  const auto n = static_cast<size_t>(board.size());
  for (size_t at = 0; at < tensor.bytes(); at += kWindow) {
    const size_t bytes = std::min(kWindow, tensor.bytes() - at);
    const size_t share = (bytes / item + n - 1) / n * item;
    const auto length = [&](size_t r) {
      return r * share < bytes ? std::min(share, bytes - r * share) : 0;
    };
    tensor.copy_to(steps.mine(), at, bytes);
    steps.show();
    const auto me = static_cast<size_t>(board.rank());
    Pieces own;
    own.add(steps.mine(), length(me));
    reduce_into(board, job, steps, own, 0, own.bytes(), me * share);
    steps.show();
    for (size_t r = 0; r < n; ++r)
      job.receive[0].copy_from(steps.of(static_cast<int>(r)), at + r * share, length(r));
  }
}

void all_reduce_by_windows(Board& board, Steps& steps, const Job& job) {
  const size_t bytes = job.bytes();
  if (board.size() > 2 && bytes > kAlone) return all_reduce_by_shares(board, steps, job);
  const auto item = static_cast<size_t>(item_size(job.header.dtype));
  std::vector<const char*> sources(static_cast<size_t>(board.size()));
  show_all(steps, job, bytes, [&](size_t begin, size_t length) {
    // What this rank has is read where it is: its window would have to come into the cache again.
    each_of_both(job.receive[0], begin, job.send[0], begin, length,
                 [&](char* to, char* own, size_t at, size_t n) {
                   for (int r = 0; r < board.size(); ++r)
                     sources[static_cast<size_t>(r)] = r == board.rank() ? own : steps.of(r) + at;
                   combine(job.header.op, job.header.dtype, to, sources,
                           static_cast<int64_t>(n / item), board.size());
                 });
  });
}

void all_reduce(Board& board, Steps& steps, const Job& job) {
  if (job.bytes() < InPlace::kLeast) return all_reduce_by_windows(board, steps, job);
  const InPlace in_place(board, steps, job);
  in_place.reduce();
  const Job rest = in_place.rest();
  rest.bytes() ? all_reduce_by_windows(board, steps, rest) : steps.show();
}

// What each rank has for each other one, and expects of it, in bytes.
class Table {
 public:
  Table(Board& board, Steps& steps, const Job& job) : n_(static_cast<size_t>(board.size())) {
    auto* mine = reinterpret_cast<uint64_t*>(steps.mine());
    for (size_t r = 0; r < n_; ++r) {
      mine[r] = job.send[job.send.size() == 1 ? 0 : r].bytes();
      mine[n_ + r] = job.receive[r].bytes();
    }
    steps.show();
    for (int r = 0; r < board.size(); ++r) {
      const auto* row = reinterpret_cast<const uint64_t*>(steps.of(r));
      rows_.insert(rows_.end(), row, row + 2 * n_);
    }
    for (size_t from = 0; from < n_; ++from)
      for (size_t to = 0; to < n_; ++to) {
        longest_ = std::max(longest_, sent(from, to));
        if (sent(from, to) != expected(from, to))
          board.fail(Failure::disagreement,
                     text_of_sizes(board, job.compared(), static_cast<int>(from), sent(from, to),
                                   static_cast<int>(to), expected(from, to)));
      }
  }
  size_t sent(size_t from, size_t to) const { return rows_[from * 2 * n_ + to]; }
  size_t longest() const { return longest_; }

 private:
  size_t expected(size_t from, size_t to) const { return rows_[to * 2 * n_ + n_ + from]; }
  size_t n_;
  std::vector<uint64_t> rows_;
  size_t longest_ = 0;
};

}  // namespace

void Board::run(const Job& job) {
  comm::run(*this, job);
}

void run(Board& board, const Job& job) {
  Steps steps(board, job);
  const Header& h = job.header;
  const size_t bytes = job.bytes();
  const auto me = static_cast<size_t>(board.rank());
  const bool root = board.rank() == h.root;
  const auto take_all = [&](size_t at, size_t n) {
    for (int r = 0; r < board.size(); ++r)
      job.receive[static_cast<size_t>(r)].copy_from(steps.of(r), at, n);
  };
  switch (h.kind) {
    case Kind::barrier:
    case Kind::new_group:
      return steps.show();
    case Kind::all_reduce:
      return all_reduce(board, steps, job);
    case Kind::reduce:
      return show_all(steps, job, bytes, [&](size_t at, size_t n) {
        if (root) reduce_into(board, job, steps, job.receive[0], at, n, 0);
      });
    case Kind::broadcast:
      return show_all(steps, job, bytes, [&](size_t at, size_t n) {
        if (!root) job.receive[0].copy_from(steps.of(h.root), at, n);
      });
    case Kind::all_gather:
      return show_all(steps, job, bytes, take_all);
    case Kind::gather:
      return show_all(steps, job, bytes, [&](size_t at, size_t n) {
        if (root) take_all(at, n);
      });
    case Kind::all_gather_v: {
      const Table table(board, steps, job);
      return show_all(steps, job, table.longest(), [&](size_t at, size_t n) {
        for (size_t r = 0; r < job.receive.size(); ++r) {
          const size_t all = job.receive[r].bytes();
          if (at < all)
            job.receive[r].copy_from(steps.of(static_cast<int>(r)), at, std::min(n, all - at));
        }
      });
    }
    case Kind::scatter:
      return show_segments(board, steps, job, bytes, [&](size_t at, size_t width) {
        if (at < bytes)
          job.receive[0].copy_from(steps.of(h.root) + me * width, at, std::min(width, bytes - at));
      });
    case Kind::reduce_scatter:
      return show_segments(board, steps, job, bytes, [&](size_t at, size_t width) {
        if (at < bytes)
          reduce_into(board, job, steps, job.receive[0], at, std::min(width, bytes - at),
                      me * width);
      });
    case Kind::alltoall: {
      const Table table(board, steps, job);
      return show_segments(board, steps, job, table.longest(), [&](size_t at, size_t width) {
        for (size_t r = 0; r < job.receive.size(); ++r) {
          const size_t all = table.sent(r, me);
          if (at < all)
            job.receive[r].copy_from(steps.of(static_cast<int>(r)) + me * width, at,
                                     std::min(width, all - at));
        }
      });
    }
    case Kind::send:
    case Kind::recv:
      break;
  }
  ARGOSY_INVARIANT(false);
}

}  // namespace argosy::comm
