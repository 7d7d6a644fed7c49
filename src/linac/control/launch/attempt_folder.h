#pragma once
// The files by which an attempt is known to whoever asks, also after a restart of the service. Each is whole or absent.
//
//   command.json     what to start; written by the launcher, once
//   lock             held by the supervisor while it lives
//   supervisor.json  its process: from now on the attempt has been started and is never started again
//   process.json     the command's process, the leader of its process group
//   exit.json        how the command ended; no process of the attempt is left by then
//   sandbox.json     the first process of its sandbox, if it has one: all others end with it
//   supervisor.log   what the supervisor itself complains of
//   secrets.json     the command's secrets, 0600, until the supervisor has started it
//   ../ATTEMPT-secrets/  those that are files, while the command runs; beside the folder, as another account may have
//                    to come through to them
//
// Whoever can write here says what is started, so the folder and its files are this account's alone, and no links: what
// is not counts as damaged.
//
// Thread-safe for different folders.

#include <filesystem>
#include <optional>

#include "linac/control/launch/command.h"
#include "linac/control/launch/process_facts.h"

struct passwd;

namespace linac::launch {

/// In the environment of all processes of an attempt, with the folder's path.
inline constexpr const char* kAttemptVariable = "LINAC_ATTEMPT";

/// Whether a file or folder of this name, beside or in an attempt's folder, is there for its secrets.
bool holds_secrets(const std::filesystem::path& name);

class AttemptFolder {
 public:
  explicit AttemptFolder(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path lock() const { return root_ / "lock"; }
  std::filesystem::path supervisor_log() const { return root_ / "supervisor.log"; }

  /// Makes the folder, 0700, in one that is there; if it was there, looks at it as check() does.
  void make() const;
  /// Environment error if the folder is a link, another account's, or others may write in it.
  void check() const;

  // Empty if the file is not there; environment error if it is there and damaged.
  std::optional<Command> command() const;
  std::optional<ProcessKey> supervisor() const;
  std::optional<ProcessKey> process() const;
  std::optional<ProcessKey> sandbox() const;
  std::optional<Exit> exit() const;
  /// When the supervisor wrote itself down, in ms since 1970; 0 if it has not.
  int64_t started_ms() const;

  // Environment error if it cannot be written.
  void write(const Command& command) const;
  void write_supervisor(const ProcessKey& key) const;
  void write_process(const ProcessKey& key) const;
  void write_sandbox(const ProcessKey& key) const;
  void write(const Exit& exit) const;

  /// Over those that are there; none is no file.
  void write_secrets(const std::vector<Secret>& secrets) const;
  std::vector<Secret> secrets() const;
  void forget_secrets() const;
  /// Makes a file of each that is one, readable by `account` alone (null: by this one), and gives the variables of all.
  std::vector<std::pair<std::string, std::string>> place_secrets(const std::vector<Secret>& secrets,
                                                                 const passwd* account) const;
  std::filesystem::path secret_files() const;
  /// The files, too. What is not there is no error; environment error if something stays.
  void remove_secrets() const;

 private:
  std::filesystem::path root_;
};

}  // namespace linac::launch
