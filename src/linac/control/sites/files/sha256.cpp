#include "linac/control/sites/files/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "linac/base/base/error.h"

namespace linac::sites {
namespace {

class Sha256 {
 public:
  Sha256() : state_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    LINAC_CHECK(state_ != nullptr && EVP_DigestInit_ex(state_.get(), EVP_sha256(), nullptr) == 1);
  }
  void add(const void* bytes, size_t count) { LINAC_CHECK(EVP_DigestUpdate(state_.get(), bytes, count) == 1); }
  std::string text() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    LINAC_CHECK(EVP_DigestFinal_ex(state_.get(), digest, &size) == 1);
    std::string text;
    for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> state_;
};

}  // namespace

std::string sha256_of(std::string_view text) {
  Sha256 sum;
  sum.add(text.data(), text.size());
  return sum.text();
}

std::string sha256_of(int file) {
  Sha256 sum;
  std::vector<char> room(1 << 20);
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(file, room.data(), room.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw environment_error(fmt::format("[launch] a file here cannot be read ({})", std::strerror(errno)));
    if (got == 0) return sum.text();
    sum.add(room.data(), static_cast<size_t>(got));
    at += got;
  }
}

}  // namespace linac::sites
