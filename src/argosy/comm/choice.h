#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "argosy/base/export.h"

namespace argosy::comm {

// How an all_reduce goes between ranks that have links. The first two reduce each element at one
// place in the order of ranks, as ranks that share memory do; the others pass partial sums on, so
// they round otherwise, and are not for 16-bit numbers. Whichever it is, all ranks and all runs get
// the same bits.
enum class Algorithm : uint8_t {
  automatic,  // what the model of the links finds fastest
  direct,     // all send all they have to all
  shares,     // each rank reduces its share of what all send it, and sends that to all
  ring,       // partial sums go round from neighbour to neighbour
  doubling,   // pairs at distance 1, 2, 4, .. exchange all they have
  halving,    // pairs exchange halves, then halves of these, ..; then the same back
  tree,       // sums go up a binomial tree and down again
};
ARGOSY_API const char* name_of(Algorithm algorithm);
// Throws for another name, in the name of `what`. Empty: automatic.
ARGOSY_API Algorithm algorithm_of(const std::string& name,
                                  const std::string& what = "[environment] ARGOSY_COMM_ALGORITHM");

// What links and ranks take, in seconds.
struct LinkModel {
  double latency = 30e-6;     // from one rank to another
  double message = 5e-6;      // of a rank's processor, for each message that it sends or receives
  double byte = 0.8e-9;       // on a link, in one direction
  double operation = 0.1e-9;  // of a rank's processor, for each byte that it adds
  bool operator==(const LinkModel&) const = default;
};
// What ARGOSY_COMM_LINKS says: itself, or the line in the file that it names by a path from the
// root.
ARGOSY_API std::string links_text(const std::string& given);
// "30us,5us,10gbit": latency, message, bandwidth. Empty: that of the members above, between hosts
// with 10 Gbit/s. Throws for another text.
ARGOSY_API LinkModel links_of(const std::string& text);

// What an all_reduce of `bytes` between `ranks` takes by the model.
ARGOSY_API double seconds_of(Algorithm algorithm, int ranks, size_t bytes, const LinkModel& links);

// The way that is taken where `wanted` was asked for. It depends on its arguments alone, which are
// the same on all ranks: a measurement of the moment would change bits from run to run.
// `partial`: sums of some ranks may be rounded.
ARGOSY_API Algorithm choose(Algorithm wanted, int ranks, size_t bytes, bool partial,
                            const LinkModel& links);

}  // namespace argosy::comm
