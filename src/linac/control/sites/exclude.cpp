#include "linac/control/sites/exclude.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "linac/base/base/error.h"
#include "linac/base/base/shell_word.h"
#include "linac/base/base/utf8.h"

namespace linac::sites {

const char* const kHowToInclude =
    "name others, take them out of `exclude` and --exclude, or clear marks of the service (linac hosts list)";

bool is_host_word(const std::string& text) {
  return !text.empty() && text[0] != '-' && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
  });
}

std::vector<std::string> hosts_in_words(const std::string& text, const std::string& where) {
  std::vector<std::string> hosts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string host = text.substr(at, end - at);
    if (!is_host_word(host))
      throw user_error(
          fmt::format("{}: '{}' is no name of a host; write them as n04,n05", where, printable(host.substr(0, 80))));
    if (std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
    at = end + 1;
  }
  return hosts;
}

std::vector<std::string> excluded(const CommonSettings& settings, const Launch& launch) {
  std::vector<std::string> all;
  for (const auto* some : {&settings.exclude, &launch.exclude})
    for (const std::string& host : *some)
      if (std::ranges::find(all, host) == all.end()) all.push_back(host);
  return all;
}

bool same_host(const std::string& one, const std::string& other) {
  const auto name = [](const std::string& host) { return host.substr(host.rfind('@') + 1); };
  const std::string a = name(one), b = name(other);
  return a == b || a.starts_with(b + ".") || b.starts_with(a + ".");
}

std::vector<std::string> without_excluded(const std::vector<std::string>& hosts,
                                          const std::vector<std::string>& excluded, const std::string& place) {
  std::vector<std::string> left;
  for (const std::string& host : hosts)
    if (std::ranges::none_of(excluded, [&](const std::string& one) { return same_host(one, host); }))
      left.push_back(host);
  need(!left.empty() || hosts.empty(), place,
       fmt::format("hosts: none is left, all of them are excluded ({}); {}", fmt::join(hosts, ", "), kHowToInclude));
  return left;
}

std::vector<std::string> excluded_of(const std::vector<std::string>& hosts, const std::vector<std::string>& excluded,
                                     const std::string& place) {
  const std::vector<std::string> left = without_excluded(hosts, excluded, place);
  std::vector<std::string> out;
  for (const std::string& host : hosts)
    if (std::ranges::find(left, host) == left.end()) out.push_back(host);
  return out;
}

// As same_host().
std::string is_excluded_function(const std::vector<std::string>& excluded) {
  std::string words;
  for (const std::string& host : excluded) words += " " + shell_word(host);
  return fmt::format(
      "is_excluded() {{\n"
      "  for one in{}; do\n"
      "    for host in \"$@\"; do\n"
      "      case $host in \"$one\"|\"$one\".*) return 0 ;; esac\n"
      "      case $one in \"$host\".*) return 0 ;; esac\n"
      "    done\n"
      "  done\n"
      "  return 1\n"
      "}}\n",
      words);
}

std::string not_here_script(const std::vector<std::string>& excluded) {
  if (excluded.empty()) return "";
  return is_excluded_function(excluded) +
         fmt::format(
             "if is_excluded \"$(hostname 2>/dev/null || uname -n)\"; then\n"
             "  echo \"it calls itself $(hostname 2>/dev/null || uname -n), which is excluded; \"{} >&2\n"
             "  exit 4\n"
             "fi\n",
             shell_word(kHowToInclude));
}

}  // namespace linac::sites
