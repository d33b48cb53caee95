#include <atomic>
#include <cstring>

#include "argosy/base/error.h"
#include "argosy/ps/service/server_core.h"
#include "argosy/ps/service/wire.h"
#include "fuzz.h"

// Messages to the handlers of a parameter server, without sockets. An input is a row of
//   method, flags, length (2 bytes), message
// where flag 1 makes the message come from a client that the server knows, flag 2 gives it the next
// sequence number. Other methods: 200 a record of the log, 201 a saved state, 202 an answer, as a
// client reads it.
namespace {

using namespace argosy;
using namespace argosy::ps;

std::vector<TableConfig> tables() {
  TableConfig plain, click, dense;
  plain.accessor.dim = 2;
  plain.max_rows = 10'000;
  click.id = 1;
  click.accessor.kind = "click";
  click.accessor.dim = 2;
  dense.id = 2;
  dense.kind = "dense";
  dense.size = 5;
  return {plain, click, dense};
}

struct NoCut final : Cut {
  uint64_t position(uint32_t, uint32_t) const override { return 0; }
  uint64_t state_position() const override { return 0; }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ServerOptions options;
  options.workers = 2;
  options.tables = tables();
  options.max_message_bytes = 1 << 16;
  Core core(options);
  const ClientId known{1, 1};
  uint64_t sequence = 0, position = 0;
  std::atomic<int> asked{0}, answered{0};
  const auto handle = [&](Request request) {
    ++asked;
    auto once = std::make_shared<std::atomic<int>>(0);
    core.handle(std::move(request), Core::Clock::now(), [&answered, once](const Core::Result& r) {
      if (once->fetch_add(1)) fuzz::die("a request was answered twice");
      encode_answer(r.answer);
      ++answered;
    });
  };
  Request hello;
  hello.header.set_client(known);
  hello.header.workers = 2;
  handle(std::move(hello));
  while (size >= 4) {
    const uint8_t method = data[0], flags = data[1];
    const size_t length = std::min<size_t>(data[2] | data[3] << 8, size - 4);
    data += 4;
    size -= 4;
    // Two pieces, each of its own, so that a read beyond one is seen.
    const auto bytes = std::as_bytes(std::span(data, length));
    const size_t half = flags >> 4 < 8 ? length / 2 : length;
    const std::vector<std::byte> a(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(half));
    const std::vector<std::byte> b(bytes.begin() + static_cast<ptrdiff_t>(half), bytes.end());
    const Piece pieces[] = {a, b};
    data += length;
    size -= length;
    try {
      if (method == 200) {
        core.replay(bytes, ++position, NoCut());
      } else if (method == 201) {
        core.load_state(bytes);
      } else if (method == 202) {
        Answer answer;
        std::vector<Piece> values;
        decode_answer(pieces, &answer, &values);
      } else {
        Request request;
        request.method = static_cast<Method>(method % kMethods);
        if (!decode_request(pieces, &request)) continue;
        Header& h = request.header;
        if (flags & 1) {
          h.set_client(known);
          h.epoch = core.epoch();
        }
        if (flags & 2) h.sequence = ++sequence;
        h.wait_ms = std::min(h.wait_ms, 1u);
        // Nothing is written by a fuzzer.
        if (request.method == Method::save || request.method == Method::load)
          h.name = "/proc/nothing";
        handle(std::move(request));
        core.tick();
      }
    } catch (const Error&) {
    }
  }
  core.leave();
  core.tick();
  core.stop();
  if (asked != answered) fuzz::die("a request was not answered");
  const std::string state = core.save_state();
  core.load_state(std::as_bytes(std::span(state)));
  if (core.save_state() != state) fuzz::die("a saved state does not come back");
  return 0;
}
