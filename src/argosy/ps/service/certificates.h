#pragma once

#include <string>

// Files of TLS, with what can be wrong in them found before anybody connects: gRPC takes anything,
// and no connection says why then. Errors are of ErrorKind::io or invalid_argument and name the
// file.
namespace argosy::ps {

struct Identity {
  std::string chain, key;  // PEM
};
// A certificate, which must be valid now, with its private key.
Identity read_identity(const std::string& certificate, const std::string& key);
// Certificates of authorities, one at least; `what`: the option that names the file.
std::string read_authorities(const std::string& path, const char* what);

}  // namespace argosy::ps
