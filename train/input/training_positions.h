#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/runtime/session.h"
#include "train/saveable.h"

namespace towerflow::train {

/// Returns what the checkpoint of a training holds besides variables: the collection
/// SAVEABLE_OBJECTS of the default graph, and those of `input_positions` and `random_positions`
/// that are not in it.
std::vector<Saveable> training_positions();

/// Values of a checkpoint, by their keys.
using NamedValues = std::map<std::string, Array>;
/// Returns the value under a key, nothing if there is none.
using ReadValue = std::function<std::optional<Array>(const std::string& key)>;

/// Returns why saved positions are of no use: the positions of queues must be in `files`, unless
/// that is empty, and those of iterators in the same input. Empty if they are.
std::string why_other_input(const std::vector<Saveable>& positions,
                            std::span<const std::string> files, const ReadValue& read);
/// Logs a warning that the positions in a checkpoint are of no use, and why.
void warn_of_other_input(const std::string& checkpoint, const std::string& why);

/// Returns the values that a Saver would write now.
NamedValues values_of(Session& session, const std::vector<Saveable>& positions);
/// Adds nodes that set the positions to these values, and returns their operation: run it once in a
/// session, before the queue runners start. Throws DataLossError for a missing or impossible value.
Operation set_positions(const std::vector<Saveable>& positions, const NamedValues& values);

/// Returns values as bytes: a GraphDef of constants, whose names are the keys.
std::string pack_values(const NamedValues& values);
/// Throws DataLossError for bytes that `pack_values` has not made.
NamedValues unpack_values(std::string_view bytes);

/// The beginning of the key under which process 0 saves the positions of all processes of a
/// training. The number of processes follows.
inline constexpr const char* kPositionsOfProcesses = "_processes/";

}  // namespace towerflow::train
