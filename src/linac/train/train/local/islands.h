#pragma once
// The islands of a training whose train.sync.mode is not exact (the job calls them groups, here comm::Group has that
// word): sets of equally many neighbouring replicas that train apart for a round. Which workers carry an island follows
// from the group's view, and nothing that is computed depends on it: one worker may carry all islands, one after the
// other, or many may share one. Used from one thread.

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/train/comm/exchange.h"
#include "linac/train/comm/group.h"
#include "linac/train/comm/replica_sum.h"
#include "linac/train/train/exchange/scope.h"

namespace linac::train {

/// Who carries an island in a view. A worker that carries no replica listens to the last island, so it knows all that
/// the others know.
struct IslandPlace {
  std::vector<int> ranks;                    // ascending; the first one leads
  std::vector<comm::ReplicaRange> replicas;  // of these ranks, counted from the island's first one
};

/// The place of each of `islands` among the workers. Pure; the same on all ranks.
std::vector<IslandPlace> places_of_islands(const comm::View& view, int replicas, int islands);

/// The place of a rank: the group of workers that it has been started in (train/comm/transport/ways.h), which may be
/// lost as a whole; empty where there are no such.
std::string place_of_rank(const comm::View& view, int rank);

/// Of each leader in `leading`, ascending ranks, the rank that has the copies of what its islands keep. Where `places`,
/// of all ranks, are several, one of another place, so that a place which is lost takes nothing along: a leader if
/// there is one, and of these who has the fewest so far. Else the next leader, which may be itself. Pure; the same on
/// all ranks.
std::vector<int> keepers_of_copies(const std::vector<int>& leading, const std::vector<std::string>& places);

class Islands {
 public:
  /// Borrows both.
  Islands(const job::Job& job, comm::Group& group);

  /// Collective, in each new view, before anything else.
  void enter_view();

  int count() const { return count_; }
  /// Those that this worker carries, ascending.
  const std::vector<int>& carried() const { return carried_; }
  /// Whether this worker speaks for the island where all come together.
  bool leads(int island) const;
  /// Those that it speaks for, ascending.
  const std::vector<int>& led() const { return led_; }
  /// Who carries it, in the view.
  const IslandPlace& place(int island) const { return places_[static_cast<size_t>(island)]; }
  bool is_alone(int island) const { return place(island).ranks.size() == 1; }

  /// What it has sent to workers that speak for other islands, in this view.
  int64_t bytes_to_others() const { return copied_bytes_ + (leaders_ ? leaders_->traffic().bytes : 0); }

  /// What comes together from here on: the replicas of an island that this worker carries, or of all.
  void select(int island) { selected_ = island; }
  void select_all() { selected_.reset(); }
  bool is_one_selected() const { return selected_.has_value(); }
  ReplicaScope& scope();

  /// Collective. `parts`: of the led islands, of equal size everywhere; overwritten. `total` becomes their sum over all
  /// islands along a fixed tree, on all ranks.
  void sum(std::span<const std::span<float>> parts, std::span<float> total, comm::Exchange exchange);
  /// Collective. `part`: of each led island as many bytes, the same number for all; `all`: of all islands, in their
  /// order, on all ranks.
  void gather(std::span<const std::vector<std::byte>> parts, std::vector<std::vector<std::byte>>& all);
  /// The islands of whose states this worker has copies, ascending: all of some other leaders.
  std::vector<int> watched() const;
  /// Collective. `own`: of the led islands, in their order, equally many floats each; returns those of the watched
  /// ones.
  std::vector<float> watch(std::span<const float> own, size_t floats_of_island);

 private:
  void tell_listeners(std::span<std::byte> bytes);
  bool speaks() const { return !led_.empty(); }

  const job::Job& job_;
  comm::Group& group_;
  const int count_, replicas_;  // of an island
  std::vector<IslandPlace> places_;
  std::vector<int> leading_;  // ranks that lead an island, ascending
  std::vector<int> carried_, led_;
  std::vector<std::unique_ptr<comm::Group>> groups_;  // by island; null: not carried
  std::unique_ptr<comm::Group> leaders_;              // null: this worker leads none
  std::map<int, ReplicaScope> scopes_;                // by island, of those that are carried
  std::optional<ReplicaScope> all_;
  std::optional<comm::ReplicaSum> among_leaders_;
  std::vector<comm::ReplicaRange> led_by_;  // of the leaders, by their rank among them
  std::vector<int> keepers_;                // likewise, the ranks that have copies of theirs
  int64_t copied_bytes_ = 0;                // to these, in this view
  std::optional<int> selected_;
};

}  // namespace linac::train
