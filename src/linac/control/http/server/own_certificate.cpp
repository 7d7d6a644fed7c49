#include "linac/control/http/server/own_certificate.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <span>

#include "linac/base/base/error.h"
#include "linac/base/base/hex.h"
#include "linac/base/base/private_file.h"

namespace linac::http {
namespace {

template <class T, void (*kFree)(T*)>
struct Freed {
  void operator()(T* it) const { kFree(it); }
};
void free_bio(BIO* bio) {
  BIO_free(bio);
}
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509, X509_free>>;
using Memory = std::unique_ptr<BIO, Freed<BIO, free_bio>>;

constexpr size_t kBytesMax = 64 * 1024;
constexpr int kDays = 50 * 365;  // nobody looks

void need(bool done) {
  if (!done) throw environment_error("[serve] OpenSSL cannot make a key; check its installation");
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

Certificate signed_by(EVP_PKEY* key) {
  Certificate made(X509_new());
  need(made && X509_set_version(made.get(), X509_VERSION_3) == 1 && X509_set_pubkey(made.get(), key) == 1);
  need(ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1) == 1);
  need(X509_gmtime_adj(X509_getm_notBefore(made.get()), 0) != nullptr &&
       X509_time_adj_ex(X509_getm_notAfter(made.get()), kDays, 0, nullptr) != nullptr);
  X509_NAME* name = X509_get_subject_name(made.get());
  const auto* const text = reinterpret_cast<const unsigned char*>("linac");
  need(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0) == 1);
  need(X509_set_issuer_name(made.get(), name) == 1 && X509_sign(made.get(), key, EVP_sha256()) > 0);
  return made;
}

std::string new_pem() {
  const Key key(EVP_EC_gen("P-256"));
  need(key != nullptr);
  const Certificate certificate = signed_by(key.get());
  const Memory memory(BIO_new(BIO_s_mem()));
  need(memory && PEM_write_bio_X509(memory.get(), certificate.get()) == 1 &&
       PEM_write_bio_PrivateKey(memory.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return text_of(memory.get());
}

// "" if the text is no key with its certificate.
std::string fingerprint_of(const std::string& pem) {
  const auto memory = [&] { return Memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))); };
  char no_password[] = "";  // or the terminal would be asked for one
  const Certificate certificate(PEM_read_bio_X509(memory().get(), nullptr, nullptr, no_password));
  const Key key(PEM_read_bio_PrivateKey(memory().get(), nullptr, nullptr, no_password));
  if (!certificate || !key || X509_check_private_key(certificate.get(), key.get()) != 1) return "";
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  need(X509_digest(certificate.get(), EVP_sha256(), digest, &size) == 1);
  return in_hex(std::span(digest, size));
}

}  // namespace

std::optional<OwnCertificate> kept_certificate(const std::filesystem::path& file) {
  const auto pem = read_private_file(file, kBytesMax);
  if (!pem) return std::nullopt;
  const std::string fingerprint = fingerprint_of(*pem);
  if (fingerprint.empty())
    throw user_error(fmt::format(
        "[serve] {}: no key with its certificate; remove it, and a new one is made; tokens of before then name another "
        "service",
        file.string()));
  return OwnCertificate{*pem, fingerprint};
}

OwnCertificate own_certificate(const std::filesystem::path& file) {
  if (auto kept = kept_certificate(file)) return *kept;
  const std::string pem = new_pem();
  const std::string folder = file.parent_path().string();
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    throw environment_error(fmt::format("[serve] {}: cannot be made ({})", folder, std::strerror(errno)));
  write_private_file(file, pem);
  return {pem, fingerprint_of(pem)};
}

}  // namespace linac::http
