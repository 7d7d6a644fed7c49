#include "linac/train/comm/meeting/run_key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/hex.h"

namespace linac::comm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFileVariable = "LINAC_RUN_KEY_FILE";
constexpr const char* kHowToMakeOne = "make one with `openssl rand -hex 32` and give all workers the same";
constexpr const char* kSealPurpose = "linac seal 1";
constexpr auto kLookAgain = std::chrono::milliseconds(50);
constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

fs::path private_folder(const fs::path& run) {
  return run / "private";
}

fs::path key_file(const fs::path& run) {
  return private_folder(run) / "key";
}

bool is_foreign(const struct stat& file) {
  return geteuid() != 0 && file.st_uid != geteuid() && file.st_uid != 0;
}

Error exposed(const fs::path& path, const char* mode) {
  return user_error(
      fmt::format("[comm] {}: others than its owner can reach it, so it holds no secret; chmod {}, or give "
                  "the workers {} where the disk knows no permissions",
                  path.string(), mode, kRunKeyVariable));
}

// Nothing if there is no such file. No link is followed, and what is no file is not waited for.
std::optional<RunKey> read_key(const fs::path& path, int follow = O_NOFOLLOW) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | follow));
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  if (!file)
    throw environment_error(fmt::format("[comm] {}: cannot be read ({})", path.string(), std::strerror(errno)));
  struct stat facts {};
  if (fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode))
    throw user_error(fmt::format("[comm] {}: not a file; remove it", path.string()));
  if ((facts.st_mode & kOthers) != 0 || is_foreign(facts)) throw exposed(path, "600");
  char text[2 * RunKey::kBytes + 2];
  const auto size = read(file.get(), text, sizeof text);
  if (size < 0)
    throw environment_error(fmt::format("[comm] {}: cannot be read ({})", path.string(), std::strerror(errno)));
  return RunKey::parse({text, static_cast<size_t>(size)}, path.string());
}

void make_private_folder(const fs::path& path) {
  make_folder(path.parent_path());
  if (mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    throw environment_error(fmt::format("[comm] {}: cannot be made ({})", path.string(), std::strerror(errno)));
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode))
    throw user_error(fmt::format("[comm] {}: not a folder; remove it", path.string()));
  if ((facts.st_mode & kOthers) != 0 || is_foreign(facts)) throw exposed(path, "700");
}

}  // namespace

RunKey RunKey::draw() {
  Bytes bytes;
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    throw environment_error("[comm] the system gives no random numbers");
  return RunKey(bytes);
}

RunKey RunKey::parse(std::string_view text, const std::string& source) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  Bytes bytes;
  size_t length = 0;
  const bool whole = text.size() == 2 * kBytes &&
                     OPENSSL_hexstr2buf_ex(bytes.data(), bytes.size(), &length, std::string(text).c_str(), '\0') == 1 &&
                     length == kBytes;
  if (!whole) {
    throw user_error(fmt::format("[comm] {}: not the key of a run, which has {} hexadecimal digits; {}", source,
                                 2 * kBytes, kHowToMakeOne));
  }
  return RunKey(bytes);
}

std::string RunKey::text() const {
  return in_hex(bytes_);
}

RunKey::Bytes RunKey::derive(std::string_view purpose, std::string_view text) const {
  std::string all(purpose);
  all.append(1, '\0').append(text);
  Bytes result;
  unsigned length = 0;
  LINAC_CHECK(HMAC(EVP_sha256(), bytes_.data(), static_cast<int>(bytes_.size()),
                   reinterpret_cast<const unsigned char*>(all.data()), all.size(), result.data(), &length) != nullptr &&
              length == result.size());
  return result;
}

std::string RunKey::seal(std::string_view place, std::string_view text) const {
  std::string whole(place);
  whole.append(1, '\0').append(text);
  return in_hex(derive(kSealPurpose, whole)).append(text);
}

std::optional<std::string> RunKey::open(std::string_view place, std::string_view sealed) const {
  constexpr size_t kSealSize = 2 * kBytes;
  if (sealed.size() < kSealSize) return std::nullopt;
  const std::string text(sealed.substr(kSealSize)), expected = seal(place, text);
  if (CRYPTO_memcmp(expected.data(), sealed.data(), kSealSize) != 0) return std::nullopt;
  return text;
}

std::optional<RunKey> key_of_environment(const EnvironmentLookup& environment) {
  if (const auto text = environment(kRunKeyVariable); text && !text->empty())
    return RunKey::parse(*text, kRunKeyVariable);
  const auto path = environment(kFileVariable);
  if (!path || path->empty()) return std::nullopt;
  auto key = read_key(*path, 0);  // Kubernetes shows a secret by a link
  if (!key) throw user_error(fmt::format("[comm] {}={}: there is no such file", kFileVariable, *path));
  return key;
}

RunKey make_key_in(const fs::path& folder) {
  make_private_folder(private_folder(folder));
  const fs::path path = key_file(folder);
  if (auto key = read_key(path)) return *key;
  // Appears whole or not at all, and once.
  std::string draft = path.string() + ".XXXXXX";
  const Descriptor file(mkostemp(draft.data(), O_CLOEXEC));  // for its owner alone
  const std::string text = RunKey::draw().text() + "\n";
  const bool written = file && write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       fsync(file.get()) == 0 && (link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int why = errno;
  if (file) unlink(draft.c_str());
  if (!written) {
    throw environment_error(
        fmt::format("[comm] {}: cannot be written ({}); give the workers {} where the disk has no "
                    "hard links",
                    path.string(), std::strerror(why), kRunKeyVariable));
  }
  auto key = read_key(path);
  if (!key) throw environment_error(fmt::format("[comm] {}: was removed by somebody", path.string()));
  return *key;
}

RunKey read_key_in(const fs::path& folder, std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  for (;;) {
    if (!folder.empty()) {
      if (auto key = read_key(key_file(folder))) return *key;
    }
    if (folder.empty() || std::chrono::steady_clock::now() >= end) break;
    std::this_thread::sleep_for(kLookAgain);
  }
  throw user_error(
      fmt::format("[comm] no key of the run: {}; workers that do not share the run's folder need {} or {} "
                  "({})",
                  folder.empty() ? "there is no folder that could hold it"
                                 : fmt::format("{} is not there", key_file(folder).string()),
                  kRunKeyVariable, kFileVariable, kHowToMakeOne));
}

}  // namespace linac::comm
