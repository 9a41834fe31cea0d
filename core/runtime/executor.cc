#include "core/runtime/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "core/device/cpu/cpu_backend.h"
#include "core/device/cpu/thread_pool.h"
#include "core/device/flushed_denormals.h"
#include "core/device/virtual_host.h"
#include "core/graph/widening.h"
#include "core/runtime/variable_locks.h"
#include "core/runtime/variable_version.h"

namespace towerflow {
namespace {

class FrameArrays final : public LaunchArrays {
 public:
  FrameArrays(Frame& frame, const Instruction& instruction, std::vector<void*>& outputs)
      : frame_(frame), instruction_(instruction), outputs_(outputs) {}
  void* allocate(std::size_t index, const Shape& shape) override {
    const int slot = instruction_.outputs.at(index);
    outputs_[index] = frame_.bind_late(slot, frame_.declared(slot).dtype, shape);
    return outputs_[index];
  }
  Array keep_input(std::size_t index) override {
    return frame_.keep(instruction_.inputs.at(index));
  }
  void give_output(std::size_t index, const Array& value) override {
    frame_.give(instruction_.outputs.at(index), value);
  }

 private:
  Frame& frame_;
  const Instruction& instruction_;
  std::vector<void*>& outputs_;
};

/// Executes the instructions of one queue.
class QueueRun {
 public:
  QueueRun(const Execution& run, std::size_t queue)
      : execution_(run),
        number_(queue),
        program_(run.plan.queues[queue]),
        frame_(run.frame),
        state_(run.frame.queue(queue)),
        queue_(*state_.queue),
        run_(run.context),
        kernels_(run.kernels),
        devices_(run.devices),
        before_(run.before),
        trace_(run.trace != nullptr),
        asynchronous_(queue_.asynchronous()),
        watched_(trace_ || run.plan.simulated || asynchronous_ || run.before != nullptr),
        inputs_(state_.inputs),
        outputs_(state_.outputs) {
    queue_.start(trace_ || run.plan.simulated);
    if (run.virtual_host != nullptr) queue_.advance(run.virtual_start);
  }

  /// Executes all instructions. Returns, or throws the first error, only after all enqueued work
  /// has ended, since that uses the frame's memory and the caller's feeds.
  void run() {
    std::exception_ptr error;
    try {
      run_instructions();
    } catch (...) {
      error = std::current_exception();
    }
    drain();
    if (device_error_ != nullptr) error = device_error_;  // it came first
    if (error != nullptr) std::rethrow_exception(error);
  }

 private:
  void run_instructions() {
    for (at_ = 0; at_ < program_.instructions.size(); ++at_) {
      if (run_.cancellation.cancelled()) throw errors::CancelledError("the run was cancelled");
      const Instruction& instruction = program_.instructions[at_];
      if (!instruction.guards.empty() && !guards_hold(instruction)) {
        at_ = instruction.otherwise - 1;
        continue;
      }
      if (watched_)
        step_watched();
      else
        step(program_.instructions[at_]);
      if (device_error_ != nullptr) return;
    }
  }

  /// Returns whether an instruction of a branch runs.
  bool guards_hold(const Instruction& instruction) const {
    for (const GuardUse& guard : instruction.guards) {
      if (*static_cast<const bool*>(frame_.address(guard.slot)) == guard.branch) continue;
      if (instruction.must_run) throw_no_value(instruction);
      return false;
    }
    return true;
  }

  [[noreturn, gnu::cold, gnu::noinline]] static void throw_no_value(
      const Instruction& instruction) {
    ErrorDetail detail = instruction.detail;
    detail.hint =
        "it depends on a branch of a tf::cond that was not taken: fetch the result of the "
        "cond instead";
    throw errors::InvalidArgumentError(
        fmt::format("Retval[0] does not have value: {}", detail.node), std::move(detail));
  }

  void step_watched() {
    if (queue_.failed()) return drain();
    if (before_ != nullptr) {
      queue_.flush();
      before_(number_, at_);
    }
    if (must_drain_before(program_.instructions[at_])) {
      drain();
      if (device_error_ != nullptr) return;
    }
    const Instruction& instruction = program_.instructions[at_];
    const bool on_shared_core =
        execution_.virtual_host != nullptr && !asynchronous_ && computes(instruction);
    if (on_shared_core) take_core(instruction);
    queue_.begin(at_, trace_ ? &state_.spans[at_] : nullptr);
    step(instruction);
    queue_.end();
    if (on_shared_core) free_core(instruction);
  }

  /// Returns whether an instruction takes time of the virtual clock.
  static bool computes(const Instruction& instruction) {
    return instruction.kind == Instruction::Kind::copy ||
           instruction.kind == Instruction::Kind::fill ||
           instruction.kind == Instruction::Kind::launch ||
           instruction.kind == Instruction::Kind::loop;
  }

  /// Returns whether an instruction may wait for another worker, as at a queue.
  static bool may_block(const Instruction& instruction) {
    return instruction.op != nullptr && instruction.op->effect == Effect::stateful &&
           !instruction.op->uses_run_object;
  }

  /// Waits until the host's core can run the instruction, before any lock is taken.
  void take_core(const Instruction& instruction) {
    VirtualHost& host = *execution_.virtual_host;
    const int worker = execution_.worker;
    queue_.advance(host.take_core(worker, queue_.virtual_time(), run_.cancellation));
    if (may_block(instruction)) host.leave(worker);
  }

  void free_core(const Instruction& instruction) {
    VirtualHost& host = *execution_.virtual_host;
    const int worker = execution_.worker;
    if (!may_block(instruction)) return host.free_core(worker, queue_.virtual_time());
    queue_.advance(host.core_is_free());  // what it waited for is done by then
    host.join(worker, queue_.virtual_time());
  }

  void step(const Instruction& instruction) {
    switch (instruction.kind) {
      case Instruction::Kind::wait:
        wait(instruction);
        break;
      case Instruction::Kind::record:
        queue_.record(*frame_.event(instruction.event));
        break;
      case Instruction::Kind::commit:
        commit(instruction);
        break;
      case Instruction::Kind::copy:
      case Instruction::Kind::fill:
        copy(instruction);
        break;
      case Instruction::Kind::launch:
        launch(instruction);
        break;
      case Instruction::Kind::loop:
        loop(instruction);
        break;
    }
  }

  void wait(const Instruction& instruction) {
    Event& event = *frame_.event(instruction.event);
    queue_.wait(event, run_.cancellation);
    if (!instruction.host_waits) return;
    queue_.flush();
    event.await_recorded(run_.cancellation);
    event.await_done(event.use(), &run_.cancellation);
    if (run_.cancellation.cancelled()) throw errors::CancelledError("the run was cancelled");
    if (event.failed()) throw errors::CancelledError("a condition could not be computed");
  }

  /// Commits the run after everything that may fail has succeeded: this queue is drained here, and
  /// the plan waits for the others before the commit.
  void commit(const Instruction& instruction) {
    drain();
    if (device_error_ != nullptr) return;
    check_needed(instruction);
    if (!run_.cancellation.commit()) throw errors::CancelledError("the run was cancelled");
  }

  /// Waits for the enqueued work. If it failed, attributes the error to its instruction and undoes
  /// the bookkeeping of its writes.
  void drain() {
    if (!asynchronous_) return;  // each call has thrown its own error
    std::optional<QueueError> failed = queue_.synchronize();
    if (failed_) failed = std::exchange(failed_, std::nullopt);
    if (!failed || device_error_ != nullptr) return;
    forget_writes(failed->instruction);
    try {
      try {
        std::rethrow_exception(failed->error);
      } catch (...) {
        rethrow_for(program_.instructions[failed->instruction]);
      }
    } catch (...) {
      device_error_ = std::current_exception();
    }
  }

  /// Undoes the bookkeeping of writes from instruction `first` on, which did not happen: marks
  /// their replicas as stale and variables that would have got their first value as uninitialized.
  void forget_writes(std::size_t first) {
    const std::size_t end = std::min(at_ + 1, program_.instructions.size());
    for (std::size_t i = first; i < end; ++i) {
      for (const VariableUse& use : program_.instructions[i].variables) {
        if (!use.writes) continue;
        VariableStorage& storage = frame_.variable(use.variable);
        const std::lock_guard lock(storage.mutex);
        if (const auto valid = storage.pending.drop_failed_writes())
          storage.initialized.store(*valid);
        // A device that mirrors the write may have done it.
        mark_failed(storage);
      }
    }
  }

  /// Checks the variables that the run needs before it changes any: an update that failed on an
  /// uninitialized slot would leave other updates done.
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
      const int from = instruction.inputs[0], to = instruction.outputs[0];
      const auto enqueue = [&] {
        queue_.copy(frame_.address(to), frame_.address(from), frame_.desc(to).bytes());
      };
      if (instruction.variables.empty()) return enqueue();
      const VariableLocks locks(execution_, instruction, queue_);
      locks.check_initialized();
      const bool fills = instruction.kind == Instruction::Kind::fill;
      if (fills && !locks.is_stale()) return;
      enqueue_locked(instruction, locks, enqueue, [&] {
        if (fills) locks.mark_filled();
      });
    } catch (...) {
      rethrow_with(instruction.detail);
    }
  }

  /// Enqueues an instruction that uses variables, after the pending accesses; `mark` notes its
  /// changes.
  template <class Enqueue, class Mark>
  void enqueue_locked(const Instruction& instruction, const VariableLocks& locks,
                      const Enqueue& enqueue, const Mark& mark) {
    locks.await_pending(queue_, run_.cancellation);
    if (!asynchronous_) {
      enqueue();
      return mark();
    }
    bool enqueued = false;
    try {
      enqueue();
      enqueued = true;
      const std::shared_ptr<Event>& access = frame_.event(instruction.access);
      queue_.record(*access);
      locks.add_pending(queue_, access, instruction.changes_replica());
    } catch (...) {
      failed_ = queue_.synchronize();    // while the variables are still locked
      if (enqueued && !failed_) mark();  // the work is done, only its event is missing
      throw;
    }
    mark();
  }

  /// Without a commit, a change of a variable must not follow work that may have failed.
  bool must_drain_before(const Instruction& instruction) const {
    const auto writes = [](const VariableUse& use) { return use.writes; };
    return asynchronous_ && instruction.kind == Instruction::Kind::launch &&
           std::any_of(instruction.variables.begin(), instruction.variables.end(), writes) &&
           !run_.cancellation.committed() && queue_.may_find_wrong_data();
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
      const std::unique_lock state = take_state(instruction);
      if (instruction.late) {
        launch_late(instruction, args);
      } else if (instruction.shares) {
        FrameArrays arrays(frame_, instruction, outputs_);
        args.arrays = &arrays;
        launch_locked(instruction, args);
      } else if (instruction.variables.empty()) {
        enqueue_checked(*instruction.kernel, queue_, args);
      } else {
        launch_locked(instruction, args);
      }
    } catch (...) {
      rethrow_for(instruction);
    }
  }

  /// Waits for the turn of an op on a queue, a reader or a file, if other runs use the same;
  /// returns its lock.
  std::unique_lock<std::mutex> take_state(const Instruction& instruction) {
    RunAccesses* const accesses = execution_.accesses;
    const Effect effect = instruction.op->effect;
    const bool shared = effect == Effect::stateful || effect == Effect::io;
    if (accesses == nullptr || !shared || instruction.state.empty()) return {};
    const std::vector<RunAccesses::Access> access{{instruction.state, true}};
    queue_.flush();  // the turn may come only after another queue, which waits for this one
    accesses->await_turn(access, run_.cancellation);
    std::mutex* const exclusive = accesses->exclusive(instruction.state);
    if (exclusive == nullptr) return {};
    std::unique_lock lock(*exclusive);
    accesses->note(access);
    return lock;
  }

  /// Runs a loop. The variables whose values it reads are locked meanwhile; those that it changes
  /// or refers to are locked by the instructions of its plans.
  [[gnu::noinline]] void loop(const Instruction& instruction) {
    try {
      const VariableLocks locks(execution_, instruction, queue_);
      locks.check_initialized();
      locks.await_pending(queue_, run_.cancellation);
      queue_.flush();
      run_loop(execution_, instruction);
    } catch (...) {
      rethrow_for(instruction);
    }
  }

  // Not inlined, to keep `launch`, which runs for every node, small.
  [[gnu::noinline]] void launch_locked(const Instruction& instruction, const LaunchArgs& args) {
    const VariableLocks locks(execution_, instruction, queue_);
    locks.check_initialized();
    const auto enqueue = [&] { launch_through(instruction, *instruction.kernel, args); };
    enqueue_locked(instruction, locks, enqueue, [&] { locks.mark_written(write_of(instruction)); });
  }

  /// Launches a kernel. Variables stored elsewhere that it writes are copied here before and stored
  /// at their homes after it, under their locks.
  void launch_through(const Instruction& instruction, const PreparedKernel& kernel,
                      const LaunchArgs& args) {
    for (const WriteThrough& write : instruction.through) prepare_replica(write, *instruction.op);
    enqueue_checked(kernel, queue_, args);
    for (const WriteThrough& write : instruction.through) store(write, write_of(instruction));
  }

  /// Prepares a replica for a write: it counts as uninitialized until the write is stored, and gets
  /// the master's value first unless the op overwrites all of it.
  void prepare_replica(const WriteThrough& write, const OpDef& op) {
    VariableStorage &master = frame_.variable(write.master), &here = frame_.variable(write.replica);
    const bool held = is_current(here, master);
    here.initialized.store(false, std::memory_order_release);  // until `store`
    if (held || op.overwrites || !master.initialized.load(std::memory_order_acquire)) return;
    copy_now(devices_[write.device], Lane::download, here.value.raw(), master.value.raw(),
             master.value.bytes());
  }

  void store(const WriteThrough& write, std::uint64_t number) {
    VariableStorage &master = frame_.variable(write.master), &here = frame_.variable(write.replica);
    copy_now(devices_[write.device], Lane::upload, master.value.raw(), here.value.raw(),
             master.value.bytes());
    mark_changed(master, number);
    mark_current(here, master);
  }

  /// Returns the number of an instruction's writes, which the instructions that mirror it share.
  std::uint64_t write_of(const Instruction& instruction) const {
    return execution_.number ^ instruction.write;
  }

  [[noreturn, gnu::cold, gnu::noinline]] void rethrow_for(const Instruction& instruction) const {
    ErrorDetail detail = instruction.detail;
    detail.op += input_shapes(instruction);
    rethrow_with(detail);
  }

  /// Prepares and runs a late instruction: its input shapes are known now, and its output shapes
  /// are inferred or found by the kernel. Only on the host, where the work has ended on return.
  [[gnu::noinline]] void launch_late(const Instruction& instruction, LaunchArgs& args) {
    // Shapes may depend on values of variables.
    const VariableLocks locks(execution_, instruction, queue_);
    locks.check_initialized();
    locks.await_pending(queue_, run_.cancellation);
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
    FrameArrays arrays(frame_, instruction, outputs_);
    args.arrays = &arrays;
    launch_through(instruction, *kernel, args);
    locks.mark_written(write_of(instruction));
  }

  /// Returns an input as an Array that does not own its memory.
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
      specs.push_back({desc.dtype, desc.shape, contains_input(instruction.op->written, i)});
      const bool may_be_shape = desc.dtype == DType::int32 || desc.dtype == DType::int64;
      values.push_back(may_be_shape ? value_at(instruction, static_cast<int>(i), request)
                                    : Array());
    }
    for (const Array& value : values) constants.push_back(value.empty() ? nullptr : &value);
    InferenceContext context(instruction.attrs, specs, constants);
    std::vector<TensorDesc> outputs;
    const std::vector<OutputSpec> found = infer_outputs(*instruction.op, context);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Shape declared = frame_.declared(instruction.outputs[i]).shape;
      outputs.push_back(
          {found[i].dtype, merge_declared_shape(found[i].shape, declared), kHostSpace});
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

  const Execution& execution_;
  const std::size_t number_;
  const QueueProgram& program_;
  Frame& frame_;
  Frame::QueueState& state_;
  Queue& queue_;
  RunContext& run_;
  KernelCache& kernels_;
  const DeviceSet& devices_;
  const std::function<void(std::size_t, std::size_t)>& before_;
  const bool trace_, asynchronous_;
  const bool watched_;                // whether each instruction is announced to the queue
  std::size_t at_ = 0;                // the current instruction
  std::optional<QueueError> failed_;  // taken from the queue before `drain`
  std::exception_ptr device_error_;   // of enqueued work
  std::vector<const void*>& inputs_;
  std::vector<void*>& outputs_;
};

/// Keeps the first error, except that a CancelledError is replaced by the first error of another
/// type.
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

/// Returns the pool in which a queue computes on the threads of the host, nullptr for another
/// queue.
ThreadPool* pool_of(const Execution& run, std::size_t queue) {
  auto* on_cpu = dynamic_cast<CpuQueue*>(run.frame.queue(queue).queue.get());
  return on_cpu == nullptr ? nullptr : &on_cpu->pool();
}

}  // namespace

void execute(Execution run, Workers& workers) {
  const FlushedDenormals flushed;
  run.workers = &workers;
  run.number = next_execution();
  const std::size_t queues = run.plan.queues.size();
  if (queues == 0) return;
  if (queues == 1) {
    QueueRun(run, 0).run();
    return;
  }
  // Each tower on a CPU keeps a core, also between its kernels, so that no helper competes with it.
  std::optional<ThreadPool::Announcement> towers;
  int on_cpus = 0;
  for (std::size_t queue = 0; queue < queues; ++queue) on_cpus += pool_of(run, queue) != nullptr;
  for (std::size_t queue = 0; queue < queues && on_cpus > 1 && !towers; ++queue) {
    if (ThreadPool* const pool = pool_of(run, queue)) towers.emplace(*pool, on_cpus);
  }
  FirstError error;
  const auto walk = [&](std::size_t queue) {
    std::optional<ThreadPool::Computing> computing;
    if (towers && pool_of(run, queue) != nullptr) computing.emplace(*towers);
    try {
      QueueRun(run, queue).run();
    } catch (...) {
      error.take(run.context.cancellation);
    }
  };
  const bool only_cpus = static_cast<std::size_t>(on_cpus) == queues;
  workers.run(queues, walk, towers && only_cpus ? &towers->pool() : nullptr);
  error.rethrow();
}

}  // namespace towerflow
