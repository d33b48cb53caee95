#include "argosy/ps/service/fault.h"

#include <cstdlib>

#include "argosy/base/error.h"

namespace argosy::ps {

std::unique_ptr<Faults> Faults::parse(std::string_view text, uint64_t salt) {
  if (text.empty()) return nullptr;
  auto faults = std::make_unique<Faults>();
  uint64_t seed = 0;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t equals = item.find('=');
    const std::string_view name = item.substr(0, equals);
    const std::string number(equals == item.npos ? "" : item.substr(equals + 1));
    char* end = nullptr;
    const double value = std::strtod(number.c_str(), &end);
    const bool is_number = !number.empty() && !*end && value >= 0;
    const bool chance = is_number && value <= 1;
    if (name == "seed" && is_number)
      seed = std::strtoull(number.c_str(), nullptr, 10);
    else if (name == "delay_ms" && is_number && value <= 60'000)
      faults->delay_ms_ = static_cast<int>(value);
    else if (name == "lose" && chance)
      faults->lose_ = value;
    else if (name == "double" && chance)
      faults->twice_ = value;
    else if (name == "delay" && chance)
      faults->delay_ = value;
    else if (name == "all" && chance)
      faults->lose_ = faults->twice_ = faults->delay_ = value;
    else
      ARGOSY_THROW(invalid_argument)
          << "[parameter_server] faults: expected seed=N, lose=P, double=P, delay=P, delay_ms=N or "
             "all=P with chances P in [0, 1], separated by commas, got '"
          << item << "'.";
  }
  std::seed_seq seeds{seed, seed >> 32, salt, salt >> 32};
  MutexLock lock(faults->mutex_);
  faults->random_.seed(seeds);
  return faults;
}

std::unique_ptr<Faults> Faults::of(const std::string& option, uint64_t salt) {
  const char* variable = std::getenv("ARGOSY_PS_FAULTS");
  return parse(!option.empty() ? option : variable ? variable : "", salt);
}

Faults::Fate Faults::draw() {
  MutexLock lock(mutex_);
  std::uniform_real_distribution<double> chance(0, 1);
  Fate fate;
  fate.lose_request = chance(random_) < lose_ / 2;
  fate.lose_answer = chance(random_) < lose_ / 2;
  fate.twice = chance(random_) < twice_;
  if (chance(random_) < delay_)
    fate.delay = std::chrono::milliseconds(std::uniform_int_distribution(0, delay_ms_)(random_));
  return fate;
}

}  // namespace argosy::ps
