#include "argosy/ps/service/certificates.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

#include "argosy/base/error.h"

namespace argosy::ps {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Bio = std::unique_ptr<BIO, Free>;
using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;

std::string read(const std::string& path, const char* what) {
  std::ifstream in(path, std::ios::binary);
  ARGOSY_CHECK(in, io) << "[parameter_server] " << what << ": cannot read '" << path
                       << "': " << std::strerror(errno) << '.';
  return {std::istreambuf_iterator<char>(in), {}};
}

Bio view(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// A passphrase is never asked for: nobody may sit at the terminal.
int no_passphrase(char*, int, int, void*) {
  return 0;
}

Certificate parse(const std::string& pem, const std::string& path, const char* what) {
  Certificate found(PEM_read_bio_X509(view(pem).get(), nullptr, no_passphrase, nullptr));
  ERR_clear_error();
  ARGOSY_CHECK(found, invalid_argument)
      << "[parameter_server] " << what << ": expected a certificate (PEM), got '" << path
      << "' without one. Do this: give a file with BEGIN CERTIFICATE.";
  return found;
}

std::string text_of(const ASN1_TIME* time) {
  const Bio out(BIO_new(BIO_s_mem()));
  char* text = nullptr;
  if (!ASN1_TIME_print(out.get(), time)) return "an unknown time";
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<size_t>(size)};
}

}  // namespace

Identity read_identity(const std::string& certificate, const std::string& key) {
  Identity identity{read(certificate, "certificate"), read(key, "certificate_key")};
  const Certificate parsed = parse(identity.chain, certificate, "certificate");
  const ASN1_TIME* first = X509_get0_notBefore(parsed.get());
  const ASN1_TIME* last = X509_get0_notAfter(parsed.get());
  ARGOSY_CHECK(X509_cmp_current_time(first) < 0 && X509_cmp_current_time(last) > 0,
               invalid_argument)
      << "[parameter_server] certificate: '" << certificate << "' is valid from " << text_of(first)
      << " to " << text_of(last)
      << ", not now, so nobody would accept it. Do this: have a new one made, or set the clock.";
  const Key parsed_key(
      PEM_read_bio_PrivateKey(view(identity.key).get(), nullptr, no_passphrase, nullptr));
  ERR_clear_error();
  ARGOSY_CHECK(parsed_key, invalid_argument)
      << "[parameter_server] certificate_key: expected a private key (PEM) without a passphrase, "
         "got '"
      << key << "' without one.";
  const bool fits = X509_check_private_key(parsed.get(), parsed_key.get()) == 1;
  ERR_clear_error();
  ARGOSY_CHECK(fits, invalid_argument)
      << "[parameter_server] certificate_key: '" << key << "' is not the key of the certificate '"
      << certificate << "'. Do this: give the key that it was made with.";
  return identity;
}

std::string read_authorities(const std::string& path, const char* what) {
  std::string pem = read(path, what);
  parse(pem, path, what);
  return pem;
}

}  // namespace argosy::ps
