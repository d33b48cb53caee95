#pragma once

#include "argosy/comm/board.h"
#include "argosy/comm/job.h"

namespace argosy::comm {

// The steps of one collective. The header is shown with the first of them and compared before
// anybody reads what was shown with it.
class Steps {
 public:
  Steps(Board& board, const Job& job) : board_(board), job_(job) {
    board_.check();
    board_.header(board_.rank(), turn()) = job_.compared();
  }

  // Where this rank writes what it shows next.
  char* mine() const { return board_.window(board_.rank(), board_.step()); }
  // Shows it and waits for the others; then `of` gives what a rank has shown.
  void show() {
    step_ = board_.step();
    board_.show();
    board_.all_shown(step_, {job_.compared(), Clock::now() + limit_of(job_.seconds), job_.seconds,
                             job_.meanwhile});
    if (!compared_) compare();
  }
  const char* of(int rank) const { return board_.window(rank, step_); }

 private:
  // Which of two headers a rank shows: they are used in turn.
  uint64_t turn() const { return job_.turn.value_or(job_.header.sequence); }

  void compare() {
    compared_ = true;
    const Header first = board_.header(0, turn());
    for (int r = 1; r < board_.size(); ++r) {
      const Header other = board_.header(r, turn());
      if (first == other) [[likely]]
        continue;
      board_.fail(Failure::disagreement, text_of_disagreement(board_, first, 0, other, r));
    }
  }

  Board& board_;
  const Job& job_;
  uint32_t step_ = 0;
  bool compared_ = false;
};

}  // namespace argosy::comm
