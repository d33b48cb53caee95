#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "argosy/base/export.h"
#include "argosy/comm/net/socket.h"

// How two ends of a connection prove to each other that they have the job's token, which is never
// sent: each draws a number, and answers the other's with a keyed hash (HMAC-SHA-256) of both
// numbers and of what the caller says it wants. Then the called end says that it takes the
// connection: else a caller could hold one that the other end has given up. With an empty token
// anybody may connect.
namespace argosy::comm::net {

using Nonce = std::array<unsigned char, 16>;
using Mac = std::array<unsigned char, 32>;

// What the caller says it wants: a connection to the store, or between two ranks.
struct Purpose {
  uint64_t magic = 0;
  uint32_t group = 0;
  int32_t rank = 0;  // the caller's
  uint32_t lane = 0;
  uint32_t reserved = 0;
};
inline constexpr uint64_t kStoreMagic = 0x3230657273677261;  // change with what is said
inline constexpr uint64_t kLinkMagic = 0x32306b6e6c677261;

struct Call {
  Purpose purpose;
  Nonce nonce;
};
struct Answer {
  Nonce nonce;
  Mac proof;
};
static_assert(sizeof(Call) == 40 && sizeof(Answer) == 48);
inline constexpr char kTaken = '+';  // what the called end says last

Nonce draw_nonce();
// What the called end, or the caller, answers.
Mac proof_of_called(const std::string& token, const Call& call, const Nonce& nonce);
Mac proof_of_caller(const std::string& token, const Call& call, const Nonce& nonce);
// In a time that does not depend on where they differ.
bool same(const Mac& a, const Mac& b);

enum class Trust : uint8_t { yes, no, silent };
// Both sides, on a connection without anything said before. `silent`: the other end has gone, or
// has not answered before `until`.
Trust prove_as_caller(const Fd& socket, const std::string& token, const Purpose& purpose,
                      Clock::time_point until);
Trust prove_as_called(const Fd& socket, const std::string& token, Purpose* purpose,
                      Clock::time_point until);

}  // namespace argosy::comm::net
