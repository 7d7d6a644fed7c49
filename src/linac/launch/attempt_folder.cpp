#include "linac/launch/attempt_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "linac/base/atomic_file.h"
#include "linac/base/error.h"

namespace linac::launch {
namespace {

template <class F>
auto read_json(const std::filesystem::path& path, F from_json) -> std::optional<decltype(from_json(nlohmann::json()))> {
  if (!std::filesystem::exists(path)) return std::nullopt;
  try {
    return from_json(nlohmann::json::parse(read_file(path)));
  } catch (const nlohmann::json::exception& error) {
    throw environment_error(fmt::format("[launch] {}: damaged ({})", path.string(), error.what()));
  }
}

void write_json(const std::filesystem::path& path, const nlohmann::json& json) {
  // Arguments and paths may be in any encoding.
  write_file_atomically(path, json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace

std::optional<Command> AttemptFolder::command() const {
  return read_json(root_ / "command.json", command_from_json);
}
std::optional<ProcessKey> AttemptFolder::supervisor() const {
  return read_json(root_ / "supervisor.json", process_key_from_json);
}
std::optional<ProcessKey> AttemptFolder::process() const {
  return read_json(root_ / "process.json", process_key_from_json);
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
void AttemptFolder::write(const Exit& exit) const {
  write_json(root_ / "exit.json", to_json(exit));
}

}  // namespace linac::launch
