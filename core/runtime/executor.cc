#include "core/runtime/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>

namespace towerflow {
namespace {

void require_initialized(const VariableStorage& storage) {
  if (storage.initialized.load(std::memory_order_acquire)) return;
  throw errors::FailedPreconditionError(
      fmt::format("Attempting to use uninitialized value {}", storage.name),
      {.hint = "run tf::global_variables_initializer() first, for a local variable "
               "tf::local_variables_initializer(), or restore a checkpoint"});
}

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
      if (use.needs_value) require_initialized(frame_.variable(use.variable));
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

  /// Of a copy that fills a replica: whether it is one, and the replica if the variable has changed
  /// since it was filled last.
  bool has_replica() const { return uses_.size() == 2; }
  VariableStorage* replica_behind() const {
    if (!has_replica()) return nullptr;
    VariableStorage& replica = written();
    const bool fresh = replica.initialized.load(std::memory_order_acquire) &&
                       replica.version.load(std::memory_order_relaxed) == read_version();
    return fresh ? nullptr : &replica;
  }
  void mark_refreshed(VariableStorage& replica) const {
    replica.version.store(read_version(), std::memory_order_relaxed);
    replica.initialized.store(true, std::memory_order_release);
  }

 private:
  VariableStorage& written() const {
    return frame_.variable(uses_[uses_[0].writes ? 0 : 1].variable);
  }
  std::uint64_t read_version() const {
    const VariableStorage& master = frame_.variable(uses_[uses_[0].writes ? 1 : 0].variable);
    return master.version.load(std::memory_order_relaxed);
  }

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

/// What this thread has computed so far: what a kernel costs one core, whoever else wants the core.
double computed_now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Walks one queue's instructions.
class QueueRun {
 public:
  QueueRun(const Execution& run, std::size_t queue)
      : program_(run.plan.queues[queue]),
        frame_(run.frame),
        state_(run.frame.queue(queue)),
        queue_(*state_.queue),
        run_(run.context),
        kernels_(run.kernels),
        device_(run.devices[program_.device]),
        timed_(run.trace || run.plan.simulated),
        trace_(run.trace),
        start_(run.start),
        inputs_(state_.inputs),
        outputs_(state_.outputs) {
    if (timed_) pace_ = device_.backend->pace(device_.index);
  }

  void run() {
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
      if (run_.cancellation.cancelled()) throw errors::CancelledError("the run was cancelled");
      if (timed_)
        step_timed(i);
      else
        step(program_.instructions[i]);
    }
    queue_.synchronize();
  }

 private:
  void step(const Instruction& instruction) {
    switch (instruction.kind) {
      case Instruction::Kind::wait:
        queue_.wait(frame_.event(instruction.event), run_.cancellation);
        break;
      case Instruction::Kind::record:
        if (timed_) frame_.event_time(instruction.event) = state_.virtual_now;
        queue_.record(frame_.event(instruction.event));
        break;
      case Instruction::Kind::commit:
        check_needed(instruction);
        if (!run_.cancellation.commit()) throw errors::CancelledError("the run was cancelled");
        break;
      case Instruction::Kind::copy:
        copy(instruction);
        break;
      case Instruction::Kind::launch:
        launch(instruction);
        break;
    }
  }

  void step_timed(std::size_t index) {
    const Instruction& instruction = program_.instructions[index];
    const double before = state_.virtual_now;
    const double begin = trace_ ? wall_now() - start_ : 0;
    const double computed = computed_now();
    copied_bytes_ = 0;
    step(instruction);
    if (instruction.kind == Instruction::Kind::wait) {
      // A wait that a cancelled run has ended may have seen no time.
      if (run_.cancellation.cancelled()) return;
      state_.virtual_now = std::max(before, frame_.event_time(instruction.event));
    } else if (instruction.kind == Instruction::Kind::launch) {
      state_.virtual_now += (computed_now() - computed) * pace_.slowdown;
    } else if (copied_bytes_ > 0) {
      state_.virtual_now += pace_.copy_seconds(copied_bytes_);
    }
    if (trace_) {
      state_.spans[index] = {begin, wall_now() - start_, before, state_.virtual_now};
    }
  }

  /// Before the first change: an update that found its slot uninitialised would leave others done.
  void check_needed(const Instruction& commit) const {
    for (const NeededVariable& needed : commit.needed) {
      try {
        require_initialized(frame_.variable(needed.variable));
      } catch (...) {
        rethrow_with(needed.detail);
      }
    }
  }

  void copy(const Instruction& instruction) {
    try {
      const VariableLocks locks(frame_, instruction);
      locks.check_initialized();
      VariableStorage* replica = locks.replica_behind();
      if (replica == nullptr && locks.has_replica()) return;  // up to date
      const int from = instruction.inputs[0], to = instruction.outputs[0];
      copied_bytes_ = frame_.desc(to).bytes();
      queue_.copy(frame_.address(to), frame_.address(from), copied_bytes_);
      if (replica != nullptr) locks.mark_refreshed(*replica);
    } catch (...) {
      rethrow_with(instruction.detail);
    }
  }

  /// Where the library verifies itself, a kernel that says it cannot fail must not.
  void enqueue(const PreparedKernel& kernel, const LaunchArgs& args) {
#ifdef TOWERFLOW_VERIFY
    try {
      kernel.enqueue(queue_, args);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      if (kernel.may_fail()) throw;
      throw errors::InternalError(
          fmt::format("a kernel that says it cannot fail has failed: {}", error.what()));
    }
#else
    kernel.enqueue(queue_, args);
#endif
  }

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
                      .workspace = frame_.arena(program_.arena) + instruction.workspace,
                      .run = &run_,
                      .detail = &instruction.detail};
      if (instruction.late) {
        launch_late(instruction, args);
      } else if (instruction.variables.empty()) {
        enqueue(*instruction.kernel, args);
      } else {
        const VariableLocks locks(frame_, instruction);
        locks.check_initialized();
        enqueue(*instruction.kernel, args);
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
    const VariableLocks locks(frame_, instruction);  // shapes may be values of variables
    locks.check_initialized();
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
    enqueue(*kernel, args);
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
      outputs.push_back({found[i].dtype, found_shape(found[i].shape, declared), 0, kHostSpace});
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
  Frame::QueueState& state_;
  Queue& queue_;
  RunContext& run_;
  KernelCache& kernels_;
  const Device& device_;
  const bool timed_, trace_;
  const double start_;
  Pace pace_;
  std::size_t copied_bytes_ = 0;  // by the instruction under way
  std::vector<const void*>& inputs_;
  std::vector<void*>& outputs_;
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
    cancellation.abort();  // the other queues stop at their next instruction
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

double wall_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void execute(const Execution& run, Workers& workers) {
  const std::size_t queues = run.plan.queues.size();
  if (queues == 0) return;
  if (queues == 1) {
    QueueRun(run, 0).run();
    return;
  }
  FirstError error;
  const auto walk = [&](std::size_t queue) {
    try {
      QueueRun(run, queue).run();
    } catch (...) {
      error.take(run.context.cancellation);
    }
  };
  workers.run(queues, walk);
  error.rethrow();
}

}  // namespace towerflow
