#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/dtype.h"
#include "core/graph/node.h"
#include "core/graph/shape.h"
#include "core/graph/site.h"

namespace towerflow::types {

class Graph;
struct Node;

/// What is known statically about one operation.
struct OpDescription {
  std::string name;                  ///< "tower_0/conv1/Conv2D"
  std::string type;                  ///< "Conv2D"
  std::string name_scope;            ///< "tower_0/conv1", which prefixes operations
  std::string variable_scope;        ///< "conv1", open at its creation, which prefixes get_variable
  std::string device;                ///< as requested, "" if none was
  std::vector<std::string> outputs;  ///< "float32 (64, 10)", one for each output
  std::vector<std::string> inputs;   ///< names of tensors
  std::vector<std::string> controls;     ///< names of operations that run before it
  std::vector<std::string> collections;  ///< keys that list it or one of its outputs
  NodeRole role = NodeRole::program;     ///< of the program, a gradient or an update
  Site site;                             ///< where it was made
  std::optional<Site> first_reuse;       ///< of a variable: where it was first reused
};

/// How the operations below one name scope differ from those below another. Gradients and updates
/// are left out: they follow from the others, and from which tower trains what.
struct ScopeDifference {
  /// An operation that both have, and a difference.
  struct Changed {
    std::string name;  ///< without the scope
    std::string what;  ///< "device: /device:GPU:0 against /device:CPU:0"
  };
  std::string a, b;
  std::size_t in_both = 0;
  std::size_t left_out = 0;  ///< operations of gradients and updates, in both together
  std::vector<std::string> only_a, only_b;  ///< names without the scope
  std::vector<Changed> changed;
  /// Device differences that most operations share: "device: /device:GPU:0 against /device:GPU:1".
  std::vector<std::string> common_device_changes;

  bool same_structure() const;
  std::string text() const;
};

/// Descriptions of all operations of a graph. (no counterpart in TensorFlow)
class GraphDescription {
 public:
  explicit GraphDescription(const Graph& graph);

  /// Returns the operations in order of creation.
  const std::vector<OpDescription>& ops() const { return ops_; }
  /// Returns the operation. Throws KeyError with the nearest names.
  const OpDescription& op(const std::string& name, Site site = Site::current()) const;

  /// Returns one line per operation, indented below its name scopes; only those below `scope` if
  /// given.
  std::string tree(const std::string& scope = "") const;
  /// Returns a graph for Graphviz: name scopes as boxes, devices as colours, control inputs dashed.
  std::string dot(const std::string& scope = "") const;
  /// Compares operations below `a` with those of the same names below `b`: "tower_0", "tower_1".
  /// Throws ValueError if there are none below one of them.
  ScopeDifference difference(const std::string& a, const std::string& b,
                             Site site = Site::current()) const;

 private:
  std::vector<OpDescription> ops_;
};

}  // namespace towerflow::types
