#include "linac/train/comm/c10d/c10d_store.h"
#include "linac/train/comm/test_stores.h"

namespace linac::comm::testing {
namespace {

// Before the first test.
[[maybe_unused]] const bool chosen = (chosen_stores() = &c10d_stores()) != nullptr;

}  // namespace
}  // namespace linac::comm::testing
