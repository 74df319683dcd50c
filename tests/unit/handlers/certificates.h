#pragma once

#include <memory>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string>

namespace dlo::testing {

/// A key and a self-signed certificate for one name or address, made for one test.
class TestCertificate {
 public:
  explicit TestCertificate(const std::string& subject_alternative_name) {
    key_.reset(EVP_EC_gen("P-256"));
    certificate_.reset(X509_new());
    X509* x = certificate_.get();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 86400);
    X509_set_pubkey(x, key_.get());
    X509_NAME* name = X509_get_subject_name(x);
    const auto* text = static_cast<const unsigned char*>(static_cast<const void*>("dlo test"));
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0);
    X509_set_issuer_name(x, name);
    add(NID_basic_constraints, "critical,CA:TRUE");
    add(NID_subject_alt_name, subject_alternative_name.c_str());
    X509_sign(x, key_.get(), EVP_sha256());
    context_.reset(SSL_CTX_new(TLS_server_method()));
    SSL_CTX_use_certificate(context_.get(), x);
    SSL_CTX_use_PrivateKey(context_.get(), key_.get());
  }

  [[nodiscard]] SSL_CTX* context() const { return context_.get(); }
  void write_to(const std::string& path) const {
    FILE* file = std::fopen(path.c_str(), "w");
    PEM_write_X509(file, certificate_.get());
    std::fclose(file);
  }

 private:
  struct Free {
    void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
    void operator()(X509* p) const { X509_free(p); }
    void operator()(SSL_CTX* p) const { SSL_CTX_free(p); }
  };
  void add(int nid, const char* value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value);
    X509_add_ext(certificate_.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }
  std::unique_ptr<EVP_PKEY, Free> key_;
  std::unique_ptr<X509, Free> certificate_;
  std::unique_ptr<SSL_CTX, Free> context_;
};

}  // namespace dlo::testing
