#pragma once
// How fast files come from where they lie: a bounded read from each place, over as many connections as a training has.
// Thread-safe.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace linac::storage {

/// Where files lie that come over the same link, and what a read from there gave.
struct LinkRate {
  std::string place;  // "https://host.example.org", "s3://bucket"; kThisHost
  bool is_remote = false;
  int64_t bytes = 0;   // that came; the first of each connection count only where no more came
  double seconds = 0;  // for these; 0: not measured, and `why_not` says why
  std::string why_not = {};

  bool is_measured() const { return seconds > 0; }
  double bytes_per_s() const { return is_measured() ? static_cast<double>(bytes) / seconds : 0; }
};

inline constexpr const char* kThisHost = "this host";

inline constexpr int64_t kProbeBytes = int64_t{8} << 20;        // from a place
inline constexpr int64_t kProbeFirstBytes = int64_t{64} << 10;  // of a connection, which has to be set up
inline constexpr std::chrono::seconds kProbeTime{2};            // after it no further part is asked for
inline constexpr std::chrono::seconds kProbePatience{4};        // for a place, its parts on the way included
inline constexpr std::chrono::seconds kProbeTimeInAll{8};       // for all places
inline constexpr size_t kProbePlacesMax = 4;
inline constexpr size_t kProbeFilesMax = 4;  // of a place, where they are small

/// The scheme with host, bucket or scope of one of expand()'s results, without secrets; kThisHost for a file of it.
std::string place_of(const std::string& url);

/// Of each place among the files (expand()'s results), in the order of the first ones there. Places of other hosts are
/// read one after the other; this host is not. Nothing is measured, and no error thrown, where a server does not answer
/// or fails; where it names no version of its files, or sends no parts, as they would be fetched whole; and beyond the
/// limits above. What does not answer in time is left behind on threads of its own.
std::vector<LinkRate> probe_links(const std::vector<std::string>& urls);

}  // namespace linac::storage
