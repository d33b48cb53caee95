#include "argosy/comm/choice.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <fstream>

#include "argosy/base/error.h"

namespace argosy::comm {

namespace {

constexpr std::array kNames = {"automatic", "direct",  "shares", "ring",
                               "doubling",  "halving", "tree"};
// What comes is kept until it is reduced, and nothing is reduced before it has come.
constexpr size_t kMostDirect = size_t{256} << 10, kMostDoubling = size_t{1} << 20;
// Where `shares` was asked for, fewer bytes are sent to all at once.
constexpr size_t kAlone = size_t{8} << 10;
// Partial sums have to be so much faster to be taken: others have the bits of ranks on one host.
constexpr double kWorthOtherBits = 4.0 / 3;

}  // namespace

const char* name_of(Algorithm algorithm) {
  return kNames[static_cast<size_t>(algorithm)];
}

Algorithm algorithm_of(const std::string& name, const std::string& what) {
  if (name.empty()) return Algorithm::automatic;
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  ARGOSY_CHECK(found != kNames.end(), invalid_argument)
      << what << ": expected automatic, direct, shares, ring, doubling, halving or tree, got '"
      << name << "'. Do this: set one of them on all processes.";
  return static_cast<Algorithm>(found - kNames.begin());
}

std::string links_text(const std::string& given) {
  if (given.empty() || given[0] != '/') return given;
  std::ifstream file(given);
  std::string line;
  ARGOSY_CHECK(std::getline(file, line) && !line.empty(), invalid_argument)
      << "[environment] ARGOSY_COMM_LINKS: expected a file with a line as 30us,5us,10gbit, got '"
      << given << "', which has none or cannot be read. Do this: write it by argosy launch -m"
      << " argosy.distributed.measure_links FILE, and give all hosts the same.";
  return line;
}

LinkModel links_of(const std::string& text) {
  LinkModel links;
  if (text.empty()) return links;
  double latency = 0, message = 0, gbit = 0;
  int end = 0;
  const int read =
      std::sscanf(text.c_str(), "%lfus,%lfus,%lfgbit%n", &latency, &message, &gbit, &end);
  ARGOSY_CHECK(read == 3 && static_cast<size_t>(end) == text.size() && latency > 0 && message > 0 &&
                   gbit > 0,
               invalid_argument)
      << "[environment] ARGOSY_COMM_LINKS: expected latency, time for a message and bandwidth, as "
         "in 30us,5us,10gbit, got '"
      << text << "'. Do this: set the same on all processes.";
  links.latency = latency * 1e-6;
  links.message = message * 1e-6;
  links.byte = 8e-9 / gbit;
  return links;
}

double seconds_of(Algorithm algorithm, int ranks, size_t bytes, const LinkModel& links) {
  const double n = ranks, all = static_cast<double>(bytes), share = all / n;
  // Steps one after the other, messages in each that a rank sends and as many that it receives.
  const auto cost = [&](double steps, double messages, double sent, double added) {
    return steps * (links.latency + 2 * messages * links.message) + sent * links.byte +
           added * links.operation;
  };
  const auto whole = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  const double rounds = std::bit_width(static_cast<unsigned>(whole)) - 1;
  // Ranks beyond a power of two hand theirs over, and get the result.
  const double beyond = whole < ranks ? cost(2, 1, 2 * all, all) : 0;
  const double depth = std::bit_width(static_cast<unsigned>(ranks - 1));
  switch (algorithm) {
    case Algorithm::direct:
      return cost(1, n - 1, (n - 1) * all, n * all);
    case Algorithm::shares:
      return cost(2, n - 1, 2 * (n - 1) * share, all);
    case Algorithm::ring:
      return cost(2 * (n - 1), 1, 2 * (n - 1) * share, all);
    case Algorithm::doubling:
      return beyond + cost(rounds, 1, rounds * all, rounds * all);
    case Algorithm::halving: {
      const double moved = all * (whole - 1) / whole;
      return beyond + cost(2 * rounds, 1, 2 * moved, moved);
    }
    case Algorithm::tree:
      return cost(2 * depth, 1, 2 * depth * all, depth * all);
    case Algorithm::automatic:
      break;
  }
  ARGOSY_INVARIANT(false);
}

Algorithm choose(Algorithm wanted, int ranks, size_t bytes, bool partial, const LinkModel& links) {
  if (ranks < 2) return Algorithm::direct;
  if (wanted == Algorithm::direct) return wanted;
  const bool sums_in_part = wanted > Algorithm::shares;
  if (sums_in_part && partial && (wanted != Algorithm::ring || ranks > 2)) return wanted;
  if (wanted != Algorithm::automatic) return bytes > kAlone ? Algorithm::shares : Algorithm::direct;

  const auto seconds = [&](Algorithm a) { return seconds_of(a, ranks, bytes, links); };
  const auto faster = [&](Algorithm a, Algorithm b) { return seconds(b) < seconds(a) ? b : a; };
  const bool direct = bytes * static_cast<size_t>(ranks - 1) <= kMostDirect;
  Algorithm best = Algorithm::shares;
  if (direct) best = faster(Algorithm::direct, best);
  if (!partial) return best;
  Algorithm other = faster(Algorithm::tree, Algorithm::halving);
  if (bytes <= kMostDoubling) other = faster(Algorithm::doubling, other);
  return seconds(other) * kWorthOtherBits < seconds(best) ? other : best;
}

}  // namespace argosy::comm
