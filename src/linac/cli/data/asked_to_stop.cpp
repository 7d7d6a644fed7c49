#include "linac/cli/data/asked_to_stop.h"

#include "linac/base/base/signals.h"
#include "linac/io/storage/break_off.h"

namespace linac::cli {
namespace {

bool was_asked() {
  return stop_signal() != 0;
}

}  // namespace

std::function<bool()> asked_to_stop() {
  catch_stop_signals();
  storage::break_off_when(was_asked);
  return was_asked;
}

}  // namespace linac::cli
