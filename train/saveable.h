#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ops/variables/variable.h"

namespace towerflow::train::types {

/// One tensor of a checkpoint: its key there and where the value to save comes from.
struct SaveSpec {
  Tensor tensor;
  std::string name;
};

/// Something with state that a checkpoint holds: a variable, the position of an input.
///
/// What a program adds to the collection SAVEABLE_OBJECTS, as a shared_ptr, every Saver without a
/// list of its own saves and restores. (tf.train.SaverDef's SaveableObject)
class SaveableObject {
 public:
  SaveableObject(std::string name, std::vector<SaveSpec> specs);
  virtual ~SaveableObject();
  SaveableObject(const SaveableObject&) = delete;
  SaveableObject& operator=(const SaveableObject&) = delete;

  const std::string& name() const { return name_; }
  const std::vector<SaveSpec>& specs() const { return specs_; }
  /// Appends the nodes that put `restored`, one tensor a spec, back in place; returns the operation
  /// that has run when they have.
  virtual Operation restore(const std::vector<Tensor>& restored, Site site) const = 0;

 private:
  std::string name_;
  std::vector<SaveSpec> specs_;
};

using Saveable = std::shared_ptr<const SaveableObject>;

inline std::string collection_name(const Saveable& saveable) { return saveable->name(); }

}  // namespace towerflow::train::types

namespace towerflow::train {

/// A variable under a name of its choice.
Saveable variable_saveable(const Variable& variable, std::string name);

/// What a Saver takes: a Variable, or a SaveableObject.
using SaverItem = std::variant<Variable, Saveable>;

/// The same with its name in the checkpoint.
using NamedItem = std::pair<const std::string, SaverItem>;

}  // namespace towerflow::train

namespace towerflow::train::types {

/// What a Saver saves: a list, each under its own name ("conv1/weights"), or a map from names in
/// the checkpoint.
class VarList {
 public:
  VarList(std::initializer_list<SaverItem> items);         // NOLINT
  VarList(const std::vector<Variable>& variables);         // NOLINT
  VarList(const Collected<Variable>& variables);           // NOLINT
  VarList(std::initializer_list<NamedItem> named);         // NOLINT
  VarList(const std::map<std::string, Variable>& named);   // NOLINT
  VarList(const std::map<std::string, SaverItem>& named);  // NOLINT

  // Not inline: each file that includes this would compile the list's parts anew.
  VarList(const VarList& other);
  VarList(VarList&& other) noexcept;
  VarList& operator=(const VarList& other);
  VarList& operator=(VarList&& other) noexcept;
  ~VarList();

  /// All variables but local ones, then the collection SAVEABLE_OBJECTS, of the default graph.
  static VarList all();

  bool empty() const;
  /// Of a list that a collection's filter left empty: why.
  const std::string& why_empty() const { return why_empty_; }
  /// Ordered by name, as they stand in a checkpoint. Throws ValueError for a name given twice and
  /// for an object under two names.
  std::vector<Saveable> saveables() const;

 private:
  std::vector<std::pair<std::string, SaverItem>> items_;  // with the name in the checkpoint
  std::string why_empty_;
};

}  // namespace towerflow::train::types
