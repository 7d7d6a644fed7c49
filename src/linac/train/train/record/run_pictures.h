#pragma once
// The pictures of a run: another thread draws and writes them while the training goes on, the one that keeps the record
// shows them in TensorBoard. A picture that grows is not drawn after each of many short epochs, whose steps it would
// take the processor from. Used by one thread.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "linac/physics/plot/figure.h"
#include "linac/train/train/loops/loop_words.h"
#include "linac/train/train/state/checkpoint_writer.h"

namespace linac::train {

struct DrawnPicture {
  std::string tag;  // in TensorBoard
  int64_t global_step = 0;
  plot::Picture picture;
};

class RunPictures {
 public:
  enum class Which { kOfEpoch, kLeftOut };

  RunPictures();
  /// Of an epoch that ends with `global_step`, into `folder`; or what was left out of it, once nothing follows.
  void draw(std::vector<Drawing> drawings, Which which, int64_t global_step, const std::filesystem::path& folder,
            CheckpointWriter& writer);
  bool any_left_out() const { return left_out_; }
  /// Those that are for TensorBoard and have come since the last call.
  std::vector<DrawnPicture> take();

 private:
  struct Drawn;
  std::shared_ptr<Drawn> drawn_;  // with the writer's thread
  std::chrono::steady_clock::time_point grown_at_;
  bool left_out_ = false;
};

}  // namespace linac::train
