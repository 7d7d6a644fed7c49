#pragma once
// What every program of linac does first.

namespace linac {

/// Before anything is opened. Descriptors 0 to 2 that cron or a daemon has closed become /dev/null: a socket or file in
/// their place would get what is printed, or be closed by a child. Past `ulimit -f` a write fails, as on a full disk,
/// in place of the signal that ends the process.
void begin_program();

}  // namespace linac
