#include "argosy/ps/service/auth.h"

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
  ARGOSY_CHECK(o.client_certificate_authority.empty() || !o.certificate.empty(), invalid_argument)
      << "[parameter_server] client_certificate_authority: expected a certificate of the server "
         "too, "
         "got none. Do this: set certificate and certificate_key.";
  check_token(o.token);
  check_token(o.admin_token);
  ARGOSY_CHECK(o.admin_token.empty() || !o.token.empty(), invalid_argument)
      << "[parameter_server] admin_token: expected a token for workers too, got none. Do this: set "
         "token.";
  if (is_loopback(o.endpoint)) return;
  ARGOSY_CHECK(!o.token.empty() && (o.insecure || !o.certificate.empty()), invalid_argument)
      << "[parameter_server] " << o.endpoint
      << " can be reached from other machines: expected a token"
      << (o.insecure ? "" : " and a TLS certificate") << ", got "
      << (o.token.empty() ? "no token" : "a token") << " and "
      << (o.certificate.empty() ? "no certificate" : "a certificate")
      << ". Do this: set token, certificate and certificate_key, or listen on 127.0.0.1; in a "
         "network where you trust every machine insecure=True does without the certificate.";
}

void check_exposure(const ClientOptions& o) {
  ARGOSY_CHECK(o.certificate.empty() == o.certificate_key.empty(), invalid_argument)
      << "[parameter_server] TLS needs both certificate and certificate_key, got one of them.";
  ARGOSY_CHECK(o.certificate.empty() || !o.certificate_authority.empty(), invalid_argument)
      << "[parameter_server] certificate: expected the authority of the servers' certificates too, "
         "got none. Do this: set certificate_authority.";
  check_token(o.token);
  check_token(o.admin_token);
  if (o.insecure || !o.certificate_authority.empty() || (o.token + o.admin_token).empty()) return;
  for (const std::string& endpoint : o.endpoints)
    ARGOSY_CHECK(is_loopback(endpoint), invalid_argument)
        << "[parameter_server] " << endpoint
        << " is reached over a network, where others could read the token: expected TLS, got none. "
           "Do "
           "this: set certificate_authority (ARGOSY_TLS_CA), or, in a network where you trust "
           "every "
           "machine, say insecure=True (ARGOSY_INSECURE=1).";
}

std::string authorization_of(std::string_view token) {
  return "Bearer " + std::string(token);
}

Role role_of(std::string_view authorization, const Tokens& tokens) {
  // Both are compared, so that the time tells nothing.
  const bool worker = same_secret(authorization, authorization_of(tokens.worker));
  const bool admin = same_secret(authorization, authorization_of(tokens.admin));
  return admin ? Role::administrator : worker ? Role::worker : Role::nobody;
}

bool is_administration(Method method) {
  switch (method) {
    case Method::shrink:
    case Method::end_day:
    case Method::load:
    case Method::save:
    case Method::stop:
      return true;
    default:
      return false;
  }
}

void check_token(std::string_view token) {
  for (const char c : token)
    ARGOSY_CHECK(c > ' ' && c < 127, invalid_argument)
        << "[parameter_server] token: expected printable ASCII characters without spaces.";
}

}  // namespace argosy::ps
