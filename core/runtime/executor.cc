#include "core/runtime/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

namespace towerflow {
namespace {

/// Holds the variables of one instruction while it runs: shared to read, exclusive to write.
class VariableLocks {
 public:
  VariableLocks(const Frame& frame, const Instruction& instruction)
      : frame_(frame), uses_(instruction.variables) {
    for (const VariableUse& use : uses_) {
      VariableStorage& storage = frame_.variable(use.variable);
      if (use.writes)
        storage.mutex.lock();
      else
        storage.mutex.lock_shared();
    }
  }
  ~VariableLocks() {
    for (const VariableUse& use : uses_) {
      VariableStorage& storage = frame_.variable(use.variable);
      if (use.writes)
        storage.mutex.unlock();
      else
        storage.mutex.unlock_shared();
    }
  }
  VariableLocks(const VariableLocks&) = delete;
  VariableLocks& operator=(const VariableLocks&) = delete;

  void check_initialized() const {
    for (const VariableUse& use : uses_) {
      const VariableStorage& storage = frame_.variable(use.variable);
      if (use.needs_value && !storage.initialized.load(std::memory_order_acquire)) {
        throw errors::FailedPreconditionError(
            fmt::format("Attempting to use uninitialized value {}", storage.name),
            {.hint = "run tf::global_variables_initializer() first, or restore a checkpoint"});
      }
    }
  }
  void mark_written() const {
    for (const VariableUse& use : uses_) {
      if (!use.writes) continue;
      VariableStorage& storage = frame_.variable(use.variable);
      storage.initialized.store(true, std::memory_order_release);
      storage.version.fetch_add(1, std::memory_order_relaxed);
    }
  }

 private:
  const Frame& frame_;
  const std::vector<VariableUse>& uses_;
};

class LateBinder final : public LateOutputs {
 public:
  LateBinder(Frame& frame, const Instruction& instruction, std::vector<void*>& outputs)
      : frame_(frame), instruction_(instruction), outputs_(outputs) {}
  void* allocate(std::size_t index, const Shape& shape) override {
    const int slot = instruction_.outputs.at(index);
    outputs_[index] = frame_.bind_late(slot, frame_.declared(slot).dtype, shape);
    return outputs_[index];
  }

 private:
  Frame& frame_;
  const Instruction& instruction_;
  std::vector<void*>& outputs_;
};

/// Walks one queue's instructions.
class QueueRun {
 public:
  QueueRun(const Plan& plan, std::size_t queue, Frame& frame, RunContext& run, KernelCache& kernels)
      : program_(plan.queues[queue]),
        frame_(frame),
        queue_(frame.queue(queue)),
        run_(run),
        kernels_(kernels),
        inputs_(plan.max_operands),
        outputs_(plan.max_operands) {}

  void run() {
    for (const Instruction& instruction : program_.instructions) {
      if (run_.cancellation.cancelled()) throw errors::CancelledError("the run was cancelled");
      switch (instruction.kind) {
        case Instruction::Kind::wait:
          queue_.wait(frame_.event(instruction.event), run_.cancellation);
          break;
        case Instruction::Kind::record:
          queue_.record(frame_.event(instruction.event));
          break;
        case Instruction::Kind::launch:
          launch(instruction);
          break;
      }
    }
    queue_.synchronize();
  }

 private:
  void launch(const Instruction& instruction) {
    try {
      for (std::size_t i = 0; i < instruction.inputs.size(); ++i) {
        inputs_[i] = frame_.address(instruction.inputs[i]);
      }
      for (std::size_t i = 0; i < instruction.outputs.size(); ++i) {
        outputs_[i] = frame_.address(instruction.outputs[i]);
      }
      LaunchArgs args{.inputs = inputs_.data(),
                      .outputs = outputs_.data(),
                      .workspace = frame_.arena() + instruction.workspace,
                      .run = &run_};
      if (instruction.late) {
        launch_late(instruction, args);
      } else if (instruction.variables.empty()) {
        instruction.kernel->enqueue(queue_, args);
      } else {
        const VariableLocks locks(frame_, instruction);
        locks.check_initialized();
        instruction.kernel->enqueue(queue_, args);
        locks.mark_written();
      }
    } catch (...) {
      ErrorDetail detail = instruction.detail;
      detail.op += input_shapes(instruction);
      rethrow_with(detail);
    }
  }

  /// Shapes are known by now, or found by the kernel itself: prepare and run.
  void launch_late(const Instruction& instruction, LaunchArgs& args) {
    KernelRequest request{instruction.op, &instruction.attrs, {}, {}, {}, instruction.state};
    for (int slot : instruction.inputs) request.inputs.push_back(frame_.desc(slot));
    for (int input : instruction.op->static_inputs) {
      request.values[input] = value_at(instruction, input, request).copy();
    }
    request.outputs = late_outputs(instruction, request);
    for (std::size_t i = 0; i < request.outputs.size(); ++i) {
      const int slot = instruction.outputs[i];
      const TensorDesc& desc = request.outputs[i];
      const bool open = !frame_.declared(slot).shape.fully_known();
      if (!open) continue;
      outputs_[i] =
          desc.shape.fully_known() ? frame_.bind_late(slot, desc.dtype, desc.shape) : nullptr;
    }
    const auto kernel = kernels_.get(*instruction.entry, request);
    const Array workspace(DType::uint8, Shape{std::max<std::size_t>(kernel->workspace_bytes(), 1)});
    args.workspace = static_cast<std::byte*>(const_cast<void*>(workspace.raw()));
    LateBinder late(frame_, instruction, outputs_);
    args.late = &late;
    const VariableLocks locks(frame_, instruction);
    locks.check_initialized();
    kernel->enqueue(queue_, args);
    locks.mark_written();
  }

  /// An input as an Array that does not own its memory.
  Array value_at(const Instruction& instruction, int input, const KernelRequest& request) const {
    const auto index = static_cast<std::size_t>(input);
    return Array(request.inputs[index].dtype, request.inputs[index].shape,
                 std::shared_ptr<void>(frame_.address(instruction.inputs[index]), [](void*) {}));
  }

  std::vector<TensorDesc> late_outputs(const Instruction& instruction,
                                       const KernelRequest& request) const {
    std::vector<OutputSpec> specs;
    std::vector<Array> values;
    std::vector<const Array*> constants;
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
      const TensorDesc& desc = request.inputs[i];
      specs.push_back({desc.dtype, desc.shape, false});
      const bool may_be_shape = desc.dtype == DType::int32 || desc.dtype == DType::int64;
      values.push_back(may_be_shape ? value_at(instruction, static_cast<int>(i), request)
                                    : Array());
    }
    for (const Array& value : values) constants.push_back(value.empty() ? nullptr : &value);
    InferenceContext context(instruction.attrs, specs, constants);
    instruction.op->shape(context);
    std::vector<TensorDesc> outputs;
    const auto found = context.take_outputs();
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Shape declared = frame_.declared(instruction.outputs[i]).shape;
      const auto merged = found[i].shape.merged(declared);
      outputs.push_back({found[i].dtype, merged ? *merged : found[i].shape, 0, kHostSpace});
    }
    return outputs;
  }

  std::string input_shapes(const Instruction& instruction) const {
    if (instruction.inputs.empty()) return "";
    std::string text;
    for (int slot : instruction.inputs) {
      text += (text.empty() ? "" : ", ") + frame_.desc(slot).shape.text();
    }
    return " of " + text;
  }

  const QueueProgram& program_;
  Frame& frame_;
  Queue& queue_;
  RunContext& run_;
  KernelCache& kernels_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
};

/// Keeps the error that came first; one that only says "cancelled" gives way to its cause.
class FirstError {
 public:
  void take(Cancellation& cancellation) {
    bool only_cancelled = false;
    try {
      throw;
    } catch (const errors::CancelledError&) {
      only_cancelled = true;
    } catch (...) {
    }
    {
      std::lock_guard lock(mutex_);
      if (error_ == nullptr || (only_cancelled_ && !only_cancelled)) {
        error_ = std::current_exception();
        only_cancelled_ = only_cancelled;
      }
    }
    cancellation.cancel();  // the other queues stop at their next instruction
  }
  void rethrow() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  bool only_cancelled_ = false;
};

}  // namespace

void execute(const Plan& plan, Frame& frame, RunContext& run, KernelCache& kernels,
             Workers& workers) {
  if (plan.queues.empty()) return;
  if (plan.queues.size() == 1) {
    QueueRun(plan, 0, frame, run, kernels).run();
    return;
  }
  FirstError error;
  workers.run(plan.queues.size(), [&](std::size_t queue) {
    try {
      QueueRun(plan, queue, frame, run, kernels).run();
    } catch (...) {
      error.take(run.cancellation);
    }
  });
  error.rethrow();
}

}  // namespace towerflow
