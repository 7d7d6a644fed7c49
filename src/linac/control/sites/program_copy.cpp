#include "linac/control/sites/program_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/shell_word.h"
#include "linac/base/base/version.h"
#include "linac/control/sites/files/sha256.h"

namespace linac::sites {
namespace {

// What packaging/archive.py builds for.
constexpr const char* kMachine = "Linux x86_64";
constexpr int kGlibcMinor = 34;

std::string programs_folder(const std::string& folder) {
  return folder + "/.programs";
}

// Nobody else can put another program there.
std::string enter_script(const std::string& folder) {
  return fmt::format(
      "umask 022\n"
      "mkdir -p {0} && cd {0} && [ ! -L {0} ] && [ -O . ] && chmod go-w . || {{ echo {1} >&2; exit 4; }}\n",
      shell_word(programs_folder(folder)),
      shell_word(programs_folder(folder) + ": cannot be made, or is a link or somebody else's; look at folder"));
}

}  // namespace

ProgramArchive program_archive(const std::string& file, const std::string& place) {
  const Descriptor archive(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about {};
  if (!archive || ::fstat(archive.get(), &about) != 0 || !S_ISREG(about.st_mode))
    throw user_error(fmt::format("{}.archive: {} is no file that can be read ({}); name what `make dist` has made",
                                 place, file, archive ? "of another kind" : std::strerror(errno)));
  return {file, sha256_of(archive.get()), about.st_size};
}

std::string brought_program(const std::string& folder, const ProgramArchive& archive) {
  return fmt::format("{}/{}/bin/linac", programs_folder(folder), archive.sum);
}

std::string ask_program_script(const std::string& folder, const ProgramArchive& archive) {
  return fmt::format(
      "refuse() {{ echo \"linac: program refused $1\"; exit 0; }}\n"
      "[ ! -x {0} ] || [ ! -O {0} ] || {{ echo 'linac: program there'; exit 0; }}\n"
      "here=\"$(uname -s) $(uname -m)\"\n"
      "[ \"$here\" = {1} ] || refuse \"it is for {2}, and the host is $here\"\n"
      "[ -e /proc/self/exe ] || refuse 'the host has no /proc'\n"
      "libc=$(getconf GNU_LIBC_VERSION 2>/dev/null)\n"
      "case $libc in\n"
      "  'glibc 2.'*) minor=${{libc#glibc 2.}}; minor=${{minor%%.*}}\n"
      "    [ \"$minor\" -ge {3} ] || refuse \"it wants glibc 2.{3} or newer, and the host has $libc\" ;;\n"
      "esac\n"
      "for tool in tar gzip sha256sum flock; do\n"
      "  command -v $tool >/dev/null 2>&1 || refuse \"the host has no program $tool\"\n"
      "done\n"
      "echo 'linac: program wanted'\n",
      shell_word(brought_program(folder, archive)), shell_word(kMachine), kMachine, kGlibcMinor);
}

void bring_program(const Shell& there, const std::string& folder, const ProgramArchive& archive) {
  const ShellAnswer answer = there.need("the program cannot be brought there", ask_program_script(folder, archive));
  const std::string word = answer.last("program");
  if (word == "there") return;
  constexpr std::string_view kRefused = "refused ";
  if (word.starts_with(kRefused))
    throw environment_error(
        fmt::format("[sites] {}: {} cannot be brought there ({}); set program to one that runs there", there.name(),
                    archive.file, word.substr(kRefused.size())));
  log::info(fmt::format("{}: the program is brought there, {} MB, once", there.name(), archive.bytes / 1'000'000));
  // The lock (9): others wait, and find it there. What was left by one that was killed goes.
  const std::string script = fmt::format(
      "{0}"
      "exec 9>lock || exit 4\n"
      "flock -w 1800 9 || {{ echo 'somebody else brings it' >&2; exit 4; }}\n"
      "[ ! -x {1}/bin/linac ] || exit 0\n"
      "rm -rf ./incoming.* ./{1}\n"
      "coming=incoming.$$\n"
      "trap 'rm -rf ./\"$coming\"' EXIT\n"
      "trap 'exit 4' HUP INT TERM PIPE\n"
      "fail() {{ echo \"$1\" >&2; exit 4; }}\n"
      "mkdir \"$coming\" && mkdir \"$coming/tree\" || exit 4\n"
      "cat > \"$coming/archive\" || fail 'it cannot be written; is the disk full, or the quota used up?'\n"
      "[ \"$(sha256sum < \"$coming/archive\" | cut -d \" \" -f 1)\" = {1} ] || fail 'it did not arrive whole'\n"
      "tar -xzf \"$coming/archive\" -C \"$coming/tree\" --strip-components=1 9>&- || "
      "fail 'it cannot be unpacked; is the disk full, or the quota used up?'\n"
      "said=$(\"$coming/tree/bin/linac\" --version 2>&1 9>&-)\n"
      "[ \"$said\" = {2} ] || fail \"it is not {3} there: $said\"\n"
      "said=$(\"$coming/tree/bin/linac\" version 2>&1 9>&-) || fail \"it does not start there: $said\"\n"
      "mv \"$coming/tree\" ./{1} || exit 4\n",
      enter_script(folder), archive.sum, shell_word(fmt::format("linac {}", kVersion)),
      fmt::format("linac {}", kVersion));
  there.send("the program cannot be brought there", script, archive.file);
}

}  // namespace linac::sites
