#include "linac/control/launch/attempt_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/private_file.h"
#include "linac/control/launch/secret_words.h"

namespace linac::launch {
namespace {

constexpr int64_t kFileBytesMax = 16 << 20;
constexpr const char *kSecretsFile = "secrets.json", *kSecretFilesEnd = "-secrets";

Error not_ours(const std::filesystem::path& path, const char* why) {
  return environment_error(fmt::format("[launch] {}: {}; nothing is started from there", path.string(), why));
}

void check_owner(const Descriptor& opened, const std::filesystem::path& path) {
  struct stat about {};
  if (::fstat(opened.get(), &about) != 0) throw not_ours(path, std::strerror(errno));
  if (about.st_uid != ::geteuid()) throw not_ours(path, "belongs to another account");
  if ((about.st_mode & 022) != 0) throw not_ours(path, "can be written by other accounts");
}

/// Nothing if the file is not there.
std::optional<std::string> text_of(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file && errno == ENOENT) return std::nullopt;
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0) throw not_ours(path, std::strerror(errno));
  if (!S_ISREG(about.st_mode) || about.st_size > kFileBytesMax) throw not_ours(path, "no small file");
  check_owner(file, path);
  std::string text(static_cast<size_t>(about.st_size), '\0');
  for (size_t done = 0; done < text.size();) {
    const ssize_t got = ::pread(file.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw not_ours(path, "cannot be read");
    done += static_cast<size_t>(got);
  }
  return text;
}

template <class F>
auto read_json(const std::filesystem::path& path, F from_json) -> std::optional<decltype(from_json(nlohmann::json()))> {
  const auto text = text_of(path);
  if (!text) return std::nullopt;
  try {
    return from_json(nlohmann::json::parse(*text));
  } catch (const nlohmann::json::exception& error) {
    throw environment_error(fmt::format("[launch] {}: damaged ({})", path.string(), error.what()));
  }
}

void write_json(const std::filesystem::path& path, const nlohmann::json& json) {
  // Arguments and paths may be in any encoding.
  write_file_atomically(path, json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

Error cannot_place(const std::filesystem::path& path) {
  return environment_error(fmt::format("[launch] {}: cannot be made ({})", path.string(), std::strerror(errno)));
}

void place_file(const std::filesystem::path& path, const std::string& value, const passwd* account) {
  write_private_file(path, value);
  if (account != nullptr && ::lchown(path.c_str(), account->pw_uid, account->pw_gid) != 0) throw cannot_place(path);
}

}  // namespace

bool holds_secrets(const std::filesystem::path& name) {
  const std::string text = name.string();
  return text.starts_with(kSecretsFile) || text.ends_with(kSecretFilesEnd);
}

void AttemptFolder::write_secrets(const std::vector<Secret>& secrets) const {
  if (secrets.empty()) return forget_secrets();
  write_private_file(root_ / kSecretsFile, to_json(secrets).dump());
}

std::vector<Secret> AttemptFolder::secrets() const {
  const auto text = read_private_file(root_ / kSecretsFile, kFileBytesMax);
  if (!text) return {};
  try {
    return secrets_from_json(nlohmann::json::parse(*text)).value();
  } catch (const std::exception&) {  // whose message would have a part of it
    throw environment_error(fmt::format("[launch] {}: damaged", (root_ / kSecretsFile).string()));
  }
}

void AttemptFolder::forget_secrets() const {
  for (const char* end : {"", ".part"}) {
    const std::filesystem::path path = root_ / (std::string(kSecretsFile) + end);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR)
      throw environment_error(fmt::format("[launch] {}: cannot be removed ({})", path.string(), std::strerror(errno)));
  }
}

std::filesystem::path AttemptFolder::secret_files() const {
  std::filesystem::path folder = root_;
  folder += kSecretFilesEnd;
  return folder;
}

// The folder stays this account's, so that nobody else puts links there.
std::vector<std::pair<std::string, std::string>> AttemptFolder::place_secrets(const std::vector<Secret>& secrets,
                                                                              const passwd* account) const {
  std::vector<std::pair<std::string, std::string>> variables;
  const std::filesystem::path folder = secret_files();
  bool made = false;
  for (const Secret& secret : secrets) {
    if (!secret.file) {
      variables.emplace_back(secret.name, secret.value);
      continue;
    }
    if (!made) {
      const mode_t mode = account == nullptr ? 0700 : 0711;
      if (::mkdir(folder.c_str(), mode) != 0 || ::chmod(folder.c_str(), mode) != 0) throw cannot_place(folder);
      made = true;
    }
    place_file(folder / secret.name, secret.value, account);
    variables.emplace_back(secret.name, (folder / secret.name).string());
  }
  return variables;
}

void AttemptFolder::remove_secrets() const {
  forget_secrets();
  std::error_code error;
  std::filesystem::remove_all(secret_files(), error);  // follows no links
  if (error)
    throw environment_error(
        fmt::format("[launch] {}: cannot be removed ({})", secret_files().string(), error.message()));
}

void AttemptFolder::make() const {
  if (::mkdir(root_.c_str(), 0700) != 0 && errno != EEXIST)
    throw environment_error(fmt::format("[launch] {}: cannot be made ({})", root_.string(), std::strerror(errno)));
  check();
}

void AttemptFolder::check() const {
  const Descriptor folder(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!folder) throw not_ours(root_, std::strerror(errno));
  check_owner(folder, root_);
}

std::optional<Command> AttemptFolder::command() const {
  return read_json(root_ / "command.json", command_from_json);
}
std::optional<ProcessKey> AttemptFolder::supervisor() const {
  return read_json(root_ / "supervisor.json", process_key_from_json);
}
std::optional<ProcessKey> AttemptFolder::process() const {
  return read_json(root_ / "process.json", process_key_from_json);
}
std::optional<ProcessKey> AttemptFolder::sandbox() const {
  return read_json(root_ / "sandbox.json", process_key_from_json);
}
std::optional<Exit> AttemptFolder::exit() const {
  return read_json(root_ / "exit.json", exit_from_json);
}

int64_t AttemptFolder::started_ms() const {
  struct stat about {};
  if (::stat((root_ / "supervisor.json").c_str(), &about) != 0) return 0;
  return static_cast<int64_t>(about.st_mtim.tv_sec) * 1000 + about.st_mtim.tv_nsec / 1'000'000;
}

void AttemptFolder::write(const Command& command) const {
  write_json(root_ / "command.json", to_json(command));
}
void AttemptFolder::write_supervisor(const ProcessKey& key) const {
  write_json(root_ / "supervisor.json", to_json(key));
}
void AttemptFolder::write_process(const ProcessKey& key) const {
  write_json(root_ / "process.json", to_json(key));
}
void AttemptFolder::write_sandbox(const ProcessKey& key) const {
  write_json(root_ / "sandbox.json", to_json(key));
}
void AttemptFolder::write(const Exit& exit) const {
  write_json(root_ / "exit.json", to_json(exit));
}

}  // namespace linac::launch
