#pragma once

#include <string>
#include <vector>

#include "core/graph/scopes.h"
#include "core/runtime/session.h"
#include "tests/data/support.h"
#include "train/checkpoint/bundle_reader.h"
#include "train/checkpoint/checkpoint_state.h"
#include "train/saver.h"

namespace towerflow::testing {

inline Variable variable(const std::string& name, Array value) {
  return Variable(Operand(std::move(value)), {.name = name});
}

inline Array floats(Shape shape, const std::vector<float>& values) {
  return Array::of<float>(std::move(shape), values);
}

inline void initialize(Session& session) { session.run(global_variables_initializer()); }

/// Returns the sorted names of a folder's files, separated by spaces.
inline std::string listing(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

/// Returns the hint of the Error that `action` throws, "" if it has none or nothing is thrown.
template <class F>
std::string hint_of(F&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.detail().hint;
  }
  return "";
}

}  // namespace towerflow::testing
