#pragma once
// One training over several sites: a launch at each, of one name and with one key, whose workers are a group each and
// meet by a relay (io/relay). Its name is "farm+k8s:NAME", that of a part "farm:NAME". Functions that may be called
// from several processes at the same time.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linac/control/sites/launching.h"
#include "linac/control/sites/sites_file.h"

namespace linac::sites {

/// "farm:8,k8s:16" -> of each the site and its --workers. An only one may have none, or a range. User error for text
/// that is none, a site that comes twice, or several of which one has no number of workers.
struct PartWish {
  std::string site, workers;
};
std::vector<PartWish> part_wishes(const std::string& on);

struct Part {
  std::unique_ptr<Site> site;
  Launch launch;
  std::map<std::string, std::string> changes;  // of the site's settings: what tells the workers their group
};
struct Parts {
  std::string name;  // "farm+k8s:NAME"
  std::vector<Part> all;
};
struct Meeting {
  std::string relay;          // HOST:PORT, several behind commas
  std::string pass_key = {};  // file of the key of a user whom the relay lists (io/relay/access.h); empty: none
  int64_t wait_s = 0;         // so long the workers of one place wait for those of the others; 0: as all workers do
};
/// Where the run is to be at a store, the first part writes there, and the others keep their record in the folders of
/// their sites. A name that was given goes on with a launch of that name whose client died. User error for what can be
/// no launch.
Parts make_parts(const std::vector<PartWish>& wishes, const Wishes& each, const Meeting& meeting);

/// Whether the hosts of a part reach the relay. None where no shell leads to them.
std::vector<Finding> look_at_relay(const Part& part, const std::string& relay);

/// Starts all of them, in order. Where one is refused, those that this call has started are cancelled: the others would
/// wait for it in vain.
std::vector<Started> start_parts(const Parts& parts);

/// Of "farm+k8s:NAME", whose site is "farm+k8s", each part's name, in order; else the name itself.
std::vector<LaunchName> parts_of(const LaunchName& name);
/// Of a part, as it is kept, the name of the whole; nothing of another launch.
std::optional<std::string> whole_of(const KeptLaunch& part);

struct PartStanding {
  std::string site;
  Standing standing;
  bool answers = true;  // else `standing` says why not
};
/// How all stand together. The run goes on while a part does. It has succeeded where one has come to its end: the
/// others were lost on the way, and it went on without them.
Standing standing_of_parts(const std::vector<PartStanding>& parts);

}  // namespace linac::sites
