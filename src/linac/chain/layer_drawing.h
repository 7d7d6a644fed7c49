#pragma once
// One layer after the other of one shower, in a workspace: the body of ShowerChain::make(). One thread at a time.

#include "linac/chain/shower_chain.h"
#include "linac/physics/number_sequence.h"

namespace linac::chain {

class LayerDrawing {
 public:
  LayerDrawing(const ChainParts& parts, ShowerChain::Workspace& workspace, float energy_gev, float cotangent,
               const Axis& entry, physics::NumberSequence& numbers);

  /// Draws the next layer, `z`, into the workspace.
  void draw(size_t z);

 private:
  using Cell = ShowerChain::Workspace::Cell;
  using Hit = ShowerChain::Workspace::Hit;

  void begin_passes();
  void mark(int64_t i, int64_t j);
  void choose_cells(int pass);
  void draw_pass(int pass);
  void draw_energies();
  void scale_to_energy();
  LayerSummary summary() const;
  void choose_lively(int pass);
  void choose_in_zone(int pass, float begins, const Halo::Zone& zone);
  int64_t cells_to_next(float part);

  const ChainParts& parts_;
  ShowerChain::Workspace& room_;
  physics::NumberSequence& numbers_;
  Axis entry_, axis_{};
  PassState state_;
  Plane* plane_ = nullptr;
  std::vector<Hit>* hits_ = nullptr;
  std::array<std::array<float, kGuesses>, kPasses> guessed_{};  // by pass
};

}  // namespace linac::chain
