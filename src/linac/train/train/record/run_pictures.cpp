#include "linac/train/train/record/run_pictures.h"

#include <mutex>
#include <utility>

namespace linac::train {
namespace {

constexpr std::chrono::seconds kPause{5};

}  // namespace

struct RunPictures::Drawn {
  std::mutex mutex;
  std::vector<DrawnPicture> pictures;
};

RunPictures::RunPictures() : drawn_(std::make_shared<Drawn>()) {}

// Drawing takes longer than the training may pause, and a disk may take any time.
void RunPictures::draw(std::vector<Drawing> drawings, Which which, int64_t global_step,
                       const std::filesystem::path& folder, CheckpointWriter& writer) {
  const auto now = std::chrono::steady_clock::now();
  const bool is_last = which == Which::kLeftOut, grows = is_last || now >= grown_at_ + kPause;
  for (Drawing& one : drawings) {
    if (one.grows ? !grows : is_last) {
      left_out_ |= one.grows;
      continue;
    }
    if (one.grows) {
      grown_at_ = now;
      left_out_ = false;
    }
    writer.add("drawing a picture", [drawing = std::move(one), folder, global_step, drawn = drawn_] {
      plot::Picture picture = drawing.draw();
      plot::write_picture(folder / drawing.file, picture);
      if (drawing.tag.empty()) return;
      const std::lock_guard lock(drawn->mutex);
      drawn->pictures.push_back({drawing.tag, global_step, std::move(picture)});
    });
  }
}

std::vector<DrawnPicture> RunPictures::take() {
  const std::lock_guard lock(drawn_->mutex);
  return std::exchange(drawn_->pictures, {});
}

}  // namespace linac::train
