#include "argosy/comm/host_sum.h"

#include <algorithm>
#include <cstring>

#include "argosy/comm/combine.h"
#include "argosy/comm/shares.h"

namespace argosy::comm {

HostSum::HostSum(Board* host, const Job& job, size_t carriers, int ranks, uint64_t* turn,
                 std::function<bool()> meanwhile)
    : host_(host),
      job_(job),
      ranks_(ranks),
      turn_(turn),
      meanwhile_(std::move(meanwhile)),
      here_(host ? static_cast<size_t>(host->size()) : 1),
      me_(host ? static_cast<size_t>(host->rank()) : 0),
      carriers_(carriers),
      item_(item_of(job)),
      share_((job.bytes() / item_ + carriers - 1) / carriers * item_) {
  if (!host_ || job_.bytes() < InPlace::kLeast) return;
  shown_ = part(Kind::all_reduce, job_.bytes());
  shown_.turn = (*turn_)++;
  shown_.send = job_.send;
  shown_.receive = job_.receive;
  steps_.emplace(*host_, shown_);
  seen_.emplace(*host_, *steps_, shown_);
}

HostSum::Range HostSum::range(size_t r, size_t begin, size_t bytes) const {
  const size_t end = std::min(job_.bytes(), (r + 1) * share_);
  const size_t from = std::min(end, r * share_ + begin);
  return {from, std::min(end, from + bytes) - from};
}

Pieces HostSum::cut(const Pieces& pieces, size_t r, size_t begin, size_t bytes) const {
  const Range at = range(r, begin, bytes);
  Pieces out;
  pieces.each(at.begin, at.bytes, [&](char* p, size_t, size_t n) { out.add(p, n); });
  return out;
}

Pieces HostSum::cut_hidden(const Pieces& pieces, size_t r, size_t begin, size_t bytes) const {
  const Range at = range(r, begin, bytes);
  return seen_ ? seen_->hidden(pieces, at.begin, at.bytes) : cut(pieces, r, begin, bytes);
}

size_t HostSum::longest_hidden(size_t begin, size_t bytes) const {
  size_t longest = 0;
  for (size_t r = 0; r < carriers_; ++r) {
    const Range at = range(r, begin, bytes);
    longest = std::max(longest, seen_ ? seen_->hidden_bytes(at.begin, at.bytes) : at.bytes);
  }
  return longest;
}

Job HostSum::part(Kind kind, size_t bytes) const {
  Job part;
  part.header = job_.header;
  part.header.kind = kind;
  part.header.op = op();
  part.header.count = bytes / item_;
  part.shown = &job_.header;
  part.seconds = job_.seconds;
  part.meanwhile = meanwhile_;
  return part;
}

void HostSum::run(Job part) {
  part.turn = (*turn_)++;
  host_->run(part);
}

void HostSum::reduce(size_t begin, size_t bytes) {
  if (!host_) {  // its values are its host's
    each_of_both(cut(job_.receive[0], me_, begin, bytes), 0, cut(job_.send[0], me_, begin, bytes),
                 0, range(me_, begin, bytes).bytes,
                 [](char* to, const char* from, size_t, size_t n) {
                   if (to != from) std::memcpy(to, from, n);
                 });
    return;
  }
  if (const size_t longest = longest_hidden(begin, bytes)) {
    Job down = part(Kind::reduce_scatter, longest);
    for (size_t r = 0; r < here_; ++r)
      down.send.push_back(cut_hidden(job_.send[0], r, begin, bytes));
    down.receive.push_back(cut_hidden(job_.receive[0], me_, begin, bytes));
    run(std::move(down));
  }
  const Range own = range(me_, begin, bytes);
  if (seen_) seen_->gather(own.begin, own.bytes, op());
}

void HostSum::divide(const Pieces& pieces) const {
  if (!average()) return;
  pieces.each(0, pieces.bytes(), [&](char* p, size_t, size_t n) {
    const char* sum = p;
    combine(Reduce::avg, job_.header.dtype, p, {&sum, 1}, static_cast<int64_t>(n / item_), ranks_);
  });
}

void HostSum::spread(size_t begin, size_t bytes) {
  if (!host_) return divide(cut(job_.receive[0], me_, begin, bytes));
  const Range own = range(me_, begin, bytes);
  if (seen_) seen_->spread(own.begin, own.bytes, average() ? ranks_ : 0);
  if (longest_hidden(begin, bytes)) {
    const Pieces result = cut_hidden(job_.receive[0], me_, begin, bytes);
    divide(result);
    Job up = part(Kind::all_gather_v, 0);
    up.header.op = Reduce::none;
    up.send.push_back(result);
    for (size_t r = 0; r < here_; ++r)
      up.receive.push_back(cut_hidden(job_.receive[0], r, begin, bytes));
    run(std::move(up));
  } else if (carriers_ < here_) {
    steps_->show();  // who carries nothing waits no longer than a stretch takes
  }
}

void HostSum::finish() {
  if (steps_) steps_->show();
}

}  // namespace argosy::comm
