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

/// One tensor of a checkpoint: its key and the source of the value to save.
struct SaveSpec {
  Tensor tensor;
  std::string name;
};

/// An object with state that is saved in checkpoints: a variable or the position of an input.
///
/// Every Saver without an explicit list also saves and restores the objects that a program adds, as
/// shared_ptr, to the collection SAVEABLE_OBJECTS.
/// (tensorflow.python.training.saver.BaseSaverBuilder.SaveableObject)
class SaveableObject {
 public:
  SaveableObject(std::string name, std::vector<SaveSpec> specs);
  virtual ~SaveableObject();
  SaveableObject(const SaveableObject&) = delete;
  SaveableObject& operator=(const SaveableObject&) = delete;

  const std::string& name() const { return name_; }
  const std::vector<SaveSpec>& specs() const { return specs_; }
  /// Adds the nodes that restore the state from `restored`, which has one tensor per spec. Returns
  /// the operation that completes the restore.
  virtual Operation restore(const std::vector<Tensor>& restored, Site site) const = 0;

 private:
  std::string name_;
  std::vector<SaveSpec> specs_;
};

using Saveable = std::shared_ptr<const SaveableObject>;

inline std::string collection_name(const Saveable& saveable) { return saveable->name(); }

}  // namespace towerflow::train::types

namespace towerflow::train {

/// Returns a saveable that stores `variable` under the key `name`.
Saveable variable_saveable(const Variable& variable, std::string name);

/// An item that a Saver accepts: a Variable or a SaveableObject.
using SaverItem = std::variant<Variable, Saveable>;

/// An item with its name in the checkpoint.
using NamedItem = std::pair<const std::string, SaverItem>;

}  // namespace towerflow::train

namespace towerflow::train::types {

/// The items that a Saver saves: a list, each under its own name ("conv1/weights"), or a map from
/// names in the checkpoint to items.
class VarList {
 public:
  VarList(std::initializer_list<SaverItem> items);         // NOLINT
  VarList(const std::vector<Variable>& variables);         // NOLINT
  VarList(const Collected<Variable>& variables);           // NOLINT
  VarList(std::initializer_list<NamedItem> named);         // NOLINT
  VarList(const std::map<std::string, Variable>& named);   // NOLINT
  VarList(const std::map<std::string, SaverItem>& named);  // NOLINT

  // Out of line, so that including files do not compile the members' code again.
  VarList(const VarList& other);
  VarList(VarList&& other) noexcept;
  VarList& operator=(const VarList& other);
  VarList& operator=(VarList&& other) noexcept;
  ~VarList();

  /// Returns the global variables of the default graph, then its collection SAVEABLE_OBJECTS.
  static VarList all();

  bool empty() const;
  /// Returns why a collection filter matched nothing; "" for other lists.
  const std::string& why_empty() const { return why_empty_; }
  /// Returns the objects ordered by name, as in a checkpoint. Throws ValueError if a name or key is
  /// given twice or an object has two names.
  std::vector<Saveable> saveables() const;

 private:
  std::vector<std::pair<std::string, SaverItem>> items_;  // name in the checkpoint, item
  std::string why_empty_;
};

}  // namespace towerflow::train::types
