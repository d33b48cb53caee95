#include "argosy/comm/net/secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <cstring>
#include <vector>

#include "argosy/comm/error.h"

namespace argosy::comm::net {

namespace {

Mac keyed_hash(const std::string& token, const char* side, const Call& call, const Nonce& nonce) {
  std::string text = side;
  text.append(reinterpret_cast<const char*>(&call), sizeof call);
  text.append(reinterpret_cast<const char*>(nonce.data()), nonce.size());
  Mac out{};
  unsigned size = 0;
  const auto* result =
      HMAC(EVP_sha256(), token.data(), static_cast<int>(token.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), out.data(), &size);
  ARGOSY_CHECK(result && size == out.size(), runtime) << "[init_parallel_env] no HMAC of OpenSSL.";
  return out;
}

}  // namespace

Nonce draw_nonce() {
  Nonce out;
  ARGOSY_CHECK(getrandom(out.data(), out.size(), 0) == static_cast<ssize_t>(out.size()), runtime)
      << "[init_parallel_env] the system gives no random numbers: " << std::strerror(errno) << '.';
  return out;
}

Mac proof_of_called(const std::string& token, const Call& call, const Nonce& nonce) {
  return keyed_hash(token, "called", call, nonce);
}

Mac proof_of_caller(const std::string& token, const Call& call, const Nonce& nonce) {
  return keyed_hash(token, "caller", call, nonce);
}

bool same(const Mac& a, const Mac& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Trust prove_as_caller(const Fd& socket, const std::string& token, const Purpose& purpose,
                      Clock::time_point until) {
  const Call call{purpose, draw_nonce()};
  Answer answer;
  if (!send_all(socket, &call, sizeof call, until) ||
      !receive_all(socket, &answer, sizeof answer, until))
    return Trust::silent;
  if (!same(answer.proof, proof_of_called(token, call, answer.nonce))) return Trust::no;
  const Mac proof = proof_of_caller(token, call, answer.nonce);
  char taken = 0;
  if (!send_all(socket, proof.data(), proof.size(), until) ||
      !receive_all(socket, &taken, sizeof taken, until))
    return Trust::silent;
  return taken == kTaken ? Trust::yes : Trust::no;
}

Trust prove_as_called(const Fd& socket, const std::string& token, Purpose* purpose,
                      Clock::time_point until) {
  Call call;
  Answer answer;
  answer.nonce = draw_nonce();
  if (!receive_all(socket, &call, sizeof call, until)) return Trust::silent;
  *purpose = call.purpose;
  answer.proof = proof_of_called(token, call, answer.nonce);
  Mac proof;
  if (!send_all(socket, &answer, sizeof answer, until) ||
      !receive_all(socket, proof.data(), proof.size(), until))
    return Trust::silent;
  if (!same(proof, proof_of_caller(token, call, answer.nonce))) return Trust::no;
  return send_all(socket, &kTaken, sizeof kTaken, until) ? Trust::yes : Trust::silent;
}

}  // namespace argosy::comm::net
