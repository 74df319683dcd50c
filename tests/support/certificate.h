#pragma once

#include <cstdio>
#include <memory>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdexcept>
#include <string>

namespace dlo::testing {

/// A certificate that signs itself, and its key, as PEM files made on the spot.
struct CertificateFiles {
  std::string certificate;
  std::string key;
};

inline CertificateFiles make_certificate(const std::string& directory, const std::string& name) {
  const CertificateFiles files{directory + "/" + name + ".crt", directory + "/" + name + ".key"};
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> made(X509_new(), X509_free);
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
  X509_set_pubkey(made.get(), key.get());
  X509_NAME* subject = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(made.get(), subject);
  X509_sign(made.get(), key.get(), EVP_sha256());
  const auto write = [](const std::string& path, auto put) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"),
                                                               std::fclose);
    if (file == nullptr || put(file.get()) != 1) throw std::runtime_error("cannot write " + path);
  };
  write(files.certificate, [&](std::FILE* file) { return PEM_write_X509(file, made.get()); });
  write(files.key, [&](std::FILE* file) {
    return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  return files;
}

}  // namespace dlo::testing
