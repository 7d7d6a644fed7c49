#pragma once
// `--server ADDRESS` may stand anywhere on the line, before the verb too.

#include <string_view>

namespace linac::cli {

/// Takes `--server ADDRESS` and `--server=ADDRESS` out of the words, wherever they stand, and puts the address into
/// LINAC_SERVER, where the program and those that it starts find it. Words of a verb that asks no service stay, and so
/// does a --server without an address: the parser says what is wrong with them. Before there are threads.
void take_server_word(int& argc, char** argv);

/// The address that was taken; "" if none was: a command that is printed to be typed again needs it, too.
std::string_view taken_server();

}  // namespace linac::cli
