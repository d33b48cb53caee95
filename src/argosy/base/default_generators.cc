#include <sys/random.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

#include "argosy/base/draw_order.h"
#include "argosy/base/error.h"
#include "argosy/base/random.h"

// The generators of the process, one for each place.
namespace argosy::random {
namespace {

constexpr int kMaxDevices = 64;

struct Defaults {
  std::mutex mutex;
  // Guarded by mutex; a generator never goes away.
  std::atomic<Generator*> generators[kDeviceKinds][kMaxDevices] = {};
  bool seeded = false;
  uint64_t seed = 0;

  static Defaults& instance() {
    static Defaults* defaults = new Defaults;
    return *defaults;
  }
};

}  // namespace

uint64_t entropy() {
  uint64_t value;
  if (getrandom(&value, sizeof(value), 0) != sizeof(value)) {
    value = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  }
  return value & 0x7fffffffffffffff;  // fits a signed 64-bit attribute
}

Generator& default_generator(Place place) {
  if (place.kind == DeviceKind::cpu) place.index = 0;
  ARGOSY_CHECK(place.index >= 0 && place.index < kMaxDevices, device)
      << "[random] expected a device index from 0 to " << kMaxDevices - 1 << ", got "
      << static_cast<int>(place.index) << '.';
  Defaults& defaults = Defaults::instance();
  auto& slot = defaults.generators[static_cast<int>(place.kind)][place.index];
  if (Generator* generator = slot.load(std::memory_order_acquire)) return *generator;
  std::lock_guard lock(defaults.mutex);
  if (!slot.load(std::memory_order_relaxed)) {
    slot.store(new Generator(defaults.seeded ? defaults.seed : entropy()),
               std::memory_order_release);
  }
  return *slot.load(std::memory_order_relaxed);
}

void seed(uint64_t value) {
  wait_for_draws();  // the first makes its generator, by the seed that it was called under
  Defaults& defaults = Defaults::instance();
  std::vector<Generator*> made;
  {
    std::lock_guard lock(defaults.mutex);
    defaults.seeded = true;
    defaults.seed = value;
    for (auto& row : defaults.generators)
      for (auto& slot : row)
        if (Generator* generator = slot.load(std::memory_order_relaxed)) made.push_back(generator);
  }
  // What is waited for may want the lock.
  for (Generator* generator : made) generator->seed(value);
}

}  // namespace argosy::random
