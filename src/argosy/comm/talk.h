#pragma once

#include <deque>
#include <vector>

#include "argosy/comm/mesh.h"

namespace argosy::comm {

// Parts that are not done yet.
struct Pending {
  int count = 0;
};

// What one rank says and hears in one collective: bytes to and from other ranks, in order for each
// of them and each direction. Between two ranks that talk at all the headers of both go first, and
// no byte behind a header is taken before it was compared. A header of this collective that comes
// from whom nobody listens to is compared too: so of two ranks that differ, one finds out.
//
// Memory stays as it is until the part is done: `wait`, or the end of `settle`. A Pending lives
// until its parts are done.
class Talk {
 public:
  Talk(Mesh& mesh, const Job& job);

  void greet(int peer);  // headers, no bytes
  void send(int peer, const Pieces& pieces, size_t begin, size_t bytes, Pending* pending = nullptr);
  void send(int peer, const void* data, size_t bytes, Pending* pending = nullptr);
  void receive(int peer, const Pieces& pieces, size_t begin, size_t bytes,
               Pending* pending = nullptr);
  void receive(int peer, void* data, size_t bytes, Pending* pending = nullptr);
  // Moves what can be moved now; says whether anything was.
  bool advance();
  // Moves everything until these parts are done.
  void wait(const Pending& pending);
  // Until all is done and all headers are compared.
  void settle();
  // The same at the end; then checksums of all that was said are compared (ARGOSY_COMM_CHECK).
  void finish();

 private:
  // Bytes of pieces, or at an address.
  struct Part {
    const Pieces* pieces = nullptr;
    char* data = nullptr;
    size_t begin = 0, bytes = 0, moved = 0;
    Pending* pending = nullptr;

    size_t left() const { return bytes - moved; }
    void spans(std::vector<iovec>* out) const;
  };
  using Parts = std::deque<Part>;
  struct Peer {
    bool met = false;       // there is something to say or to hear
    bool compared = false;  // its header
    size_t greeted = 0;     // bytes of this rank's header that it was sent
    Parts out, in;
    uint32_t check_out = 0, check_in = 0;  // checksums so far, and the peer's
    uint32_t theirs = 0;
  };

  Peer& meet(int peer);
  void add(Parts& parts, Part part);
  bool done(const Peer& p) const;
  bool all_done() const;
  template <class Done>
  void drive(Done&& done);
  bool push(int peer, Peer& p);
  bool pull(int peer, Peer& p);
  bool read_ahead(int peer);
  size_t take(int peer, std::span<const iovec> to);
  static void consume(Parts& parts, size_t n, uint32_t* check);
  void compare(int peer, Peer& p);
  bool look_at_stranger(int peer);
  void wait_for_links();
  void check_waiting(bool late);
  bool waits_for(const Peer& p) const;
  bool awaits_much() const;
  static size_t awaited(const Peer& p);  // bytes that are sure to come from it

  Mesh& mesh_;
  const Job& job_;
  Header header_;
  std::vector<Peer> peers_;
  std::vector<iovec> spans_;
  std::vector<Channel::Wish> wishes_;
  const bool checks_;
  Clock::time_point since_;   // when something moved last
  Clock::time_point looked_;  // when failures were looked for
  bool said_ = false;         // that this rank waits
};

}  // namespace argosy::comm
