#pragma once
// Where replicas are divided (train.split): the parts of each, which workers carry and which exchange cells of images
// while they are computed. A piece is a part of a replica; pieces are numbered replica by replica. Without a split a
// piece is a replica, and there is nothing here.

#include <memory>
#include <string>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/model/graph/split/part_hub.h"
#include "linac/train/comm/group.h"

namespace linac::train {

class PartTeams {
 public:
  /// Borrows both.
  PartTeams(const job::Job& job, comm::Group& group);
  ~PartTeams();

  /// Collective, in each new view: groups of the workers that carry parts of the same replica.
  void take_place();

  int parts() const { return job_.train.split.parts(); }
  int replica_of(int piece) const { return piece / parts(); }
  /// Of a piece that this worker carries; null without a split.
  graph::PartLink* link(int piece);
  /// Before each use of links by all pieces here.
  void begin();
  /// A piece here will not be computed to its end: nor will the other parts of its replica.
  void give_up(int piece, const std::string& why);

 private:
  struct Team;

  const job::Job& job_;
  comm::Group& group_;
  std::vector<std::unique_ptr<Team>> teams_;  // by replica; null where nothing of it is here
};

}  // namespace linac::train
