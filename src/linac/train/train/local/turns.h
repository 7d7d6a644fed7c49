#pragma once
// Groups that meet the weights of all one after the other, as where nobody waits for anybody (train.sync.mode =
// downpour, eamsgd, gem, hybrid). In an asynchronous training clocks decide whose turn is next; here a schedule does,
// which is drawn by round, so a training has the same bits on any workers and its staleness is known. Between two turns
// of a group each of the others has had one, or two, or none, as where each goes at its own pace.
//
// All workers know the ways of all groups, and so the weights that each goes on from: nobody serves, and whoever is
// lost takes nothing along. The group's optimiser is what it keeps (local/island_states.h).
//
// Sources: Downpour SGD (Dean et al., NIPS 2012), asynchronous EASGD and EAMSGD (Zhang et al., arXiv:1412.6651,
// algorithms 1 and 2), gradient energy matching (Hermans and Louppe, arXiv:1805.08469), hybrid (Kurth et al.,
// arXiv:1708.05256: synchronous groups, a parameter server for each layer). Pure, thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "linac/base/base/aligned.h"
#include "linac/base/job/job.h"
#include "linac/train/train/state/exchange_state.h"
#include "linac/train/train/state/state.h"

namespace linac::train {

/// The groups in the order of their turns in a round, of a layer, counted in its network. `round`: how many are behind.
std::vector<int> order_of_turns(const job::Train& train, int64_t round, int64_t layer);

/// Weights that take their turns together: all of a network, or a layer of it.
struct TurnPart {
  size_t begin = 0, end = 0;  // in the flat buffer
};
std::vector<TurnPart> parts_of_turns(const job::Sync& sync, const graph::Layout& layout);

/// Turns of others since a group's last one, in a round.
struct Staleness {
  double mean = 0;
  int64_t max = 0;
};
Staleness staleness_of(const job::Train& train, int64_t round, const std::vector<Network>& networks);

/// The weights that a group goes on from: of its last turn, or those of all.
std::span<const float> weights_of_group(const TrainState& state, int group, const Network& network);

/// All groups have their turn. `network`: of all, is changed; `ways`: by group, what it has made of the weights that it
/// went on from, begin minus end; `shared`: what the groups go on from and keep, of the rounds before, is changed.
void take_turns(const job::Train& train, int64_t round, Network& network, const std::vector<AlignedFloats>& ways,
                ExchangeState::Values& shared);

}  // namespace linac::train
