#include "argosy/ps/service/auth.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "argosy/base/error.h"

namespace argosy::ps {

bool same_secret(std::string_view a, std::string_view b) {
  // The length of a secret is none.
  unsigned different = a.size() != b.size();
  for (size_t i = 0; i < a.size(); ++i)
    different |= static_cast<unsigned char>(a[i]) ^
                 static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  return !different;
}

bool is_loopback(std::string_view endpoint) {
  const std::string_view host = endpoint.substr(0, endpoint.rfind(':'));
  if (host == "localhost" || host == "[::1]" || host == "::1") return true;
  // All of 127.0.0.0/8, and nothing that merely begins so (127.evil.example).
  return host.rfind("127.", 0) == 0 && host.find_first_not_of("0123456789.") == host.npos;
}

void check_exposure(const ServerOptions& o) {
  ARGOSY_CHECK(o.certificate.empty() == o.certificate_key.empty(), invalid_argument)
      << "[parameter_server] TLS needs both certificate and certificate_key, got one of them.";
  check_token(o.token);
  if (o.insecure || is_loopback(o.endpoint)) return;
  ARGOSY_CHECK(!o.token.empty() && !o.certificate.empty(), invalid_argument)
      << "[parameter_server] " << o.endpoint
      << " can be reached from other machines: expected a token and a TLS certificate, got "
      << (o.token.empty() ? "no token" : "a token") << " and "
      << (o.certificate.empty() ? "no certificate" : "a certificate")
      << ". Do this: set token, certificate and certificate_key, listen on 127.0.0.1, or, in a "
         "network where you trust every machine, say insecure=True.";
}

void check_token(std::string_view token) {
  for (const char c : token)
    ARGOSY_CHECK(c > ' ' && c < 127, invalid_argument)
        << "[parameter_server] token: expected printable ASCII characters without spaces.";
}

std::string read_pem(const std::string& path, std::string_view what) {
  std::ifstream in(path, std::ios::binary);
  ARGOSY_CHECK(in, io) << "[parameter_server] " << what << ": cannot read '" << path
                       << "': " << std::strerror(errno) << '.';
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace argosy::ps
