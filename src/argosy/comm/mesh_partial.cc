#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "argosy/comm/mesh_reduce.h"
#include "argosy/comm/shares.h"
#include "argosy/comm/tree.h"

// Ways of all_reduce in which partial sums are passed on: recursive doubling and halving, and a
// tree. All work in the memory of the result. A rank receives into memory that it has sent from
// only what depends on what it sent: so that has left before.
namespace argosy::comm {

namespace {

struct Range {
  size_t begin = 0, bytes = 0;
};

// What is reduced, and how a rank adds what others have.
class Partial {
 public:
  Partial(Mesh& mesh, Talk& talk, const Job& job)
      : mesh_(mesh), talk_(talk), job_(job), data_(job.receive[0]) {
    each_of_both(data_, 0, job.send[0], 0, job.bytes(), [](char* to, char* from, size_t, size_t n) {
      if (to != from) std::memcpy(to, from, n);
    });
  }

  Range all() const { return {0, job_.bytes()}; }
  size_t item() const { return item_of(job_); }

  void send(int peer, Range r, Pending* gone = nullptr) {
    talk_.greet(peer);
    talk_.send(peer, data_, r.begin, r.bytes, gone);
  }
  // Takes a part of the result.
  void receive(int peer, Range r) {
    Pending come;
    talk_.greet(peer);
    talk_.receive(peer, data_, r.begin, r.bytes, &come);
    talk_.wait(come);
  }

  // Sends one part and adds to another what the peer has of it. Ranks of the peer's sum come before
  // those of this one's, or behind them; `last`: then it is the result.
  void exchange(int peer, Range given, Range kept, bool before, bool last) {
    const Coming coming = expect(peer, kept);
    if (given.begin < kept.begin + kept.bytes && kept.begin < given.begin + given.bytes) {
      Pending gone;
      send(peer, given, &gone);
      talk_.wait(gone);
    } else {
      send(peer, given);
    }
    add(coming, kept, before, last);
  }
  void add_from(int peer, Range kept, bool before, bool last) {
    talk_.greet(peer);
    add(expect(peer, kept), kept, before, last);
  }

 private:
  // Pieces of kShare bytes: some are added while others are under way.
  struct Coming {
    char* room;
    std::vector<Pending> pieces;
  };

  Coming expect(int peer, Range r) {
    Coming c{mesh_.scratch(r.bytes), std::vector<Pending>((r.bytes + kShare - 1) / kShare)};
    for (size_t i = 0; i < c.pieces.size(); ++i)
      talk_.receive(peer, c.room + i * kShare, std::min(kShare, r.bytes - i * kShare),
                    &c.pieces[i]);
    return c;
  }

  void add(const Coming& coming, Range r, bool before, bool last) {
    const Reduce op = job_.header.op == Reduce::avg && !last ? Reduce::sum : job_.header.op;
    for (size_t i = 0; i < coming.pieces.size(); ++i) {
      talk_.wait(coming.pieces[i]);
      const size_t at = i * kShare;
      data_.each(r.begin + at, std::min(kShare, r.bytes - at),
                 [&](char* own, size_t offset, size_t bytes) {
                   const char* theirs = coming.room + at + offset;
                   const std::array<const char*, 2> sources =
                       before ? std::array<const char*, 2>{theirs, own}
                              : std::array<const char*, 2>{own, theirs};
                   combine(op, job_.header.dtype, own, sources,
                           static_cast<int64_t>(bytes / item()), mesh_.size());
                 });
    }
  }

  Mesh& mesh_;
  Talk& talk_;
  const Job& job_;
  const Pieces& data_;
};

// Places of as many ranks as there are in the largest power of two. The first ranks are pairs of
// which the even one hands its tensor over, and gets the result in the end.
class Pairs {
 public:
  explicit Pairs(const Mesh& mesh)
      : size_(static_cast<int>(std::bit_floor(static_cast<unsigned>(mesh.size())))),
        beyond_(mesh.size() - size_),
        rank_(mesh.rank()) {}

  int size() const { return size_; }
  int place() const { return rank_ < 2 * beyond_ ? rank_ / 2 : rank_ - beyond_; }
  int rank_at(int place) const { return place < beyond_ ? 2 * place + 1 : place + beyond_; }
  // run() is for those that have a place.
  template <class F>
  void run(Partial& partial, F&& run) const {
    const bool paired = rank_ < 2 * beyond_;
    if (paired && rank_ % 2 == 0) {
      partial.send(rank_ + 1, partial.all());
      partial.receive(rank_ + 1, partial.all());
      return;
    }
    if (paired) partial.add_from(rank_ - 1, partial.all(), true, false);
    run();
    if (paired) partial.send(rank_ - 1, partial.all());
  }

 private:
  const int size_, beyond_, rank_;
};

}  // namespace

void all_reduce_doubling(Mesh& mesh, Talk& talk, const Job& job) {
  Partial partial(mesh, talk, job);
  const Pairs pairs(mesh);
  const int place = pairs.place();
  pairs.run(partial, [&] {
    for (int bit = 1; bit < pairs.size(); bit *= 2)
      partial.exchange(pairs.rank_at(place ^ bit), partial.all(), partial.all(), place & bit,
                       2 * bit == pairs.size());
  });
  talk.settle();
}

void all_reduce_halving(Mesh& mesh, Talk& talk, const Job& job) {
  Partial partial(mesh, talk, job);
  const Pairs pairs(mesh);
  const int place = pairs.place();
  pairs.run(partial, [&] {
    Range mine = partial.all();
    std::vector<Range> given;  // one for each step
    for (int bit = pairs.size() / 2; bit; bit /= 2) {
      const size_t half = mine.bytes / partial.item() / 2 * partial.item();
      const Range low{mine.begin, half}, high{mine.begin + half, mine.bytes - half};
      const bool keeps_high = place & bit;
      mine = keeps_high ? high : low;
      given.push_back(keeps_high ? low : high);
      partial.exchange(pairs.rank_at(place ^ bit), given.back(), mine, keeps_high, bit == 1);
    }
    for (int bit = 1; bit < pairs.size(); bit *= 2) {
      const int peer = pairs.rank_at(place ^ bit);
      const Range other = given.back();
      given.pop_back();
      partial.send(peer, mine);
      partial.receive(peer, other);
      mine = {std::min(mine.begin, other.begin), mine.bytes + other.bytes};
    }
  });
  talk.settle();
}

void all_reduce_tree(Mesh& mesh, Talk& talk, const Job& job) {
  Partial partial(mesh, talk, job);
  const Tree tree(mesh.rank(), mesh.size(), 0);
  // In the order of ranks: the last child has most ranks below it, and the highest ones.
  for (size_t i = tree.children.size(); i-- > 0;)
    partial.add_from(tree.children[i], partial.all(), false, tree.parent < 0 && i == 0);
  if (tree.parent >= 0) {
    partial.send(tree.parent, partial.all());
    partial.receive(tree.parent, partial.all());
  }
  for (const int child : tree.children) partial.send(child, partial.all());
  talk.settle();
}

}  // namespace argosy::comm
