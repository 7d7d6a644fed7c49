#include "linac/control/sites/site.h"

#include <algorithm>
#include <cctype>

#include "linac/base/base/error.h"
#include "linac/control/sites/exclude.h"

namespace linac::sites {
namespace {

bool is_name(const std::string& text) {
  const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(), letter);
}

}  // namespace

void need(bool holds, const std::string& place, const std::string& what) {
  if (!holds) throw user_error(place + "." + what);
}

void check_common(const CommonSettings& settings, const std::string& place) {
  // Batch systems put it into lines of their own, where they know no quotes and give '%' a meaning.
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string("/._-+=,@").find(c) != std::string::npos;
  };
  need(settings.folder.starts_with('/') && std::all_of(settings.folder.begin(), settings.folder.end(), plain), place,
       "folder: '" + settings.folder +
           "' is no path from / on of letters, digits and ._-+=,@; name a folder there, e.g. /home/me/linac");
  need(settings.out.empty() || settings.out.starts_with("s3://"), place,
       "out: '" + settings.out + "' is no address s3://BUCKET/FOLDER; leave it out to keep runs in folder");
  need(!settings.program.empty() && settings.program.find('\n') == std::string::npos, place,
       "program: empty; name linac's path there");
  for (const auto& [name, value] : settings.environment) {
    need(is_name(name) && value.find('\n') == std::string::npos, place,
         "environment." + name + ": no variable of one line; write NAME: value");
    // By its value it would stand in a script that others may read.
    need(name != "LINAC_RUN_KEY" && name != "LINAC_RUN_KEY_FILE", place,
         "environment." + name + ": each launch gets a key of its own; leave it out");
  }
  for (const std::string& line : settings.setup)
    need(line.find('\n') == std::string::npos, place, "setup: one line of shell each; make it a list");
  for (const std::string& host : settings.exclude)
    need(is_host_word(host), place, "exclude: '" + host + "' is no name of a host; write [n04, n05]");
  plan::check_worth(settings.plan, place);
}

}  // namespace linac::sites
