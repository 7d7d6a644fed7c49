// Stands for the generated ui_bundle.cpp where the pages could not be built.
#include "linac/control/service/ui_assets.h"

namespace linac::service {

const std::vector<UiAsset>& ui_assets() {
  static const std::vector<UiAsset> kNone;
  return kNone;
}

}  // namespace linac::service
