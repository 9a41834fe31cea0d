#include "tests/ops/cases/walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "core/device/cpu/cpu_backend.h"
#include "core/runtime/passes.h"
#include "tests/ops/cases/guarded.h"
#include "tests/ops/cases/op_case.h"

namespace towerflow::testing {
namespace {

/// Returns an array of bytes `byte`. Launches with different ones reveal what is not written.
Array filled(DType dtype, const Shape& shape, int byte) {
  Array made(dtype, shape);
  if (dtype != DType::string && made.bytes() > 0) std::memset(made.raw(), byte, made.bytes());
  return made;
}

/// Memory for results whose shapes the kernel determines.
class LateBuffers final : public LaunchArrays {
 public:
  LateBuffers(const PlanNode& node, const Device& device,
              std::vector<std::unique_ptr<GuardedBuffer>>& inputs,
              std::vector<std::unique_ptr<GuardedBuffer>>& outputs, int byte)
      : node_(node), device_(device), inputs_(inputs), outputs_(outputs), byte_(byte) {}
  void* allocate(std::size_t index, const Shape& shape) override {
    make_output(index, filled(node_.outputs[index].dtype, shape, byte_));
    return outputs_[index]->address();
  }
  Array keep_input(std::size_t index) override {
    GuardedBuffer::download({inputs_[index].get()});
    return inputs_[index]->value();
  }
  void give_output(std::size_t index, const Array& value) override { make_output(index, value); }

 private:
  void make_output(std::size_t index, const Array& value) {
    outputs_[index] = std::make_unique<GuardedBuffer>(value, device_);
    GuardedBuffer::upload({outputs_[index].get()});
  }

  const PlanNode& node_;
  const Device& device_;
  std::vector<std::unique_ptr<GuardedBuffer>>& inputs_;
  std::vector<std::unique_ptr<GuardedBuffer>>& outputs_;
  int byte_;
};

/// Operands and results after one launch of a kernel.
struct LaunchResult {
  std::vector<Array> inputs;
  std::vector<Array> outputs;
};

class Walker {
 public:
  Walker(PlanGraph graph, const DeviceSet& devices, WalkKernels kernels, double tolerance)
      : graph_(std::move(graph)), devices_(devices), kernels_(kernels), tolerance_(tolerance) {}

  WalkResult run(const std::vector<Array>& feeds) {
    for (PlanNode& node : graph_.nodes) {
      if (node.dead || !holds(node.guards)) continue;
      if (node.is_merge()) {
        merge(node);
      } else if (node.feed >= 0) {
        walked_.ops.insert(node.origin->op->name);
        node.values = {feeds.at(static_cast<std::size_t>(node.feed))};
      } else if (node.inputs.empty() && node.is_known(0)) {
        walked_.ops.insert(node.op->name);  // constant or folded
      } else {
        infer_plan_node(graph_, node);
        compute(node);
      }
    }
    for (const ValueId fetch : graph_.fetches) {
      walked_.values.push_back(fetch.node < 0 ? Array() : value(fetch));
    }
    return std::move(walked_);
  }

 private:
  /// Returns whether the conditions hold under which a node runs.
  bool holds(const Guards& guards) const {
    return std::all_of(guards.begin(), guards.end(), [&](const Guard& guard) {
      return *value({guard.pred, 0}).data<bool>() == guard.branch;
    });
  }

  /// Takes the input of a Merge that exists.
  void merge(PlanNode& node) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!holds(node.choices[i])) continue;
      node.values = {value(node.inputs[i]), Array::scalar(static_cast<std::int32_t>(i))};
      node.outputs[0].shape = node.values[0].shape();
      return;
    }
  }

  /// Returns the value of a tensor. For a reference it is the current value of its variable.
  const Array& value(ValueId at) const {
    const int variable = graph_.spec(at).is_ref ? graph_.root_variable(at) : -1;
    if (variable >= 0) return graph_.nodes[static_cast<std::size_t>(variable)].values[0];
    return graph_.node(at).values[static_cast<std::size_t>(at.output)];
  }

  void compute(PlanNode& node) {
    walked_.ops.insert(node.op->name);
    if (node.op->effect == Effect::variable) {
      node.values = {Array::zeros(node.outputs[0].dtype, node.outputs[0].shape)};
      register_variable(node);
      return;
    }
    const bool known = node.op->effect == Effect::pure && !node.outputs.empty() &&
                       std::all_of(node.values.begin(), node.values.end(),
                                   [](const Array& value) { return !value.empty(); });
    if (known && kernels_ == WalkKernels::reference) return;
    if (node.op->effect == Effect::pure && node.outputs.empty()) return;  // it only orders others
    const KernelRequest request = kernel_request(graph_, node, devices_[node.device]);
    const std::vector<const KernelEntry*> entries = entries_for(node, request);
    if (entries.empty()) {
      if (known) return;
      kernel_for(graph_, node, devices_[node.device]);  // throws, naming what is missing
    }
    const LaunchResult last = launch(node, *entries.back(), request);
    for (std::size_t i = 0; i + 1 < entries.size(); ++i) {
      compare(node, *entries[i], launch(node, *entries[i], request), last);
    }
    store_results(node, last);
  }

  /// Registers a variable with the resource store.
  void register_variable(const PlanNode& node) {
    resources_.variable(
        node.origin->name, kHostSpace, node.outputs[0].dtype, node.outputs[0].shape,
        [](std::size_t bytes) {
          return Array(DType::uint8, Shape{static_cast<std::int64_t>(bytes)}).owner();
        });
  }

  std::vector<const KernelEntry*> entries_for(const PlanNode& node, const KernelRequest& request) {
    std::vector<const KernelEntry*> all;
    const Device& device = devices_[node.device];
    if (device.on_host()) {
      const auto& table = cpu_kernels().entries();
      const auto found = table.find(node.op->name);
      if (found == table.end()) return all;
      for (const KernelEntry& entry : found->second) {
        if (!entry.accepts || entry.accepts(request)) all.push_back(&entry);
      }
    } else if (const KernelEntry* entry = device.backend->find_kernel(request)) {
      all.push_back(entry);
    }
    const bool repeats =
        node.op->effect == Effect::pure || node.op->effect == Effect::writes_variable;
    if (all.size() > 1 && (kernels_ == WalkKernels::reference || !repeats)) {
      all.erase(all.begin(), all.end() - 1);
    }
    return all;
  }

  LaunchResult launch(const PlanNode& node, const KernelEntry& entry,
                      const KernelRequest& request) {
    walked_.kernels.insert(fmt::format("{}: {}", node.op->name, entry.label));
    const auto kernel = prepare_kernel(entry, request);
    LaunchResult first = launch_once(node, entry, *kernel, 0x00);
    // Bytes that a kernel does not write differ the second time.
    const bool repeats = node.op->effect == Effect::pure;
    if (kernels_ == WalkKernels::all && repeats) {
      const LaunchResult second = launch_once(node, entry, *kernel, 0x5a);
      for (std::size_t i = 0; i < first.outputs.size(); ++i) {
        if (first.outputs[i] == second.outputs[i]) continue;
        problem(node, entry,
                fmt::format("result {} is not written whole, or not always the same", i));
      }
      for (const InPlacePair& pair : kernel->in_place()) {
        launch_in_place(node, entry, *kernel, pair, first);
      }
    }
    return first;
  }

  /// Launches with a result in the memory of an operand, as a plan does if nobody reads the operand
  /// later. The bits must be those of `expected`.
  void launch_in_place(const PlanNode& node, const KernelEntry& entry, const PreparedKernel& kernel,
                       const InPlacePair& pair, const LaunchResult& expected) {
    const auto output = static_cast<std::size_t>(pair.output);
    const Array& result = expected.outputs[output];
    const ValueId operand = node.inputs[static_cast<std::size_t>(pair.input)];
    if (!node.outputs[output].shape.fully_known() || result.dtype() == DType::string ||
        value(operand).dtype() == DType::string || value(operand).bytes() != result.bytes()) {
      return;
    }
    const LaunchResult found = launch_once(node, entry, kernel, 0x5a, &pair);
    for (std::size_t i = 0; i < found.outputs.size(); ++i) {
      if (found.outputs[i] == expected.outputs[i]) continue;
      problem(node, entry,
              fmt::format("result {} differs where result {} has the memory of operand {}", i,
                          pair.output, pair.input));
    }
    ++walked_.in_place;
  }

  LaunchResult launch_once(const PlanNode& node, const KernelEntry& entry,
                           const PreparedKernel& kernel, int byte,
                           const InPlacePair* shared = nullptr) {
    const Device& device = devices_[node.device];
    const Device& host = devices_[devices_.host()];
    std::vector<std::unique_ptr<GuardedBuffer>> inputs, outputs(node.outputs.size());
    std::vector<const void*> sources;
    std::vector<void*> results;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool on_host = entry.reads_on_host(static_cast<int>(i));
      inputs.push_back(
          std::make_unique<GuardedBuffer>(value(node.inputs[i]), on_host ? host : device));
      sources.push_back(inputs.back()->address());
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const OutputSpec& spec = node.outputs[i];
      if (spec.is_ref && !inputs.empty()) {  // the variable itself
        results.push_back(inputs[0]->address());
        continue;
      }
      if (!spec.shape.fully_known() || spec.dtype == DType::resource || spec.is_ref) {
        results.push_back(nullptr);
        continue;
      }
      if (shared != nullptr && static_cast<std::size_t>(shared->output) == i) {
        results.push_back(inputs[static_cast<std::size_t>(shared->input)]->address());
        continue;
      }
      outputs[i] = std::make_unique<GuardedBuffer>(filled(spec.dtype, spec.shape, byte), device);
      results.push_back(outputs[i]->address());
    }
    GuardedBuffer workspace(
        filled(DType::uint8, Shape{static_cast<std::int64_t>(kernel.workspace_bytes())}, byte),
        device);
    const auto all_buffers = [&] {
      std::vector<GuardedBuffer*> all{&workspace};
      for (const auto& buffer : inputs) all.push_back(buffer.get());
      for (const auto& buffer : outputs) all.push_back(buffer.get());
      return all;
    };
    GuardedBuffer::upload(all_buffers());
    LateBuffers arrays(node, device, inputs, outputs, byte);
    Cancellation cancellation;
    RunContext run{resources_, cancellation};
    const ErrorDetail detail{.node = node.origin->name, .op = node.op->name};
    const auto queue = device.backend->make_queue(device.index, Lane::compute);
    queue->start(false);
    queue->begin(0, nullptr);
    kernel.enqueue(*queue, {.inputs = sources.data(),
                            .outputs = results.data(),
                            .workspace = static_cast<std::byte*>(workspace.address()),
                            .run = &run,
                            .detail = &detail,
                            .arrays = &arrays});
    queue->end();
    if (const auto failed = queue->synchronize()) std::rethrow_exception(failed->error);
    GuardedBuffer::download(all_buffers());
    return collect(node, entry, inputs, outputs, workspace, shared);
  }

  LaunchResult collect(const PlanNode& node, const KernelEntry& entry,
                       const std::vector<std::unique_ptr<GuardedBuffer>>& inputs,
                       const std::vector<std::unique_ptr<GuardedBuffer>>& outputs,
                       const GuardedBuffer& workspace, const InPlacePair* shared) {
    LaunchResult launched;
    const auto look = [&](const GuardedBuffer& buffer, const std::string& what) {
      const std::string damage = buffer.damage_text();
      if (!damage.empty()) problem(node, entry, fmt::format("{}: wrote {}", what, damage));
    };
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      look(*inputs[i], fmt::format("operand {}", i));
      launched.inputs.push_back(inputs[i]->value());
      const auto& written = node.op->written;
      const bool may_change =
          std::find(written.begin(), written.end(), static_cast<int>(i)) != written.end() ||
          (shared != nullptr && static_cast<std::size_t>(shared->input) == i);
      if (!may_change && !(launched.inputs[i] == value(node.inputs[i]))) {
        problem(node, entry, fmt::format("operand {} has changed", i));
      }
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (shared != nullptr && static_cast<std::size_t>(shared->output) == i) {
        const Array& bytes = launched.inputs[static_cast<std::size_t>(shared->input)];
        launched.outputs.push_back(
            Array(node.outputs[i].dtype, node.outputs[i].shape, bytes.owner()));
        continue;
      }
      if (outputs[i] == nullptr) {  // the variable itself, or a handle
        launched.outputs.push_back(node.outputs[i].is_ref ? launched.inputs[0]
                                                          : Array(DType::int32, Shape{}));
        continue;
      }
      look(*outputs[i], fmt::format("result {}", i));
      launched.outputs.push_back(outputs[i]->value());
    }
    look(workspace, "workspace");
    return launched;
  }

  void compare(const PlanNode& node, const KernelEntry& entry, const LaunchResult& found,
               const LaunchResult& expected) {
    const auto check = [&](const std::vector<Array>& a, const std::vector<Array>& b,
                           const char* what) {
      for (std::size_t i = 0; i < a.size(); ++i) {
        const double off = difference(a[i], b[i]);
        const DType dtype = b[i].dtype();
        const double allowed = dtype == DType::float32   ? tolerance_
                               : dtype == DType::float64 ? 1e-12
                                                         : 0;
        if (off <= allowed) continue;
        problem(node, entry,
                fmt::format("{} {} is off by {:g} from the reference's", what, i, off));
      }
    };
    check(found.outputs, expected.outputs, "result");
    check(found.inputs, expected.inputs, "variable");
  }

  /// Stores the results of a node and the variables that it wrote.
  void store_results(PlanNode& node, const LaunchResult& launched) {
    for (const int input : node.op->written) {
      const ValueId at = node.inputs[static_cast<std::size_t>(input)];
      const int variable = graph_.root_variable(at);
      if (variable < 0) continue;
      graph_.nodes[static_cast<std::size_t>(variable)].values = {
          launched.inputs[static_cast<std::size_t>(input)]};
      resources_.find_variable(graph_.nodes[static_cast<std::size_t>(variable)].origin->name)
          ->initialized = true;
    }
    node.values = launched.outputs;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      node.outputs[i].shape = node.values[i].shape();
    }
  }

  void problem(const PlanNode& node, const KernelEntry& entry, const std::string& what) {
    walked_.problems.push_back(
        fmt::format("{} ({}, kernel {}): {}", node.origin->name, node.op->name, entry.label, what));
  }

  PlanGraph graph_;
  const DeviceSet& devices_;
  WalkKernels kernels_;
  double tolerance_;
  ResourceStore resources_;
  WalkResult walked_;
};

}  // namespace

WalkResult run_nodes(PlanGraph graph, const std::vector<Array>& feeds, const DeviceSet& devices,
                     WalkKernels kernels, double tolerance) {
  return Walker(std::move(graph), devices, kernels, tolerance).run(feeds);
}

}  // namespace towerflow::testing
