#pragma once
// One layer after the other of one shower, in a workspace: the body of ShowerChain::make(). One thread at a time.

#include "linac/model/chain/shower_chain.h"
#include "linac/physics/physics/number_sequence.h"

namespace linac::chain {

class LayerDrawing {
 public:
  LayerDrawing(const ChainParts& parts, ShowerChain::Workspace& workspace, float energy_gev, float cotangent,
               const Axis& entry, physics::NumberSequence& numbers);

  /// Draws the next layer, `z`, into the workspace.
  void draw(size_t z);

 private:
  void choose_cells(int pass);
  void draw_pass(int pass);
  void draw_energies(int pass);
  void scale_to_energy();

  const ChainParts& parts_;
  ShowerChain::Workspace& room_;
  LayerWalk& walk_;
  physics::NumberSequence& numbers_;
  std::vector<DrawnHit>* hits_ = nullptr;
};

}  // namespace linac::chain
