#pragma once
// What a file says of the classes of its objects, for readers that do not know their members. Thread-safe.

#include "linac/io/root/record.h"

namespace linac::root {

/// The classes of a tree as tree_writer.h writes it, and TObjString.
Record streamer_infos();

}  // namespace linac::root
