#include "linac/control/sites/script/spawning.h"

#include <fmt/format.h>

#include <filesystem>

#include "linac/base/base/amounts.h"
#include "linac/base/base/error.h"
#include "linac/base/base/utf8.h"
#include "linac/control/sites/abilities.h"
#include "linac/control/sites/launching.h"
#include "linac/control/sites/script/env_file.h"
#include "linac/control/sites/script/script_files.h"

namespace linac::sites {
namespace {

constexpr size_t kScriptMax = 800 << 10;  // what comes with it fits into the same object of Kubernetes
constexpr size_t kFileMax = 100 << 10;
constexpr int kRestartsMax = 1000;

void need_text(const std::string& text, const std::string& what) {
  if (!valid_text(text)) throw user_error(fmt::format("[spawn] {}: {} is no text in UTF-8", printable(text), what));
}

// A file of requirements, or packages that were named.
std::string requirements(const std::vector<std::string>& pip) {
  std::string lines;
  for (const std::string& one : pip) {
    need_text(one, "--pip");
    std::error_code error;
    // A folder may have the name of a package.
    const bool file = std::filesystem::exists(one, error) && !std::filesystem::is_directory(one, error);
    if (one.ends_with(".txt") || file) {
      lines += read_users_text(one, "the file of requirements", kFileMax) + "\n";
      continue;
    }
    if (one.empty() || one[0] == '-' || one.find_first_of("\n\r") != std::string::npos)
      throw user_error(fmt::format("[spawn] --pip {}: is no package; options of pip go into a file of requirements",
                                   printable(one)));
    lines += one + "\n";
  }
  return lines;
}

Script read_script(const SpawnWishes& wishes) {
  Script script = wishes.script;
  const std::filesystem::path file = wishes.file;
  script.name = printable(file.filename().string());
  script.text = read_users_text(file, "the script", kScriptMax);
  if (script.text.empty()) throw user_error(fmt::format("[spawn] {}: the script is empty", printable(wishes.file)));
  for (const std::string& argument : script.arguments) need_text(argument, "an argument of the script");
  if (!wishes.env_file.empty())
    script.environment = parse_env_file(read_users_text(wishes.env_file, "the env file", kFileMax), wishes.env_file);
  if (!wishes.entry_file.empty()) script.entry = read_users_text(wishes.entry_file, "the command", kFileMax);
  if (!wishes.pod_file.empty()) script.pod = read_users_text(wishes.pod_file, "the pod", kFileMax);
  script.requirements = requirements(wishes.pip);
  for (const std::string& path : script.data) {
    need_text(path, "--data");
    if (path.find('\n') != std::string::npos || (path.find("://") == std::string::npos && !path.starts_with('/')))
      throw user_error(fmt::format(
          "[spawn] --data {}: neither a URL nor a path from / on; it is a place there, not here", printable(path)));
  }
  return script;
}

}  // namespace

Launch make_spawn(const Site& site, const SpawnWishes& wishes) {
  const auto within = [](const char* option, int value, int least, int most) {
    if (value < least || value > most)
      throw user_error(fmt::format("[spawn] {} {}: expected {} to {}", option, value, least, most));
  };
  within("--workers", wishes.script.workers, 1, kWorkersMax);
  within("--ps", wishes.script.ps, 0, kWorkersMax - wishes.script.workers - 1);
  within("--restarts", wishes.script.restarts, 0, kRestartsMax);
  within("--port", wishes.script.port, 0, 65535);
  Launch launch;
  Script script = read_script(wishes);
  if (!script.pod.empty() && site.as<RunsPods>() == nullptr)
    throw user_error(fmt::format("[spawn] --pod-file: {} has no pods; leave it out", site.name()));
  launch.label = label_of(wishes.name, std::filesystem::path(wishes.file).stem().string());
  launch.workers = tasks_of(script);
  if (!wishes.time.empty()) launch.seconds_max = seconds_of("[spawn] --time", wishes.time);
  launch.job = script_job(script);
  launch.out = default_out(site, launch.label, true);
  launch.key = new_key();
  launch.script = std::move(script);
  return launch;
}

}  // namespace linac::sites
