#include "argosy/comm/mesh_reduce.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "argosy/comm/combine.h"

namespace argosy::comm {

namespace {

// Up to this many bytes every rank sends all to all: fewer messages one after the other.
constexpr size_t kAlone = size_t{8} << 10;
// Of one rank's share that is under way at a time.
constexpr size_t kShare = size_t{256} << 10;

size_t item_of(const Job& job) {
  return static_cast<size_t>(item_size(job.header.dtype));
}

// Room for what each rank has of a stretch of bytes, and their reduction.
class Stage {
 public:
  Stage(const Mesh& mesh, const Job& job, size_t width)
      : mesh_(mesh), job_(job), width_(width), memory_(new char[width * size_t(mesh.size())]) {}
  char* of(int rank) { return memory_.get() + width_ * static_cast<size_t>(rank); }
  void take_own(const Pieces& from, size_t begin, size_t bytes) {
    from.copy_to(of(mesh_.rank()), begin, bytes);
  }
  // `bytes` of all ranks become those of `target` at `begin`.
  void reduce_into(const Pieces& target, size_t begin, size_t bytes) {
    std::vector<const char*> sources(static_cast<size_t>(mesh_.size()));
    target.each(begin, bytes, [&](char* p, size_t at, size_t n) {
      for (int r = 0; r < mesh_.size(); ++r) sources[static_cast<size_t>(r)] = of(r) + at;
      combine(job_.header.op, job_.header.dtype, p, sources,
              static_cast<int64_t>(n / item_of(job_)), mesh_.size());
    });
  }

  Pending come;

 private:
  const Mesh& mesh_;
  const Job& job_;
  size_t width_;
  std::unique_ptr<char[]> memory_;
};

template <class F>
void each_other(const Mesh& mesh, F&& f) {
  for (int k = 1; k < mesh.size(); ++k) f((mesh.rank() + k) % mesh.size());
}

void all_reduce_alone(Mesh& mesh, Talk& talk, const Job& job) {
  const size_t bytes = job.bytes();
  Stage stage(mesh, job, bytes);
  each_other(mesh, [&](int r) {
    talk.greet(r);
    talk.send(r, job.send[0], 0, bytes);
    talk.receive(r, stage.of(r), bytes, &stage.come);
  });
  stage.take_own(job.send[0], 0, bytes);
  // Nobody writes where others still read: the tensor may be both.
  talk.settle();
  stage.reduce_into(job.receive[0], 0, bytes);
}

// How a stretch of bytes is shared among the ranks.
struct Shares {
  size_t begin, bytes, share;
  Shares(size_t begin, size_t bytes, size_t item, int ranks) : begin(begin), bytes(bytes) {
    const auto n = static_cast<size_t>(ranks);
    share = (bytes / item + n - 1) / n * item;
  }
  size_t at(int r) const { return begin + std::min(bytes, share * static_cast<size_t>(r)); }
  size_t length(int r) const { return at(r + 1) - at(r); }
};

// Each rank gets what all have of its share of a stretch; use(shares, stage, index) reduces it.
// While it does, the next stretch is under way.
template <class Use>
void reduce_shares(Mesh& mesh, Talk& talk, const Job& job, Use&& use) {
  const size_t bytes = job.bytes(), item = item_of(job);
  const size_t width = kShare * static_cast<size_t>(mesh.size());
  const size_t stretches = (bytes + width - 1) / width;
  const auto shares = [&](size_t i) {
    return Shares(i * width, std::min(width, bytes - i * width), item, mesh.size());
  };
  const size_t room = stretches ? shares(0).share : 0;
  std::array<Stage, 2> stages{Stage(mesh, job, room), Stage(mesh, job, stretches > 1 ? room : 0)};
  const int me = mesh.rank();
  const auto begin = [&](size_t i) {
    const Shares s = shares(i);
    each_other(mesh, [&](int r) {
      talk.greet(r);
      talk.send(r, job.send[0], s.at(r), s.length(r));
      talk.receive(r, stages[i % 2].of(r), s.length(me), &stages[i % 2].come);
    });
  };
  if (stretches) begin(0);
  for (size_t i = 0; i < stretches; ++i) {
    if (i + 1 < stretches) begin(i + 1);
    Stage& stage = stages[i % 2];
    talk.wait(stage.come);
    const Shares s = shares(i);
    stage.take_own(job.send[0], s.at(me), s.length(me));
    use(s, stage, i);
  }
}

void all_reduce_by_shares(Mesh& mesh, Talk& talk, const Job& job) {
  const Pieces& target = job.receive[0];
  const int me = mesh.rank();
  reduce_shares(mesh, talk, job, [&](const Shares& s, Stage& stage, size_t) {
    stage.reduce_into(target, s.at(me), s.length(me));
    each_other(mesh, [&](int r) {
      talk.send(r, target, s.at(me), s.length(me));
      talk.receive(r, target, s.at(r), s.length(r));
    });
  });
}

// Partial sums go round: each link carries each byte twice, between neighbours only.
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
      std::vector<char> own(length(r, i));
      job.send[0].copy_to(own.data(), begin, own.size());
      job.receive[0].each(begin, own.size(), [&](char* p, size_t offset, size_t bytes) {
        const std::array<const char*, 2> sources{slot(step, i) + offset, own.data() + offset};
        combine(last ? job.header.op : op, job.header.dtype, p, sources,
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

// Rounding partial sums to 16 bits is no sum in float32.
bool may_be_partial(DType dtype) {
  return dtype != DType::float16 && dtype != DType::bfloat16;
}

}  // namespace

void all_reduce(Mesh& mesh, Talk& talk, const Job& job) {
  if (mesh.algorithm() == Algorithm::ring && mesh.size() > 2 && may_be_partial(job.header.dtype))
    return all_reduce_ring(mesh, talk, job);
  if (job.bytes() <= kAlone) return all_reduce_alone(mesh, talk, job);
  all_reduce_by_shares(mesh, talk, job);
}

namespace {

void reduce_alone(Mesh& mesh, Talk& talk, const Job& job) {
  const size_t bytes = job.bytes();
  if (mesh.rank() != job.header.root) {
    talk.greet(job.header.root);
    talk.send(job.header.root, job.send[0], 0, bytes);
    return;
  }
  Stage stage(mesh, job, bytes);
  each_other(mesh, [&](int r) {
    talk.greet(r);
    talk.receive(r, stage.of(r), bytes);
  });
  stage.take_own(job.send[0], 0, bytes);
  talk.settle();
  stage.reduce_into(job.receive[0], 0, bytes);
}

void reduce_by_shares(Mesh& mesh, Talk& talk, const Job& job) {
  const int root = job.header.root, me = mesh.rank();
  if (me == root) {
    const Pieces& target = job.receive[0];
    reduce_shares(mesh, talk, job, [&](const Shares& s, Stage& stage, size_t) {
      stage.reduce_into(target, s.at(me), s.length(me));
      each_other(mesh, [&](int r) { talk.receive(r, target, s.at(r), s.length(r)); });
    });
    return;
  }
  // This rank's tensor stays as it is.
  std::array<std::vector<char>, 2> results;
  std::array<Pending, 2> sent;
  reduce_shares(mesh, talk, job, [&](const Shares& s, Stage& stage, size_t i) {
    std::vector<char>& result = results[i % 2];
    talk.wait(sent[i % 2]);
    result.resize(s.length(me));
    Pieces own;
    own.add(result.data(), result.size());
    stage.reduce_into(own, 0, result.size());
    talk.send(root, result.data(), result.size(), &sent[i % 2]);
  });
  talk.settle();
}

}  // namespace

void reduce(Mesh& mesh, Talk& talk, const Job& job) {
  job.bytes() <= kAlone ? reduce_alone(mesh, talk, job) : reduce_by_shares(mesh, talk, job);
}

void reduce_scatter(Mesh& mesh, Talk& talk, const Job& job) {
  const size_t bytes = job.bytes();
  const size_t stretches = (bytes + kShare - 1) / kShare;
  std::array<Stage, 2> stages{Stage(mesh, job, std::min(bytes, kShare)),
                              Stage(mesh, job, stretches > 1 ? kShare : 0)};
  const auto length = [&](size_t i) { return std::min(kShare, bytes - i * kShare); };
  const auto begin = [&](size_t i) {
    each_other(mesh, [&](int r) {
      talk.greet(r);
      talk.send(r, job.send[static_cast<size_t>(r)], i * kShare, length(i));
      talk.receive(r, stages[i % 2].of(r), length(i), &stages[i % 2].come);
    });
  };
  if (stretches) begin(0);
  for (size_t i = 0; i < stretches; ++i) {
    if (i + 1 < stretches) begin(i + 1);
    Stage& stage = stages[i % 2];
    talk.wait(stage.come);
    stage.take_own(job.send[static_cast<size_t>(mesh.rank())], i * kShare, length(i));
    stage.reduce_into(job.receive[0], i * kShare, length(i));
  }
}

}  // namespace argosy::comm
