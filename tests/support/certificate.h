#pragma once

#include <cstdio>
#include <memory>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdexcept>
#include <string>

namespace dlo::testing {

/// A certificate that signs itself, and its key, as PEM files made on the spot.
struct CertificateFiles {
  std::string certificate;
  std::string key;
};

/// Who signs a certificate; nobody: it signs itself.
struct Authority {
  std::unique_ptr<X509, decltype(&X509_free)> certificate{nullptr, X509_free};
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key{nullptr, EVP_PKEY_free};

  /// Read from files that `make_certificate` has written.
  static Authority of(const CertificateFiles& files) {
    Authority made;
    const auto open = [](const std::string& path) {
      return std::unique_ptr<std::FILE, int (*)(std::FILE*)>(std::fopen(path.c_str(), "r"),
                                                             std::fclose);
    };
    made.certificate.reset(PEM_read_X509(open(files.certificate).get(), nullptr, nullptr, nullptr));
    made.key.reset(PEM_read_PrivateKey(open(files.key).get(), nullptr, nullptr, nullptr));
    return made;
  }
};

/// `is_authority`: it may sign others.
inline CertificateFiles make_certificate(const std::string& directory, const std::string& name,
                                         const Authority& by = {}, bool is_authority = false) {
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
  const bool own = by.certificate == nullptr;
  X509_set_issuer_name(made.get(), own ? subject : X509_get_subject_name(by.certificate.get()));
  if (is_authority) {
    X509_EXTENSION* may_sign =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE");
    X509_add_ext(made.get(), may_sign, -1);
    X509_EXTENSION_free(may_sign);
  }
  X509_sign(made.get(), own ? key.get() : by.key.get(), EVP_sha256());
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
