#include "linac/io/storage/rucio/checksums.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <zlib.h>

#include <array>

#include "linac/base/base/error.h"
#include "linac/base/base/hex.h"

namespace linac::storage::rucio {

struct Checksums::Digest {
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  ~Digest() { EVP_MD_CTX_free(context); }
};

Checksums::Checksums() : md5_(std::make_unique<Digest>()) {
  LINAC_CHECK(EVP_DigestInit_ex(md5_->context, EVP_md5(), nullptr) == 1);
}

Checksums::~Checksums() = default;

void Checksums::add(std::span<const std::byte> bytes) {
  adler32_ = ::adler32_z(adler32_, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  LINAC_CHECK(EVP_DigestUpdate(md5_->context, bytes.data(), bytes.size()) == 1);
}

std::string Checksums::adler32() const {
  return fmt::format("{:08x}", adler32_);
}

std::string Checksums::md5() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  LINAC_CHECK(EVP_DigestFinal_ex(md5_->context, digest.data(), &size) == 1);
  return in_hex(std::span(digest).first(size));
}

}  // namespace linac::storage::rucio
