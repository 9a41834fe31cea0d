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

/// What is known of one operation before anything runs.
struct OpDescription {
  std::string name;            ///< "tower_0/conv1/Conv2D"
  std::string type;            ///< "Conv2D"
  std::string name_scope;      ///< "tower_0/conv1", which prefixes operations
  std::string variable_scope;  ///< "conv1", open when it was made, which prefixes get_variable
  std::string device;          ///< as asked for, "" for none
  std::vector<std::string> outputs;      ///< "float32 (64, 10)", one for each output
  std::vector<std::string> inputs;       ///< names of tensors
  std::vector<std::string> controls;     ///< names of operations that run before it
  std::vector<std::string> collections;  ///< keys under which it, or an output of it, is listed
  NodeRole role = NodeRole::program;     ///< a gradient's or an update's, or the program's own
  Site site;                             ///< where it was made
  std::optional<Site> first_reuse;       ///< of a variable: where it was found the first time
};

/// How the operations below one name scope differ from those below another, gradients and updates
/// left aside: they follow from the others, and from which tower trains what.
struct ScopeDifference {
  /// One operation that both have, but for this.
  struct Changed {
    std::string name;  ///< without the scope
    std::string what;  ///< "device: /device:GPU:0 against /device:CPU:0"
  };
  std::string a, b;
  std::size_t in_both = 0;
  std::size_t left_out = 0;                 ///< operations of gradients and updates, of both
  std::vector<std::string> only_a, only_b;  ///< names without the scope
  std::vector<Changed> changed;
  /// "device: /device:GPU:0 against /device:GPU:1", where all that differ do so in the same way.
  std::vector<std::string> everywhere;

  bool same_structure() const;
  std::string text() const;
};

/// All operations of a graph, described. (no counterpart in TensorFlow)
class GraphDescription {
 public:
  explicit GraphDescription(const Graph& graph);

  /// In the order of their creation.
  const std::vector<OpDescription>& ops() const { return ops_; }
  /// Throws KeyError with the nearest names.
  const OpDescription& op(const std::string& name, Site site = Site::current()) const;

  /// One line for each operation, indented below its name scopes; only those below `scope` where
  /// it is given.
  std::string tree(const std::string& scope = "") const;
  /// For Graphviz: name scopes as boxes, devices as colours, control inputs dashed.
  std::string dot(const std::string& scope = "") const;
  /// Operations below `a` beside those of the same names below `b`: "tower_0", "tower_1".
  /// Throws ValueError where there are none below one of them.
  ScopeDifference difference(const std::string& a, const std::string& b,
                             Site site = Site::current()) const;

 private:
  std::vector<OpDescription> ops_;
};

}  // namespace towerflow::types
