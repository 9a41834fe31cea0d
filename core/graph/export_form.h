#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph_def.h"
#include "core/graph/op_def.h"

namespace towerflow {

/// A tensor in a form.
struct FormTensor {
  std::string name;  ///< "%1" of input 1 of the node, else "Sum" or "Switch:1"
  OutputSpec spec;   ///< its shape is unknown

  DType dtype() const { return spec.dtype; }
};

/// Writes a form: nodes of TensorFlow's ops that compute what one node of the library computes. The
/// last one written gets the node's name, and its results are the node's.
class FormWriter {
 public:
  explicit FormWriter(const Node& node) : node_(node) {}

  const Node& node() const { return node_; }
  std::size_t num_inputs() const { return node_.inputs.size(); }
  FormTensor input(std::size_t index) const;
  /// Returns the input for an argument of the op that is one tensor.
  FormTensor input(std::string_view argument) const;

  /// Adds an op that both TensorFlow and the library have and returns its first result. Dtypes and
  /// counts follow from the inputs, other attributes have their defaults. `after` are control
  /// inputs.
  FormTensor add(const std::string& op, const std::vector<FormTensor>& inputs, AttrMap attrs = {},
                 const std::vector<FormTensor>& after = {});
  /// Adds an op that the library lacks and returns its results. Each argument and result is one
  /// tensor, or all tensors are one argument "values: N * T".
  std::vector<FormTensor> add_foreign(const std::string& op, const ArgTexts& arguments,
                                      const ArgTexts& results,
                                      const std::vector<FormTensor>& inputs);
  FormTensor constant(Array value);

  /// Returns the nodes, with names and inputs as in FormTensor; the last one has no name.
  std::vector<NodeDef> take();
  /// Returns how many results the last node has.
  std::size_t num_results() const { return num_results_; }

 private:
  std::vector<FormTensor> write(const std::string& op, const OpSignature& signature,
                                const std::vector<FormTensor>& inputs, AttrMap attrs,
                                const std::vector<FormTensor>& after);

  const Node& node_;
  std::vector<NodeDef> nodes_;
  std::size_t num_results_ = 0;
};

/// Returns the form of a node whose op has one. `whole` is the NodeDef of the node itself, whose
/// device, colocation and control inputs each part gets. Attributes of the last part, which
/// TensorFlow keeps and ignores, record what the form stands for; `read_forms` reverses this.
std::vector<NodeDef> write_form(const Node& node, const NodeDef& whole,
                                const std::function<bool(const std::string&)>& is_taken);

/// Returns the GraphDef with one node in place of each form, or nullopt if it has none. A form of
/// which a part is missing, is in `kept` or is read from outside stays: its nodes compute the same.
std::optional<GraphDef> read_forms(const GraphDef& def, const std::set<std::string>& kept);

}  // namespace towerflow
