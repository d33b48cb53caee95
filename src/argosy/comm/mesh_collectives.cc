#include "argosy/comm/mesh_collectives.h"

#include <algorithm>
#include <cstring>

#include "argosy/comm/mesh_reduce.h"
#include "argosy/comm/shares.h"
#include "argosy/comm/talk.h"
#include "argosy/comm/tree.h"

namespace argosy::comm {

namespace {

// Above this a broadcast goes from rank to rank in pieces, so that each link carries it once.
constexpr size_t kChained = size_t{128} << 10;
constexpr size_t kLink = size_t{256} << 10;  // bytes of a piece

void copy(const Pieces& from, const Pieces& to) {
  to.each(0, std::min(from.bytes(), to.bytes()),
          [&](char* p, size_t at, size_t n) { from.copy_to(p, at, n); });
}

// Round k: with the ranks 2^k before and behind. All have come when the last round is over.
void barrier(Mesh& mesh, Talk& talk) {
  const int n = mesh.size();
  static constexpr char said = 0;  // the last of it may go out after this returns
  char heard = 0;
  for (int step = 1; step < n; step *= 2) {
    talk.send((mesh.rank() + step) % n, &said, 1);
    Pending pending;
    talk.receive((mesh.rank() + n - step) % n, &heard, 1, &pending);
    talk.wait(pending);
  }
}

void broadcast_tree(Mesh& mesh, Talk& talk, const Job& job, const Pieces& data) {
  const Tree tree(mesh.rank(), mesh.size(), job.header.root);
  for (int c : tree.children) talk.greet(c);
  if (tree.parent >= 0) {
    Pending pending;
    talk.receive(tree.parent, data, 0, data.bytes(), &pending);
    talk.greet(tree.parent);
    talk.wait(pending);
  }
  for (int c : tree.children) talk.send(c, data, 0, data.bytes());
}

void broadcast_chain(Mesh& mesh, Talk& talk, const Job& job, const Pieces& data) {
  const int n = mesh.size();
  const int place = (mesh.rank() + n - job.header.root) % n;
  const int before = (mesh.rank() + n - 1) % n, behind = (mesh.rank() + 1) % n;
  const size_t pieces = (data.bytes() + kLink - 1) / kLink;
  std::vector<Pending> come(pieces);
  const auto length = [&](size_t i) { return std::min(kLink, data.bytes() - i * kLink); };
  if (place)
    for (size_t i = 0; i < pieces; ++i) talk.receive(before, data, i * kLink, length(i), &come[i]);
  for (size_t i = 0; i < pieces; ++i) {
    talk.wait(come[i]);
    if (place + 1 < n) talk.send(behind, data, i * kLink, length(i));
  }
}

void broadcast(Mesh& mesh, Talk& talk, const Job& job) {
  const Pieces& data = mesh.rank() == job.header.root ? job.send[0] : job.receive[0];
  mesh.size() > 2 && data.bytes() > kChained ? broadcast_chain(mesh, talk, job, data)
                                             : broadcast_tree(mesh, talk, job, data);
}

void all_gather(Mesh& mesh, Talk& talk, const Job& job) {
  each_other(mesh, [&](int r) {
    talk.greet(r);
    talk.send(r, job.send[0], 0, job.send[0].bytes());
  });
  each_other(mesh, [&](int r) {
    const Pieces& to = job.receive[static_cast<size_t>(r)];
    talk.receive(r, to, 0, to.bytes());
  });
  copy(job.send[0], job.receive[static_cast<size_t>(mesh.rank())]);
}

void gather(Mesh& mesh, Talk& talk, const Job& job) {
  const int root = job.header.root;
  if (mesh.rank() != root) {
    talk.greet(root);
    talk.send(root, job.send[0], 0, job.send[0].bytes());
    return;
  }
  each_other(mesh, [&](int r) {
    const Pieces& to = job.receive[static_cast<size_t>(r)];
    talk.greet(r);
    talk.receive(r, to, 0, to.bytes());
  });
  copy(job.send[0], job.receive[static_cast<size_t>(root)]);
}

void scatter(Mesh& mesh, Talk& talk, const Job& job) {
  const int root = job.header.root;
  if (mesh.rank() != root) {
    talk.greet(root);
    talk.receive(root, job.receive[0], 0, job.receive[0].bytes());
    return;
  }
  each_other(mesh, [&](int r) {
    const Pieces& from = job.send[static_cast<size_t>(r)];
    talk.greet(r);
    talk.send(r, from, 0, from.bytes());
  });
  copy(job.send[static_cast<size_t>(root)], job.receive[0]);
}

// Every rank has its own bytes for every other. Their number is said and compared before.
void exchange_unequal(Mesh& mesh, Talk& talk, const Job& job) {
  const auto n = static_cast<size_t>(mesh.size());
  const auto own = [&](size_t r) -> const Pieces& {
    return job.send[job.send.size() == 1 ? 0 : r];
  };
  std::vector<uint64_t> sizes(n), theirs(n);
  std::vector<Pending> come(n);
  each_other(mesh, [&](int other) {
    const auto r = static_cast<size_t>(other);
    sizes[r] = own(r).bytes();
    talk.send(other, &sizes[r], sizeof sizes[r]);
    talk.receive(other, &theirs[r], sizeof theirs[r], &come[r]);
  });
  const auto me = static_cast<size_t>(mesh.rank());
  sizes[me] = theirs[me] = own(me).bytes();
  for (const Pending& p : come) talk.wait(p);
  for (size_t r = 0; r < n; ++r)
    if (theirs[r] != job.receive[r].bytes())
      mesh.fail(Failure::disagreement,
                text_of_sizes(mesh, job.header, static_cast<int>(r), theirs[r],
                              static_cast<int>(me), job.receive[r].bytes()));
  each_other(mesh, [&](int other) {
    const auto r = static_cast<size_t>(other);
    talk.send(other, own(r), 0, sizes[r]);
    talk.receive(other, job.receive[r], 0, theirs[r]);
  });
  copy(own(me), job.receive[me]);
  talk.settle();
}

void run_kind(Mesh& mesh, Talk& talk, const Job& job) {
  switch (job.header.kind) {
    case Kind::barrier:
    case Kind::new_group:
      return barrier(mesh, talk);
    case Kind::all_reduce:
      return all_reduce(mesh, talk, job);
    case Kind::reduce:
      return reduce(mesh, talk, job);
    case Kind::reduce_scatter:
      return reduce_scatter(mesh, talk, job);
    case Kind::broadcast:
      return broadcast(mesh, talk, job);
    case Kind::all_gather:
      return all_gather(mesh, talk, job);
    case Kind::gather:
      return gather(mesh, talk, job);
    case Kind::scatter:
      return scatter(mesh, talk, job);
    case Kind::all_gather_v:
    case Kind::alltoall:
      return exchange_unequal(mesh, talk, job);
    case Kind::send:
    case Kind::recv:
      break;
  }
  ARGOSY_INVARIANT(false);
}

}  // namespace

void compare(Mesh& mesh, const Job& job) {
  Talk talk(mesh, job);
  talk.greet((mesh.rank() + 1) % mesh.size());
  talk.greet((mesh.rank() + mesh.size() - 1) % mesh.size());
  talk.finish();
}

void run(Mesh& mesh, const Job& job) {
  Talk talk(mesh, job);
  run_kind(mesh, talk, job);
  talk.finish();
}

}  // namespace argosy::comm
