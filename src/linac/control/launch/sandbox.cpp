#include "linac/control/launch/sandbox.h"

#include <fmt/format.h>
#include <glob.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "linac/base/base/child_process.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/control/launch/fences.h"

namespace linac::launch {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr std::chrono::seconds kProbeMax{10};
constexpr size_t kNamesMax = 1000;  // of a home

// Places of all accounts that hold sockets and files of programs that run: each sandbox has empty ones.
constexpr const char* kShared[] = {"/tmp", "/var/tmp", "/run", "/var/run", "/dev/shm"};
// Of the kernel's own files, what root may write or read. Whoever is root's number in here would pass for it.
constexpr const char *kReadOnlyOfProc[] = {"/proc/sys", "/proc/irq",  "/proc/bus",
                                           "/proc/fs",  "/proc/acpi", "/proc/scsi"},
                     *kHiddenOfProc[] = {"/proc/sysrq-trigger", "/proc/kcore", "/proc/kmsg", "/proc/mtrr"};
// Of /run, what names are looked up with.
constexpr const char* kOfRun[] = {"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf",
                                  "/run/opengl-driver"};

/// Without links; empty if it is not there.
std::string real(const fs::path& path) {
  std::error_code error;
  const fs::path found = fs::canonical(path, error);
  return error ? "" : found.string();
}

std::string program_of_path(const char* name) {
  const char* path = std::getenv("PATH");
  std::string folders = path != nullptr ? path : "";
  folders += ":/usr/local/bin:/usr/bin:/bin";
  for (size_t from = 0; from < folders.size();) {
    const size_t colon = std::min(folders.find(':', from), folders.size());
    const std::string folder = folders.substr(from, colon - from), program = folder + "/" + name;
    from = colon + 1;
    if (folder.starts_with('/') && ::access(program.c_str(), X_OK) == 0) return program;
  }
  return "";
}

/// Homes of this account, by the host's list and by the environment, and its folder of settings.
Words homes() {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found);
  Words folders;
  const std::array<const char*, 2> candidates = {found != nullptr ? found->pw_dir : nullptr, std::getenv("HOME")};
  for (const char* folder : candidates) {
    const std::string there = folder != nullptr && *folder == '/' ? real(folder) : "";
    if (!there.empty() && there != "/" && std::find(folders.begin(), folders.end(), there) == folders.end())
      folders.push_back(there);
  }
  return folders;
}

void add(Words& words, std::initializer_list<std::string> more) {
  words.insert(words.end(), more);
}

class Arguments {
 public:
  enum class Devices { kNone, kGpus };
  Arguments(const View& view, Devices devices) {
    add(words_, {"--unshare-user", "--unshare-pid", "--unshare-ipc", "--new-session", "--cap-drop", "ALL"});
    add(words_, {"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"});
    for (const char* place : kReadOnlyOfProc)
      if (::access(place, F_OK) == 0) add(words_, {"--ro-bind", place, place});
    for (const char* place : kHiddenOfProc)
      if (::access(place, F_OK) == 0) add(words_, {"--ro-bind", "/dev/null", place});
    if (devices == Devices::kGpus) gpus();
    for (const char* place : kShared)
      if (!std::string_view(place).starts_with("/dev/")) hide_shared(place);
    for (const char* path : kOfRun)
      if (!real(path).empty()) show(path);
    for (const std::string& folder : homes()) home_without_dots(folder);
    if (const char* settings = std::getenv("XDG_CONFIG_HOME"); settings != nullptr && *settings == '/')
      hide(real(fs::path(settings) / "linac"));
    readable_by_root_alone();
    for (const std::string& path : view.hidden) hide(real(path));
    for (const std::string& path : view.programs) show_if_hidden(path);
    for (const std::string& path : view.readable)
      if (!real(path).empty()) show(real(path), path);
    for (const std::string& path : view.writable) {
      add(words_, {"--bind", path, path});
      places_.shown.push_back(path);
    }
  }
  Words words() && { return std::move(words_); }
  Places places() && { return std::move(places_); }

 private:
  void gpus() {
    glob_t found{};
    for (const char* pattern : {"/dev/nvidia*", "/dev/dri", "/dev/kfd"})
      if (::glob(pattern, 0, nullptr, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; ++i)
          add(words_, {"--dev-bind-try", found.gl_pathv[i], found.gl_pathv[i]});
        ::globfree(&found);
      }
  }
  void hide_shared(const char* place) {
    std::error_code error;
    if (fs::is_symlink(place, error)) return;
    hide(real(place));
  }
  void hide(const std::string& path) {
    std::error_code error;
    if (path.empty()) return;
    if (fs::is_directory(path, error))
      add(words_, {"--tmpfs", path});
    else
      add(words_, {"--ro-bind", "/dev/null", path});
    places_.hidden.push_back(path);
  }
  void show(const std::string& path) { show(path, path); }
  void show(const std::string& from, const std::string& path) {
    add(words_, {"--ro-bind", from, path});
    places_.shown.push_back(path);
  }
  void show_if_hidden(const std::string& path) {
    const std::string there = real(path), named = fs::path(path).lexically_normal();
    if (there.empty()) return;
    const auto lies_below = [](const std::string& one, const Words& folders) {
      return std::any_of(folders.begin(), folders.end(),
                         [&](const std::string& folder) { return lies_in(one, folder); });
    };
    // In a folder that is shown, a link is shown too: where it leads has to be there.
    const std::string place = lies_below(named, places_.shown) ? there : named;
    if (lies_below(place, places_.hidden)) show(there, place);
  }
  // By convention names with a dot hold keys, tokens and histories. The home is made anew with what is there now, so
  // what comes later is not there either.
  void home_without_dots(const std::string& folder) {
    hide(folder);
    std::error_code error;
    size_t count = 0;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      if (++count > kNamesMax) break;
      const std::string name = entry->path().filename();
      std::error_code gone;
      if (name.starts_with('.')) continue;
      if (entry->is_symlink(gone))
        add(words_, {"--symlink", fs::read_symlink(entry->path(), gone).string(), entry->path().string()});
      else if (entry->is_directory(gone) || entry->is_regular_file(gone))
        show(entry->path().string());
    }
  }
  // Root's jobs are without root's privileges, but are the owner of its files.
  void readable_by_root_alone() {
    if (geteuid() != 0) return;
    std::error_code error;
    for (fs::directory_iterator entry("/etc", error), end; !error && entry != end; entry.increment(error)) {
      struct stat about {};
      if (::lstat(entry->path().c_str(), &about) != 0 || S_ISLNK(about.st_mode)) continue;
      if ((about.st_mode & S_IROTH) == 0) hide(entry->path().string());
    }
    for (const char* keys : {"/etc/ssh", "/etc/ssl/private"}) hide(real(keys));
  }

  Words words_;
  Places places_;
};

std::string read_to_end(const Descriptor& from) {
  std::string text;
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t got = ::read(from.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(piece.data(), static_cast<size_t>(got));
  }
}

Words bwrap_command(const View& view, Arguments::Devices devices, int filter) {
  const std::string bwrap = program_of_path("bwrap");
  if (bwrap.empty()) throw environment_error("[launch] bubblewrap (bwrap) is not installed");
  Words words = {bwrap};
  Words more = Arguments(view, devices).words();
  words.insert(words.end(), more.begin(), more.end());
  add(words, {"--seccomp", std::to_string(filter)});
  return words;
}

}  // namespace

bool lies_in(const std::string& path, const std::string& folder) {
  return path == folder || (path.starts_with(folder) && (folder.ends_with('/') || path[folder.size()] == '/'));
}

std::vector<std::string> needed_by(const std::string& program) {
  std::vector<std::string> folders = {fs::path(program).parent_path().parent_path()};
  Pipe said_by_it = make_pipe();
  if (!said_by_it) return folders;
  // The loader says what it would load, in place of starting the program.
  ProcessStart start =
      start_program({.words = {program}, .environment = environment_with({{"LD_TRACE_LOADED_OBJECTS", "1"}})},
                    {.in = ChildSettings::kNothing, .out = said_by_it.to.get(), .errors = ChildSettings::kNothing});
  said_by_it.to.reset();
  std::istringstream lines(read_to_end(said_by_it.from));
  if (start.process) start.process.wait();
  for (std::string said; std::getline(lines, said);) {
    const size_t begin = said.find("=> /"), end = said.rfind(" (");
    if (begin == std::string::npos || end == std::string::npos || end < begin) continue;
    const std::string folder = fs::path(said.substr(begin + 3, end - begin - 3)).parent_path();
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
  }
  return folders;
}

std::string Places::hidden_with(const std::string& path) const {
  const std::string place = fs::path(path).lexically_normal();
  const auto innermost = [&](const Words& folders) {
    std::string found;
    for (const std::string& folder : folders)
      if (lies_in(place, folder) && folder.size() > found.size()) found = folder;
    return found;
  };
  const std::string hides = innermost(hidden);
  return hides.size() > innermost(shown).size() ? hides : "";
}

Places places_in(const View& view) {
  return Arguments(view, Arguments::Devices::kNone).places();
}

std::string variables_of_sandbox(const std::vector<std::pair<std::string, std::string>>& variables) {
  std::string arguments;
  for (const auto& [name, value] : variables)
    for (const std::string& word : {std::string("--setenv"), name, value}) arguments.append(word).push_back('\0');
  return arguments;
}

std::vector<std::string> sandboxed(const Command& command, const SandboxFiles& files) {
  using Devices = Arguments::Devices;
  Words words =
      bwrap_command(*command.view, command.limits.gpus.empty() ? Devices::kNone : Devices::kGpus, files.filter);
  add(words, {"--info-fd", std::to_string(files.info)});
  if (files.more >= 0) add(words, {"--args", std::to_string(files.more)});
  if (!command.directory.empty()) add(words, {"--chdir", command.directory});
  words.emplace_back("--");
  words.insert(words.end(), command.argv.begin(), command.argv.end());
  return words;
}

pid_t first_process(const std::string& told) {
  const auto json = nlohmann::json::parse(told, nullptr, false);
  if (!json.is_object() || !json.contains("child-pid") || !json["child-pid"].is_number_integer()) return 0;
  return json["child-pid"].get<pid_t>();
}

std::string why_no_sandbox() {
  Words words;
  const Descriptor filter = call_filter();
  if (!filter) return "no descriptors left";
  try {
    words = bwrap_command({}, Arguments::Devices::kNone, filter.get());
  } catch (const Error&) {
    return "bubblewrap (bwrap) is not installed";
  }
  const std::string probe = program_of_path("true");
  add(words, {"--", probe.empty() ? "/bin/true" : probe});
  Pipe told = make_pipe();
  if (!told) return "no descriptors left";
  ProcessStart start = start_program({.words = words}, {.in = ChildSettings::kNothing,
                                                        .out = ChildSettings::kNothing,
                                                        .errors = told.to.get(),
                                                        .inherited = {filter.get()}});
  told.to.reset();
  if (!start) return fmt::format("{} cannot be started ({})", words[0], start.why());
  const auto end = start.process.wait_for(kProbeMax);
  if (!end) return fmt::format("{} does not come to an end", words[0]);
  if (end->well()) return "";
  std::string why(300, '\0');
  const ssize_t got = ::read(told.from.get(), why.data(), why.size());
  why.resize(got > 0 ? static_cast<size_t>(got) : 0);
  why = why.substr(0, why.find('\n'));
  return why.empty() ? "bwrap fails" : why;
}

}  // namespace linac::launch
