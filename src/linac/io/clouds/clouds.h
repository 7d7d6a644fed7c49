#pragma once
// gs://BUCKET/KEY and az://CONTAINER/KEY by Arrow's file systems: Google's and Azure's object stores, with the keys
// that their own tools find.

namespace linac::clouds {

/// Makes storage know both schemes. Once, at the program's start; nothing is asked or read then.
void provide();

}  // namespace linac::clouds
