#include "linac/control/sites/panda/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "linac/base/base/amounts.h"
#include "linac/base/base/utf8.h"
#include "linac/io/storage/rucio/did.h"

namespace linac::sites {
namespace {

// What names of data sets are made of, whatever grid they are of.
bool is_data_set_word(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  });
}

// A job of a grid has no folder that stays; where none is known to the other parts, this one stands.
constexpr const char* kNoFolder = "/grid";

}  // namespace

void check_panda(PandaSettings& settings, const std::string& place) {
  settings.folder = kNoFolder;
  check_common(settings, place);
  need(settings.server.empty() || settings.server.starts_with("https://") || settings.server.starts_with("http://"),
       place, "server: '" + printable(settings.server) + "' is no address; write https://HOST:PORT");
  need(is_data_set_word(settings.prefix) &&
           (settings.prefix.starts_with("user.") || settings.prefix.starts_with("group.")),
       place,
       "prefix: '" + printable(settings.prefix) +
           "' begins no name of yours; write user.NICKNAME, as `voms-proxy-info -all` or the token has it");
  need(!settings.vo.empty(), place, "vo: empty; name the virtual organisation");
  need(settings.container.empty() != settings.archive.empty(), place,
       "container, archive: one of them says where linac comes from; set one");
  if (!settings.archive.empty()) {
    need(settings.archive.starts_with("rucio://"), place,
         "archive: '" + printable(settings.archive) +
             "' is no address rucio://SCOPE:NAME; bring what `make dist` has made there (`rucio upload`)");
    storage::rucio::parse_did(settings.archive);
  }
  if (!settings.memory.empty()) megabytes_of(place + ".memory:", settings.memory);
  if (!settings.time.empty()) seconds_of(place + ".time:", settings.time);
  seconds_of(place + ".idle:", settings.idle);
  need(settings.cpus >= 1, place, "cpus: less than 1");
  need(settings.files >= 1, place, "files: less than 1");
  need(settings.attempts >= 1 && settings.attempts <= 50, place, "attempts: not from 1 to 50");
  need(settings.agents.empty() || settings.agents.starts_with("http"), place,
       "agents: '" + printable(settings.agents) + "' is no address of a service; write https://HOST");
  for (const std::string& name : settings.secrets)
    need(!name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
             std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; }),
         place, "secrets: '" + printable(name) + "' is no name of a variable");
}

}  // namespace linac::sites
