#pragma once
// Hosts that a launch keeps away from: those that the site's settings exclude, and those of the launch itself, as
// whoever launches names them or audits of a service's runs have found (docs/guide/audit.md). Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/control/sites/site.h"

namespace linac::sites {

/// Letters, digits and ._- ; begins with no '-'.
bool is_host_word(const std::string& text);
/// "n04,n05": in their order, each once. User error "WHERE ..." for what is no name of a host.
std::vector<std::string> hosts_in_words(const std::string& text, const std::string& where);

/// All that the launch keeps away from, each once.
std::vector<std::string> excluded(const CommonSettings& settings, const Launch& launch);

/// "n04" and "n04.example.org" are one host, whoever of the two has the shorter name; "me@n04" is n04.
bool same_host(const std::string& one, const std::string& other);

/// The hosts that are not excluded. User error if there are some and none is left.
std::vector<std::string> without_excluded(const std::vector<std::string>& hosts,
                                          const std::vector<std::string>& excluded, const std::string& place);
/// The others.
std::vector<std::string> excluded_of(const std::vector<std::string>& hosts, const std::vector<std::string>& excluded,
                                     const std::string& place);

/// `is_excluded NAME...`, a function of sh: whether one of these names of a host is excluded.
std::string is_excluded_function(const std::vector<std::string>& excluded);
/// Lines that end the script with status 4, and words, on a host that is excluded by what it calls itself: where names
/// of ssh are others. Empty if none is.
std::string not_here_script(const std::vector<std::string>& excluded);
/// The way out for whoever reads that hosts are excluded.
extern const char* const kHowToInclude;

}  // namespace linac::sites
