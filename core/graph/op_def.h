#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/array.h"
#include "core/graph/attrs_def.h"
#include "core/graph/error.h"
#include "core/graph/node.h"
#include "core/graph/op_gradient.h"
#include "core/graph/op_signature.h"

namespace towerflow {

/// What running a node does besides computing its outputs. Passes consult nothing else.
enum class Effect {
  pure,      ///< outputs depend on inputs and attributes alone: may be folded, shared, dropped
  variable,  ///< names a variable's storage; running it does nothing
  writes_variable,  ///< changes the variables at `OpDef::written` inputs
  stateful,         ///< reads or changes a queue, reader or counter; may block
  random,           ///< draws from a generator of its own
  io,               ///< touches files or the log
};

/// The question a shape rule answers; used both while a graph is built and when a plan is made.
class InferenceContext {
 public:
  /// In a plan.
  InferenceContext(const Attrs& attrs, std::span<const OutputSpec> inputs,
                   std::span<const Array* const> constants)
      : attrs_(attrs), inputs_(inputs), constants_(constants) {}
  /// On the tape: what its inputs say, constants worked out when a rule asks for them.
  explicit InferenceContext(const Node& node) : attrs_(node.attrs), node_(&node) {}

  template <class T>
  const T& attrs() const {
    return attrs_.as<T>();
  }
  /// The attributes of whatever type, for ops that may have none.
  const Attrs& all_attrs() const { return attrs_; }
  std::size_t num_inputs() const { return node_ ? node_->inputs.size() : inputs_.size(); }
  DType dtype(std::size_t input) const { return spec(input).dtype; }
  const Shape& shape(std::size_t input) const { return spec(input).shape; }
  bool is_ref(std::size_t input) const { return spec(input).is_ref; }
  /// The value of an input where it is known already, nullptr otherwise.
  const Array* constant(std::size_t input) const;

  void add_output(DType dtype, Shape shape, bool is_ref = false) {
    outputs_.push_back({dtype, std::move(shape), is_ref});
  }
  std::vector<OutputSpec> take_outputs() { return std::move(outputs_); }

  /// Throws ValueError; the caller of the rule adds node, op and site.
  [[noreturn]] void fail(std::string message) const { throw ValueError(std::move(message)); }
  /// Throws TypeError.
  [[noreturn]] void fail_type(std::string message) const { throw TypeError(std::move(message)); }

 private:
  const OutputSpec& spec(std::size_t input) const;

  const Attrs& attrs_;
  const Node* node_ = nullptr;
  std::span<const OutputSpec> inputs_;
  std::span<const Array* const> constants_;
  mutable std::vector<std::optional<Array>> asked_;  // of a node on the tape, empty if not known
  std::vector<OutputSpec> outputs_;
};

/// Appends one output per output of the op, or throws.
using ShapeRule = std::function<void(InferenceContext&)>;

/// The value of an output without running anything, where inputs and shapes allow it (Shape, Size,
/// Rank, Pack of constants); an empty Array when it is not known.
using ConstantRule =
    std::function<Array(const InferenceContext& context, std::span<const OutputSpec> outputs)>;

/// Work of one run of a node with known shapes.
struct Cost {
  double flops = 0;  ///< floating-point operations, a multiply-add counts two
  double bytes = 0;  ///< bytes that must be read and written
};
using CostRule =
    std::function<Cost(std::span<const OutputSpec> inputs, std::span<const OutputSpec> outputs)>;

/// Whether each element of the result depends only on the elements in its place of the operands,
/// which broadcast as NumPy's do.
using ElementwiseRule = bool (*)(const Attrs& attrs, std::span<const OutputSpec> inputs,
                                 const OutputSpec& output);
bool elementwise_always(const Attrs& attrs, std::span<const OutputSpec> inputs,
                        const OutputSpec& output);

class FormWriter;  // core/graph/export_form.h

/// Everything about an op but its kernels.
struct OpDef {
  std::string name;
  /// "x: T", "values: N * T": see `parse_argument`. An op that lists neither arguments nor results
  /// can be recorded and run, but no NodeDef tells of it.
  ArgTexts inputs{};
  ArgTexts outputs{};
  AttrsDef attrs{};
  ShapeRule shape;
  OpGradient gradient;
  Effect effect = Effect::pure;
  std::vector<int> written{};  ///< inputs whose variables a writes_variable op changes
  bool overwrites = false;     ///< the variables it writes need not be initialised before
  /// Inputs whose variables it looks at though they may have no value yet.
  std::vector<int> maybe_unset{};
  /// Inputs of which it needs the variable's name alone, to ask the session about it: they are
  /// copied nowhere, and it runs on the host.
  std::vector<int> only_named{};
  /// Inputs whose values a kernel is prepared for, such as axes: known when it is prepared.
  std::vector<int> static_inputs{};
  ConstantRule constant{};  ///< optional
  CostRule cost{};          ///< optional: bytes of inputs and outputs, no flops
  /// Output 0 is input 0 under another shape: the planner gives both the same memory.
  bool view = false;
  bool plan_only = false;                 ///< what a rewrite makes: on no tape
  ElementwiseRule elementwise = nullptr;  ///< of an op that may be a step of a chain
  /// The binary op that, from the first input on, gives the same: AddV2 of AddN.
  std::string folds_by{};
  /// Writes the nodes that a GraphDef has for this one, where TensorFlow lacks the op or gives it
  /// another meaning.
  void (*export_form)(FormWriter& writer) = nullptr;
  OpSignature signature{};  ///< of `inputs` and `outputs`; the registry reads them
};

/// Whether a list of inputs in an OpDef, such as `written`, has this one.
bool lists_input(const std::vector<int>& inputs, std::size_t input);

/// The work of a node; without a rule of the op no flops and the bytes of inputs and outputs. What
/// has an unknown shape counts nothing.
Cost cost_of(const OpDef& op, std::span<const OutputSpec> inputs,
             std::span<const OutputSpec> outputs);

/// All known ops by name. Ops of the library enter through `register_builtin_ops`; a program adds
/// its own with `add`.
class OpRegistry {
 public:
  static OpRegistry& global();

  /// Throws ValueError when the name is taken, or for an argument that cannot be read.
  void add(OpDef def);
  /// nullptr when there is none.
  const OpDef* find(const std::string& name) const;
  /// Throws KeyError when there is none.
  const OpDef& get(const std::string& name) const;
  std::vector<const OpDef*> all() const;

 private:
  std::unordered_map<std::string, OpDef> defs_;
};

/// Registers the ops of the library; defined above this folder, in ops/register_all.cc.
void register_builtin_ops(OpRegistry& registry);

}  // namespace towerflow
