#pragma once
// Who trains together from one moment of a run to another. A run goes through views: a worker is lost or joins, and the
// next view begins where the last one stood. Values only.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace linac::comm {

/// How far a training has come. Two workers of a run at the same moment hold the same bits; the later moment of two
/// comes from more work. A rollback goes back in steps and is later all the same.
struct Moment {
  int64_t rollbacks = -1;  // all -1: no state at all, as a newcomer has it
  int64_t steps = -1;
  int64_t epochs = -1;  // ended ones: the end of an epoch is work between two steps
  auto operator<=>(const Moment&) const = default;
};

struct Member {
  int64_t seniority = 0;  // the order of the ranks; never given twice in a run
  uint64_t key = 0;       // drawn by the process: tells it from an earlier one at the same address
  std::string address{};  // where it listens: "10.0.0.3:41233"
  std::string host{};     // for people
  int64_t pid = 0;        // on that host
  Moment moment{};        // of its state when the view begins
  int share = 0;          // the replicas that it carries; where all have 0, as evenly as can be
  std::string ledger{};   // tells the folder where it writes views down from others; empty: none
  bool operator==(const Member&) const = default;
};

struct View {
  int64_t number = 0;           // views are numbered upwards; 0: none
  uint64_t proposer = 0;        // the key of the process that put it together
  std::vector<Member> members;  // by seniority; the index is the rank
  int64_t next_seniority = 0;
  int fruitless = 0;  // views in a row, this one included, that lost members since the last finished step
  int idle = 0;       // views in a row, this one included, since one with a step and without a bad connection

  int size() const { return static_cast<int>(members.size()); }
  /// The rank of the process with this key, -1 if it is no member.
  int rank_of(uint64_t key) const;
  /// The rank whose state is the latest, the most senior of several.
  int source() const;
  /// Whether some member's state is not the latest.
  bool needs_state() const;
  bool operator==(const View&) const = default;
};

void to_json(nlohmann::json& json, const Moment& moment);
void from_json(const nlohmann::json& json, Moment& moment);
void to_json(nlohmann::json& json, const Member& member);
void from_json(const nlohmann::json& json, Member& member);
void to_json(nlohmann::json& json, const View& view);
void from_json(const nlohmann::json& json, View& view);

/// The replicas that a rank carries: a contiguous ascending range.
struct ReplicaRange {
  int begin = 0, end = 0;
};
ReplicaRange replicas_of(const View& view, int rank, int replicas);

/// Deals replicas to members that need `seconds` for one each, so that the slowest is done soonest; at least one each
/// while there are enough. The same for the same numbers. All seconds above 0.
std::vector<int> deal(int replicas, const std::vector<double>& seconds);
/// The same in packs of so many, which divide the replicas: nobody carries parts of two packs where all have one, and
/// several share one only where there are more members than packs.
std::vector<int> deal_packs(int replicas, int pack, const std::vector<double>& seconds);
/// How long the slowest needs for its share.
double slowest(const std::vector<int>& shares, const std::vector<double>& seconds);

/// "rank 2 (n04, process 7711)"
std::string describe(const View& view, int rank);

}  // namespace linac::comm
