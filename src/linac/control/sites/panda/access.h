#pragma once
// Which PanDA server, and as whom, as panda-client 2.2 finds that out: its variables, a proxy of X.509 or a token. No
// message names a token.

#include <string>

#include "linac/control/sites/panda/settings.h"

namespace linac::sites {

struct PandaAccess {
  std::string server;      // https://HOST[:PORT]
  std::string source_url;  // where jobs fetch from what was uploaded for them
  std::string token, vo;   // of OIDC; else
  std::string proxy;       // a file with certificate and key
  std::string ca_folder;   // empty: the system's
};

/// Which server alone: who asks is not known.
PandaAccess panda_server(const PandaSettings& settings);

/// User error where neither token nor proxy is found, or one has expired.
PandaAccess find_panda_access(const PandaSettings& settings, const std::string& place);

}  // namespace linac::sites
