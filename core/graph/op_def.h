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
  pure,      ///< outputs depend only on inputs and attributes: may be folded, shared, dropped
  variable,  ///< names a variable's storage; running it does nothing
  writes_variable,  ///< changes the variables at `OpDef::written` inputs
  stateful,         ///< reads or changes a queue, reader or counter; may block
  random,           ///< draws from its own generator
  io,               ///< touches files or the log
};

/// The inputs and outputs of a shape rule, which runs when a graph is built and when a plan is
/// made.
class InferenceContext {
 public:
  /// For a node of a plan.
  InferenceContext(const Attrs& attrs, std::span<const OutputSpec> inputs,
                   std::span<const Array* const> constants)
      : attrs_(attrs), inputs_(inputs), constants_(constants) {}
  /// For a node on the tape; constant inputs are evaluated when a rule asks for them.
  explicit InferenceContext(const Node& node) : attrs_(node.attrs), node_(&node) {}

  template <class T>
  const T& attrs() const {
    return attrs_.as<T>();
  }
  /// Returns the attributes without their type, for ops that may have none.
  const Attrs& all_attrs() const { return attrs_; }
  std::size_t num_inputs() const { return node_ ? node_->inputs.size() : inputs_.size(); }
  DType dtype(std::size_t input) const { return spec(input).dtype; }
  const Shape& shape(std::size_t input) const { return spec(input).shape; }
  bool is_ref(std::size_t input) const { return spec(input).is_ref; }
  /// Returns the value of an input if it is known already, else nullptr.
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
  mutable std::vector<std::optional<Array>>
      evaluated_constants_;  // constants asked for; empty if unknown
  std::vector<OutputSpec> outputs_;
};

/// Adds the dtype and shape of each output of the op, or throws.
using ShapeRule = std::function<void(InferenceContext&)>;

/// Returns the value of an output if it follows from inputs and shapes without running anything
/// (Shape, Size, Rank, Pack of constants), else an empty Array.
using ConstantRule =
    std::function<Array(const InferenceContext& context, std::span<const OutputSpec> outputs)>;

/// Work of one run of a node with known shapes.
struct Cost {
  double flops = 0;  ///< floating-point operations; a multiply-add counts as two
  double bytes = 0;  ///< bytes that must be read and written
};
using CostRule =
    std::function<Cost(std::span<const OutputSpec> inputs, std::span<const OutputSpec> outputs)>;

/// The cost of an op that passes memory on without reading it.
Cost no_cost(std::span<const OutputSpec> inputs, std::span<const OutputSpec> outputs);

/// Returns whether each element of the result depends only on the corresponding elements of the
/// operands, which broadcast as in NumPy.
using ElementwiseRule = bool (*)(const Attrs& attrs, std::span<const OutputSpec> inputs,
                                 const OutputSpec& output);
bool elementwise_always(const Attrs& attrs, std::span<const OutputSpec> inputs,
                        const OutputSpec& output);

class FormWriter;  // core/graph/export_form.h

/// Everything about an op except its kernels.
struct OpDef {
  std::string name;
  /// "x: T", "values: N * T": see `parse_argument`. An op that lists neither arguments nor results
  /// can be recorded and run, but not written as a NodeDef.
  ArgTexts inputs{};
  ArgTexts outputs{};
  AttrsDef attrs{};
  ShapeRule shape;
  OpGradient gradient;
  Effect effect = Effect::pure;
  std::vector<int> written{};  ///< inputs whose variables a writes_variable op changes
  bool overwrites = false;     ///< the variables it writes may be uninitialized before
  /// Inputs whose variables may be uninitialized when it runs.
  std::vector<int> maybe_uninitialized{};
  /// Inputs of which it uses only the variable's name, to ask the session about it: they are not
  /// copied to its device, and it runs on the host.
  std::vector<int> name_only_inputs{};
  /// Inputs whose values kernels are prepared with, such as axes.
  std::vector<int> static_inputs{};
  /// Inputs whose memory an object of the run may keep after the launch, such as a value pushed on
  /// a stack. A value that is computed for one of them gets an Array instead of memory of the
  /// frame.
  std::vector<int> keeps{};
  /// Outputs that are Arrays of such an object, such as a value popped from a stack; kEach for all.
  std::vector<int> gives{};
  static constexpr int kEach = -1;
  /// Of a stateful op: its resource is an object of the run, such as a stack, which nothing outside
  /// of the run sees.
  bool uses_run_object = false;
  ConstantRule constant{};  ///< optional
  CostRule cost{};          ///< optional; default: no flops, bytes of inputs and outputs
  /// Output 0 is input 0 with another shape: the planner gives both the same memory.
  bool view = false;
  bool plan_only = false;                 ///< only in plans, never on a tape
  bool on_host = false;                   ///< runs on the host, which reads its result
  ElementwiseRule elementwise = nullptr;  ///< set if the op may be a step of a chain
  /// The binary op whose left fold over the inputs gives the same result: AddV2 for AddN.
  std::string fold_op{};
  /// Writes the nodes that stand for this one in a GraphDef, for an op that TensorFlow lacks or
  /// defines differently.
  void (*export_form)(FormWriter& writer) = nullptr;
  OpSignature signature{};  ///< parsed from `inputs` and `outputs` by the registry
};

/// Returns whether a list of inputs in an OpDef, such as `written`, contains `input`.
bool contains_input(const std::vector<int>& inputs, std::size_t input);

/// Returns the cost of a node. An op without a cost rule, and a node with an unknown shape, counts
/// no flops and the bytes of inputs and outputs with known shapes.
Cost cost_of(const OpDef& op, std::span<const OutputSpec> inputs,
             std::span<const OutputSpec> outputs);

/// All known ops by name. Ops of the library are added by `register_builtin_ops`, a program's own
/// with `add`.
class OpRegistry {
 public:
  static OpRegistry& global();

  /// Adds an op. Throws ValueError if the name is taken or an argument cannot be parsed.
  void add(OpDef def);
  /// Returns the op, nullptr if there is none.
  const OpDef* find(const std::string& name) const;
  /// Returns the op. Throws KeyError if there is none.
  const OpDef& get(const std::string& name) const;
  std::vector<const OpDef*> all() const;

 private:
  std::unordered_map<std::string, OpDef> defs_;
};

/// Registers the ops of the library; defined above this folder, in ops/register_all.cc.
void register_builtin_ops(OpRegistry& registry);

}  // namespace towerflow
