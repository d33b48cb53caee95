#include <algorithm>

#include "argosy/ps/service/server_core.h"

namespace argosy::ps {

void Core::mail(Request request, const Patience& patience, const Done& done) {
  const Header& h = request.header;
  if (request.method == Method::post) {
    Result result;
    bool taken = false;
    result.failure = mailbox_.post(h, std::move(request.values), &taken);
    result.answer.number = taken;
    return done(std::move(result));
  }
  if (request.keys.size() % sizeof(Key))
    return done({{Code::bad_request, "keys: expected a multiple of 8 bytes"}, {}});
  const std::chrono::milliseconds wait(std::min(h.wait_ms, 60'000u));
  const auto answer = [done](Mailbox::Collected c) {
    Result result;
    result.failure = std::move(c.failure);
    result.answer.parts = std::move(c.pieces);
    done(std::move(result));
  };
  mailbox_.collect(h, request.keys.as<const uint64_t>(), patience.at_most(wait), answer);
}

uint64_t Core::answer_bytes(const Request& request) const {
  const Table* t = find(request.header.table);
  if (!t) return 0;
  uint64_t bytes = 0;
  if (request.method == Method::pull_sparse && t->sparse)
    bytes = request.keys.size() / sizeof(Key) * t->sparse->pull_width() * sizeof(float);
  else if (request.method == Method::pull_dense && t->dense)
    return t->dense->size() * sizeof(float);
  return bytes > options_.max_message_bytes ? 0 : bytes;  // such a pull is refused
}

}  // namespace argosy::ps
