#include "linac/control/sites/files/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <future>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/safe_path.h"
#include "linac/base/base/shell_word.h"
#include "linac/base/base/utf8.h"
#include "linac/base/job/run_record.h"
#include "linac/control/sites/abilities.h"
#include "linac/control/sites/files/fetch_run.h"

namespace linac::sites {
namespace {

constexpr size_t kHostsAtOnce = 16;

int64_t number(std::string_view text) {
  int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// "BYTES NAME", a zero byte behind each; "end" at last.
void take_line(std::string_view line, RunListing& listing) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos) return;
  std::string_view name = line.substr(space + 1);
  if (name.starts_with("./")) name.remove_prefix(2);
  try {
    const RunFile file{harmless_path(name), number(line.substr(0, space))};
    if (file.name == name && !name.starts_with(kPartsFolder) && file.bytes >= 0) return listing.files.push_back(file);
  } catch (const Error&) {
  }
  listing.refused.push_back(printable(name));
}

}  // namespace

int64_t length_of_record(const RunFolder& folder) {
  const std::string script = fmt::format("{0}[ ! -f {1} ] || echo \"linac: record $(($(wc -c < {1})))\"\n",
                                         enter_run_script(folder, "exit 0"), job::kMetricsFile);
  return number(folder.shell.need("its files cannot be looked at", script).last("record"));
}

std::string enter_run_script(const RunFolder& folder, const std::string& otherwise) {
  return fmt::format("cd {} 2>/dev/null || {{ {}; }}\n", shell_word(folder.path), otherwise);
}

RunFolder folder_of_run(const Site& site, const Record& record) {
  const std::string name = site.name() + ":" + record.label;
  if (record.script)
    throw user_error(fmt::format(
        "[launch] {}: it is a script's; `linac spawn --on {} -t {} --fetch FOLDER` brings what it has written", name,
        site.name(), record.label));
  const std::vector<Shell> shells = shells_of_run(site, record);
  if (shells.empty())
    throw user_error(fmt::format(
        "[launch] {}: its files are in {} of the site, where nothing leads from here; look there, or launch "
        "with --out s3://BUCKET/FOLDER",
        name, record.out));
  if (shells.size() == 1) return {shells.front(), record.out};
  const Shell* best = nullptr;
  int64_t most = 0;
  for (size_t begin = 0; begin < shells.size(); begin += kHostsAtOnce) {
    std::vector<std::future<int64_t>> coming;
    for (size_t i = begin; i < std::min(begin + kHostsAtOnce, shells.size()); ++i)
      coming.push_back(std::async(std::launch::async, [&, i] { return length_of_record({shells[i], record.out}); }));
    for (size_t i = 0; i < coming.size(); ++i) {
      try {
        const int64_t length = coming[i].get();
        if (best != nullptr && length <= most) continue;
        best = &shells[begin + i];
        most = length;
      } catch (const Error& error) {
        log::warn(error.what());
      }
    }
  }
  if (best == nullptr)
    throw environment_error(
        fmt::format("[launch] {}: none of its {} hosts can be reached; try again when one can", name, shells.size()));
  return {*best, record.out};
}

RunListing list_run(const RunFolder& folder) {
  // By no option that GNU's find alone has. What is removed meanwhile has no size, and is passed by.
  const std::string script = enter_run_script(folder, "printf 'end\\000'; exit 0") +
                             "find . -path ./launch -prune -o -type f -exec sh -c '\n"
                             "for file do\n"
                             "  bytes=$(wc -c <\"$file\") && printf \"%s %s\\000\" \"$((bytes))\" \"$file\"\n"
                             "done 2>/dev/null\n"
                             "true' sh {} +\n"
                             "printf 'end\\000'\n";
  const std::string said = folder.shell.need("its files cannot be listed", script).out;
  RunListing listing;
  bool whole = false;
  for (size_t begin = 0; begin < said.size();) {
    const size_t end = std::min(said.find('\0', begin), said.size());
    const std::string_view line = std::string_view(said).substr(begin, end - begin);
    whole = line == "end";
    if (!whole) take_line(line, listing);
    begin = end + 1;
  }
  if (!whole)
    throw environment_error(
        fmt::format("[sites] {}: the list of the files in {} is cut off; try again", folder.shell.name(), folder.path));
  std::ranges::sort(listing.files, {}, &RunFile::name);
  return listing;
}

std::vector<std::string> sums_of(const RunFolder& folder, const std::vector<RunFile>& files) {
  constexpr auto kPatience = std::chrono::hours(24);  // each is read whole
  constexpr size_t kDigits = 64;
  std::string script =
      enter_run_script(folder, "exit 4") +
      "sum() {\n"
      "  if [ -f \"./$1\" ] && [ ! -L \"./$1\" ] && [ \"$(($(wc -c < \"./$1\")))\" -ge \"$2\" ]; then\n"
      "    head -c \"$2\" \"./$1\" | sha256sum | cut -d ' ' -f 1\n"
      "  else echo none; fi\n"
      "}\n";
  for (const RunFile& file : files) script += fmt::format("sum {} {}\n", shell_word(file.name), file.bytes);
  std::string said;
  folder.shell.stream(
      "checksums cannot be made", script, [&](std::string_view piece) { said += piece; }, kPatience);
  std::vector<std::string> sums;
  for (size_t begin = 0; begin < said.size();) {
    const size_t end = std::min(said.find('\n', begin), said.size());
    const std::string sum = said.substr(begin, end - begin);
    sums.push_back(sum.size() == kDigits ? sum : "");
    begin = end + 1;
  }
  if (sums.size() != files.size())
    throw environment_error(fmt::format("[sites] {}: {} checksums for {} files; is there a program sha256sum?",
                                        folder.shell.name(), sums.size(), files.size()));
  return sums;
}

}  // namespace linac::sites
