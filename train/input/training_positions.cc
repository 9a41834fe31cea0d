#include "train/input/training_positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/graph/collections.h"
#include "core/graph/constant.h"
#include "core/graph/graph_def.h"
#include "core/graph/log.h"
#include "core/graph/scopes.h"
#include "ops/array/constant.h"
#include "ops/control/group.h"
#include "train/input/input_position.h"
#include "train/input/random_position.h"

namespace towerflow::train {
namespace {

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  const auto file = std::filesystem::weakly_canonical(a, error);
  return !error && file == std::filesystem::weakly_canonical(b, error) && !error;
}

/// Returns whether what was saved about an iterator's input is what the saveable says.
bool same_input(const Saveable& iterator, const ReadValue& read) {
  for (const SaveSpec& spec : iterator->specs()) {
    const auto* said = spec.tensor.op().attrs().get_if<ConstAttrs>();
    if (said == nullptr) continue;
    const auto saved = read(spec.name);
    if (saved && saved->item<std::string>() != said->value.item<std::string>()) return false;
  }
  return true;
}

}  // namespace

std::vector<Saveable> training_positions() {
  std::vector<Saveable> positions = get_collection<Saveable>(GraphKeys::SAVEABLE_OBJECTS);
  const auto add = [&](const std::vector<Saveable>& more) {
    for (const Saveable& position : more) {
      const bool known = std::any_of(positions.begin(), positions.end(), [&](const Saveable& one) {
        return one->name() == position->name();
      });
      if (!known) positions.push_back(position);
    }
  };
  add(input_positions());
  add(random_positions());
  return positions;
}

std::string why_other_input(const std::vector<Saveable>& positions,
                            std::span<const std::string> files, const ReadValue& read) {
  for (const Saveable& position : positions) {
    if (!position->name().starts_with("_input/")) continue;
    const auto next = read(position->name() + "/next");  // "file:byte" of a queue's position
    if (!next) {
      if (!same_input(position, read)) return "its input was different";
      continue;
    }
    const std::string place = next->item<std::string>();
    const std::string file = place.substr(0, place.rfind(':'));
    if (!files.empty() && !place.empty() &&
        std::none_of(files.begin(), files.end(),
                     [&](const std::string& one) { return same_file(file, one); })) {
      return "its data were different";
    }
  }
  return "";
}

void warn_of_other_input(const std::string& checkpoint, const std::string& why) {
  log_message(
      LogLevel::warning,
      fmt::format("'{}' holds no input position for this run ({}): the variables are restored, but "
                  "the input starts over",
                  checkpoint, why));
}

NamedValues values_of(Session& session, const std::vector<Saveable>& positions) {
  std::vector<Fetch> fetches;
  for (const Saveable& position : positions) {
    for (const SaveSpec& spec : position->specs()) fetches.emplace_back(spec.tensor);
  }
  const std::vector<Array> fetched = session.run(fetches);
  NamedValues values;
  auto next = fetched.begin();
  for (const Saveable& position : positions) {
    for (const SaveSpec& spec : position->specs()) values.emplace(spec.name, *next++);
  }
  return values;
}

Operation set_positions(const std::vector<Saveable>& positions, const NamedValues& values) {
  std::vector<Operation> set;
  for (const Saveable& position : positions) {
    std::vector<Tensor> restored;
    for (const SaveSpec& spec : position->specs()) {
      const auto found = values.find(spec.name);
      if (found == values.end() || found->second.dtype() != spec.tensor.dtype() ||
          !found->second.shape().compatible(spec.tensor.shape())) {
        throw errors::DataLossError(
            fmt::format("the saved positions have {} for '{}', not {} {}",
                        found == values.end() ? "no value" : found->second.text(), spec.name,
                        dtype_name(spec.tensor.dtype()), spec.tensor.shape().text()));
      }
      restored.push_back(constant(Operand(found->second), {.name = "position"}));
    }
    set.push_back(position->restore(restored, Site::current()));
  }
  return group(set, {.name = "set_positions"});
}

std::string pack_values(const NamedValues& values) {
  GraphDef def;
  for (const auto& [key, value] : values) {
    def.node.push_back(
        {.name = key, .op = "Const", .input = {}, .device = {}, .attr = {{"value", value}}});
  }
  return def.SerializeToString();
}

NamedValues unpack_values(std::string_view bytes) {
  NamedValues values;
  for (const NodeDef& node : GraphDef::FromString(bytes).node) {
    const auto value = node.attr.find("value");
    const Array* array = value == node.attr.end() ? nullptr : value->second.get_if<Array>();
    if (array == nullptr || array->empty()) {
      throw errors::DataLossError(fmt::format("the saved value of '{}' is missing", node.name));
    }
    values.insert_or_assign(node.name, *array);
  }
  return values;
}

}  // namespace towerflow::train
