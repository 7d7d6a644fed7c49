#pragma once
// What several verbs do with runs: find the one that is meant, follow it, put it into words.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/control/client/service_client.h"

namespace linac::client {

/// What a name means that several runs have.
enum class Several { kNewest, kRefused };

/// The id for an id, the beginning of one (four letters or more), or the name of a run; of one of many its settings may
/// be left out. A name that several runs have
/// means the newest of them, which is said in the log; where the wrong one would be a pity, it is refused. User error,
/// with the nearest name, if there is none.
std::string find_run(ServiceClient& service, const std::string& text, Several several = Several::kNewest);

/// An experiment's number, of a number or a name.
std::string experiment_number(ServiceClient& service, const std::string& text);

/// Where the service has a file of a run, for download() and upload().
std::string file_address(const std::string& run, const std::string& path);

/// Prints its log from byte `from` on (less than 0: from the end) until it has ended; returns the state in which it
/// did. A service that goes away for a while is waited for. Without `follow`: what is there.
std::string print_log(ServiceClient& service, const std::string& run, int64_t from, bool follow);

bool ended(const std::string& state);
/// Of a verb that has waited for a run's end: 0 if it succeeded.
int exit_status(const std::string& state);

/// "train.seed=1..3" → three overrides; "a.b=x,y" → two. Several settings: all combinations, the last one fastest. User
/// error for what is neither, or beyond `count_max`.
std::vector<std::vector<std::string>> array_members(const std::vector<std::string>& settings, size_t count_max = 1000);

/// "2026-01-31 14:05:09", local time; "-" for 0.
std::string time_words(int64_t ms);

}  // namespace linac::client
