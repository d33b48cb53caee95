#include "argosy/base/log.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>

#include "argosy/base/flags.h"

namespace argosy::log {
namespace {

constexpr const char* kNames[] = {"error", "warning", "info", "debug"};

std::atomic<int> current{-1};  // -1: not read yet

int level_at_start() {
  std::string text = flags::find("ARGOSY_LOG_LEVEL").text();
  for (int i = 0; i < 4; ++i) {
    if (text == kNames[i]) return i;
  }
  std::fprintf(
      stderr,
      "argosy warning: the environment's ARGOSY_LOG_LEVEL=%s is none of error, warning, info "
      "and debug; using warning\n",
      text.c_str());
  return static_cast<int>(Level::warning);
}

}  // namespace

bool enabled(Level level) {
  int now = current.load(std::memory_order_relaxed);
  if (now < 0) {
    int expected = -1;
    now = level_at_start();
    if (!current.compare_exchange_strong(expected, now)) now = expected;
  }
  return static_cast<int>(level) <= now;
}

void set_level(Level level) {
  current.store(static_cast<int>(level));
}

Line::~Line() {
  std::string line = "argosy ";
  line.append(kNames[static_cast<int>(level_)]).append(": ").append(message_.str()) += '\n';
  // Whether anybody reads it is not ours to care for.
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace argosy::log
