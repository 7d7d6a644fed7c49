#pragma once
// The verbs under `linac data` that have a file of their own, and what they share.

#include <CLI/CLI.hpp>

#include "linac/io/data/formats/table_reader.h"
#include "linac/io/data/showers.h"

namespace linac::cli {

/// `linac data convert` and `linac data split`.
void add_data_convert(CLI::App& data);
void add_data_split(CLI::App& data);
/// `linac data copy`.
void add_data_copy(CLI::App& data);
/// `linac data batches`.
void add_data_batches(CLI::App& data);
/// `linac data stats`.
void add_data_stats(CLI::App& data);
/// `linac data verify`.
void add_data_verify(CLI::App& data);

/// How raw showers become training samples, and what they are called in HDF5.
void add_shower_options(CLI::App& verb, data::Fields& fields, data::Preprocessing& preprocessing);
/// Whether its columns have the names of showers: HDF5 the image of `fields`, TFRecord X, Y, ang and ecal.
bool holds_showers(const data::TableContents& contents, const data::Fields& fields);

}  // namespace linac::cli
