#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "argosy/base/error.h"
#include "argosy/program/weights.h"
#include "fuzz.h"

using namespace argosy;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int fd = memfd_create("weights", 0);
  auto path_of = [](int file) { return "/proc/self/fd/" + std::to_string(file); };
  // A fuzzer need not guess the length of the header: 'F', then header, 0 and values.
  std::string bytes(fuzz::text(data, size));
  if (size && data[0] == 'F') {
    const size_t end = bytes.find('\0');
    const uint64_t length = (end == bytes.npos ? size : end) - 1;
    std::string with(reinterpret_cast<const char*>(&length), sizeof(length));
    with += bytes.substr(1, length);
    if (end != bytes.npos) with += bytes.substr(end + 1);
    bytes = with;
  }
  if (ftruncate(fd, 0) || pwrite(fd, bytes.data(), bytes.size(), 0) < 0) fuzz::die("no memfd");
  program::NamedTensors w;
  program::Strings metadata;
  try {
    w = program::load_weights(path_of(fd), &metadata);
  } catch (const Error&) {
    return 0;
  }
  // What was read can be written and read again.
  const std::string path = "/tmp/argosy-fuzz-" + std::to_string(getpid());
  program::save_weights(path, w, metadata);
  const program::NamedTensors again = program::load_weights(path);
  unlink(path.c_str());
  if (again.size() != w.size()) fuzz::die("tensors are lost");
  for (const auto& [name, t] : w) {
    bool found = false;
    for (const auto& [other, u] : again)
      if (other == name)
        found = u.dtype() == t.dtype() && u.shape() == t.shape() &&
                std::memcmp(u.raw(), t.raw(), t.nbytes()) == 0;
    if (!found) fuzz::die("a tensor differs");
  }
  return 0;
}
