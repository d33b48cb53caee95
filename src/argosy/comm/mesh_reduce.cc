#include "argosy/comm/mesh_reduce.h"

#include <algorithm>
#include <array>

#include "argosy/comm/shares.h"

namespace argosy::comm {

namespace {

// Up to this many bytes every rank sends all to all: fewer messages one after the other.
constexpr size_t kAlone = size_t{8} << 10;
// Stretches under way: while one is reduced, the next ones are exchanged.
constexpr size_t kDepth = 2;
// Most that a rank keeps of what others have.
constexpr size_t kRoom = size_t{4} << 20;

// Of a rank's share, exchanged at a time.
size_t share_of(int ranks) {
  const auto others = static_cast<size_t>(std::max(1, ranks - 1));
  return std::min(kShare, kRoom / (kDepth * others) / 64 * 64);
}

// Several stretches of what is not that large, so that results of one go with shares of the next;
// but not smaller ones.
constexpr size_t kSeveral = 4, kLeastShare = size_t{32} << 10;

// The stretches of `extent` bytes that `ranks` ranks exchange one after the other.
struct Stretches {
  size_t extent, width, count;
  Stretches(int ranks, size_t extent)
      : extent(extent), width(width_of(static_cast<size_t>(ranks), share_of(ranks), extent)) {
    count = (extent + width - 1) / width;
  }
  static size_t width_of(size_t ranks, size_t most, size_t extent) {
    const size_t share = extent / ranks / kSeveral / 64 * 64;
    return ranks * std::clamp(share, std::min(kLeastShare, most), most);
  }
  void tell(const std::function<void(size_t, size_t)>& whom, size_t i) const {
    if (whom) whom(i * width, std::min(width, extent - i * width));
  }
};

// Room for what the other ranks have of a stretch of bytes.
class Stage {
 public:
  Stage(const Mesh& mesh, const Job& job, char* memory, size_t width)
      : mesh_(mesh), job_(job), width_(width), memory_(memory) {}
  static size_t bytes_for(const Mesh& mesh, size_t width) {
    return width * static_cast<size_t>(mesh.size() - 1);
  }
  char* of(int rank) {
    const int place = (rank - mesh_.rank() + mesh_.size()) % mesh_.size() - 1;
    return memory_ + width_ * static_cast<size_t>(place);
  }
  // `bytes` of all ranks, this one's from `own`, become those of `target`.
  void reduce(const Pieces& own, size_t own_begin, const Pieces& target, size_t begin,
              size_t bytes) {
    std::vector<const char*> sources(static_cast<size_t>(mesh_.size()));
    each_of_both(target, begin, own, own_begin, bytes,
                 [&](char* to, char* mine, size_t at, size_t n) {
                   for (int r = 0; r < mesh_.size(); ++r)
                     sources[static_cast<size_t>(r)] = r == mesh_.rank() ? mine : of(r) + at;
                   combine(job_.header.op, job_.header.dtype, to, sources,
                           static_cast<int64_t>(n / item_of(job_)), mesh_.size());
                 });
  }

  Pending come;

 private:
  const Mesh& mesh_;
  const Job& job_;
  size_t width_;
  char* memory_;
};

// Of stretches that are under way, used in turn.
class Stages {
 public:
  Stages(Mesh& mesh, const Job& job, size_t width) {
    const size_t each = Stage::bytes_for(mesh, width);
    char* memory = mesh.scratch(kDepth * each);
    for (size_t i = 0; i < kDepth; ++i) stages_.emplace_back(mesh, job, memory + i * each, width);
  }
  Stage& operator[](size_t stretch) { return stages_[stretch % kDepth]; }

 private:
  std::vector<Stage> stages_;
};

Stage lone_stage(Mesh& mesh, const Job& job) {
  return Stage(mesh, job, mesh.scratch(Stage::bytes_for(mesh, job.bytes())), job.bytes());
}

void all_reduce_direct(Mesh& mesh, Talk& talk, const Job& job) {
  const size_t bytes = job.bytes();
  Stage stage = lone_stage(mesh, job);
  each_other(mesh, [&](int r) {
    talk.greet(r);
    talk.send(r, job.send[0], 0, bytes);
    talk.receive(r, stage.of(r), bytes, &stage.come);
  });
  // Nobody writes where others still read: the tensor may be both.
  talk.settle();
  stage.reduce(job.send[0], 0, job.receive[0], 0, bytes);
}

// Each rank gets what all have of its share of a stretch; use(shares, stage, index) reduces it.
// While it does, the next stretches are under way. use() may say by `results` what has to be done
// before a stretch has its result, and may be written again.
template <class Use>
void reduce_shares(Mesh& mesh, Talk& talk, const Job& job, const Beside& beside,
                   std::vector<Pending>* results, Use&& use) {
  const size_t bytes = job.bytes(), item = item_of(job);
  const Stretches all(mesh.size(), std::max(bytes, beside.extent));
  const size_t stretches = all.count;
  const auto begin_of = [&](size_t i) { return std::min(bytes, i * all.width); };
  const auto shares = [&](size_t i) {
    return Shares(begin_of(i), begin_of(i + 1) - begin_of(i), item, mesh.size());
  };
  Stages stages(mesh, job, stretches ? shares(0).share : 0);
  if (results) results->resize(stretches);
  const int me = mesh.rank();
  each_other(mesh, [&](int r) { talk.greet(r); });
  for (size_t i = 0; i < stretches + kDepth; ++i) {
    if (i < stretches) {
      all.tell(beside.before, i);
      const Shares s = shares(i);
      each_other(mesh, [&](int r) {
        talk.send(r, job.send[0], s.at(r), s.length(r));
        talk.receive(r, stages[i].of(r), s.length(me), &stages[i].come);
      });
    }
    if (const size_t k = i + 1 - kDepth; i + 1 >= kDepth && k < stretches) {
      talk.wait(stages[k].come);
      use(shares(k), stages[k], k);
    }
    if (const size_t k = i - kDepth; i >= kDepth && beside.after) {
      talk.wait((*results)[k]);
      all.tell(beside.after, k);
    }
  }
}

void all_reduce_by_shares(Mesh& mesh, Talk& talk, const Job& job, const Beside& beside) {
  const Pieces& target = job.receive[0];
  const int me = mesh.rank();
  std::vector<Pending> results;
  reduce_shares(mesh, talk, job, beside, &results, [&](const Shares& s, Stage& stage, size_t i) {
    stage.reduce(job.send[0], s.at(me), target, s.at(me), s.length(me));
    each_other(mesh, [&](int r) {
      talk.send(r, target, s.at(me), s.length(me), &results[i]);
      talk.receive(r, target, s.at(r), s.length(r), &results[i]);
    });
  });
  talk.settle();
}

// Rounding partial sums to 16 bits is no sum in float32.
bool may_be_partial(DType dtype) {
  return dtype != DType::float16 && dtype != DType::bfloat16;
}

}  // namespace

void follow(int ranks, Algorithm wanted, DType dtype, const Beside& beside) {
  const Algorithm way = choose(wanted, ranks, beside.extent, may_be_partial(dtype), Mesh::model());
  if (way != Algorithm::shares) {
    beside.before(0, beside.extent);
    beside.after(0, beside.extent);
    return;
  }
  const Stretches all(ranks, beside.extent);
  for (size_t i = 0; i < all.count + kDepth; ++i) {
    if (i < all.count) all.tell(beside.before, i);
    if (i >= kDepth) all.tell(beside.after, i - kDepth);
  }
}

void all_reduce(Mesh& mesh, Talk& talk, const Job& job, const Beside& beside) {
  const size_t extent = std::max(job.bytes(), beside.extent);
  const Algorithm way = choose(mesh.algorithm(), mesh.size(), extent,
                               may_be_partial(job.header.dtype), Mesh::model());
  if (way == Algorithm::shares) return all_reduce_by_shares(mesh, talk, job, beside);
  if (beside.before) beside.before(0, extent);
  switch (way) {
    case Algorithm::ring:
      all_reduce_ring(mesh, talk, job);
      break;
    case Algorithm::doubling:
      all_reduce_doubling(mesh, talk, job);
      break;
    case Algorithm::halving:
      all_reduce_halving(mesh, talk, job);
      break;
    case Algorithm::tree:
      all_reduce_tree(mesh, talk, job);
      break;
    default:
      all_reduce_direct(mesh, talk, job);
  }
  if (beside.after) beside.after(0, extent);
}

namespace {

void reduce_alone(Mesh& mesh, Talk& talk, const Job& job) {
  const size_t bytes = job.bytes();
  if (mesh.rank() != job.header.root) {
    talk.greet(job.header.root);
    talk.send(job.header.root, job.send[0], 0, bytes);
    return;
  }
  Stage stage = lone_stage(mesh, job);
  each_other(mesh, [&](int r) {
    talk.greet(r);
    talk.receive(r, stage.of(r), bytes);
  });
  talk.settle();
  stage.reduce(job.send[0], 0, job.receive[0], 0, bytes);
}

void reduce_by_shares(Mesh& mesh, Talk& talk, const Job& job) {
  const int root = job.header.root, me = mesh.rank();
  if (me == root) {
    const Pieces& target = job.receive[0];
    reduce_shares(mesh, talk, job, {}, nullptr, [&](const Shares& s, Stage& stage, size_t) {
      stage.reduce(job.send[0], s.at(me), target, s.at(me), s.length(me));
      each_other(mesh, [&](int r) { talk.receive(r, target, s.at(r), s.length(r)); });
    });
    talk.settle();
    return;
  }
  // This rank's tensor stays as it is.
  std::array<std::vector<char>, 2> rooms;
  std::array<Pending, 2> sent;
  reduce_shares(mesh, talk, job, {}, nullptr, [&](const Shares& s, Stage& stage, size_t i) {
    std::vector<char>& room = rooms[i % 2];
    talk.wait(sent[i % 2]);
    room.resize(s.length(me));
    Pieces result;
    result.add(room.data(), room.size());
    stage.reduce(job.send[0], s.at(me), result, 0, room.size());
    talk.send(root, room.data(), room.size(), &sent[i % 2]);
  });
  talk.settle();
}

}  // namespace

void reduce(Mesh& mesh, Talk& talk, const Job& job) {
  job.bytes() <= kAlone ? reduce_alone(mesh, talk, job) : reduce_by_shares(mesh, talk, job);
}

void reduce_scatter(Mesh& mesh, Talk& talk, const Job& job) {
  const auto me = static_cast<size_t>(mesh.rank());
  const size_t bytes = job.bytes(), width = share_of(mesh.size());
  const size_t stretches = (bytes + width - 1) / width;
  const auto length = [&](size_t i) { return std::min(width, bytes - i * width); };
  Stages stages(mesh, job, std::min(bytes, width));
  each_other(mesh, [&](int r) { talk.greet(r); });
  for (size_t i = 0; i + 1 < stretches + kDepth; ++i) {
    if (i < stretches)
      each_other(mesh, [&](int r) {
        talk.send(r, job.send[static_cast<size_t>(r)], i * width, length(i));
        talk.receive(r, stages[i].of(r), length(i), &stages[i].come);
      });
    const size_t k = i + 1 - kDepth;
    if (i + 1 < kDepth || k >= stretches) continue;
    talk.wait(stages[k].come);
    stages[k].reduce(job.send[me], k * width, job.receive[0], k * width, length(k));
  }
  talk.settle();
}

}  // namespace argosy::comm
