// The work that a queue holds back, and how it gets into the stream.
#include <utility>

#include "core/graph/error.h"
#include "cuda/backend/check.h"
#include "cuda/backend/cuda_kernel.h"
#include "cuda/backend/cuda_queue.h"
#include "cuda/backend/launch.h"

namespace towerflow::cuda {

void CudaKernel::enqueue(Queue& queue, const LaunchArgs& args) const {
  static_cast<CudaQueue&>(queue).enqueue(*this, args);
}

void CudaQueue::enqueue(const CudaKernel& kernel, const LaunchArgs& args) {
  if (failed()) return;
  // What `args.arrays` refers to does not outlive this call.
  if (!holds_back() || args.arrays != nullptr || kernel.at_once()) {
    return enqueue([&] {
      run_kernel(kernel, args, parameters_for(kernel, args));
      put_updates();
    });
  }
  try {
    work_.add_launch(instruction_, kernel, args, parameters_for(kernel, args));
  } catch (...) {
    std::exception_ptr error = std::current_exception();
    flush();
    fail(std::move(error), instruction_);
  }
}

std::byte* CudaQueue::parameters_for(const CudaKernel& kernel, const LaunchArgs& args) {
  const std::size_t bytes = kernel.parameter_bytes();
  if (bytes == 0) return nullptr;
  std::byte* const parameters = run_parameters_.take(bytes);
  kernel.set_parameters(args, parameters);
  return parameters;
}

void CudaQueue::run_kernel(const CudaKernel& kernel, const LaunchArgs& args,
                           const std::byte* parameters) {
  parameters_ = parameters;
  struct Running {
    bool& flag;
    ~Running() { flag = false; }
  } running{in_kernel_};
  in_kernel_ = true;
  kernel.run(*this, args);
}

void CudaQueue::add_update(const VariableUpdate& update) {
  if (!updates_.can_take(update)) put_updates();
  if (updates_.empty()) first_update_ = instruction_;
  updates_.add(update);
}

void CudaQueue::put_updates() {
  if (updates_.empty()) return;
  const PendingUpdates all = std::exchange(updates_, {});
  const std::vector<const WorkCall*> records = std::exchange(records_after_updates_, {});
  std::exception_ptr error;
  try {
    cuda::launch(*this, all.kernel(), one_block_each(all.blocks()), all.list());
  } catch (...) {
    if (capturing_ != nullptr) throw;
    error = std::current_exception();
    fail(error, first_update_);
  }
  for (const WorkCall* record : records) put_record(*record);
  if (error != nullptr) std::rethrow_exception(error);
}

/// Records an event, after the updates that are pending.
void CudaQueue::put_record(const WorkCall& call) {
  if (!updates_.empty()) return records_after_updates_.push_back(&call);
  if (capturing_ == nullptr) return record_now(*call.event);
  // External: the event is recorded by each launch of the graph.
  TOWERFLOW_CUDA(device_->table(),
                 cudaEventRecordWithFlags(call.handle, stream_.stream, cudaEventRecordExternal));
  capturing_->checked_before.push_back(capturing_->checked.size());
}

/// Makes the stream wait for an event, after the updates that are pending, which need not wait.
void CudaQueue::put_wait(const WorkCall& call) {
  if (capturing_ == nullptr) {
    try {
      put_updates();
    } catch (...) {  // it is noted
    }
    return wait_in_stream(*call.event, true);
  }
  // External: each launch of the graph waits for the last record before it.
  TOWERFLOW_CUDA(device_->table(),
                 cudaStreamWaitEvent(stream(), call.handle, cudaEventWaitExternal));
  capturing_->checked_before.push_back(capturing_->checked.size());
}

cudaStream_t CudaQueue::stream() {
  put_updates();
  return stream_.stream;
}

void CudaQueue::flush() {
  if (work_.empty() || putting_) return;
  const std::size_t instruction = instruction_;
  putting_ = true;
  try {
    put_work();
  } catch (...) {  // there is no memory for the bookkeeping
    fail(std::current_exception(), instruction_);
    for (const WorkCall& call : work_.calls()) {
      if (call.kind == WorkCall::Kind::record && !call.event->recorded()) call.event->give_up();
    }
  }
  putting_ = false;
  work_.clear();
  instruction_ = instruction;
}

void CudaQueue::put_work() {
  StepGraph* graph = nullptr;
  try {
    device_->select();
    if (!failed()) graph = graphs_->find(work_);
  } catch (...) {
    fail(std::current_exception(), work_.calls().front().instruction);
  }
  if (graph != nullptr && has_room_for(*graph) && (replay(*graph) || capture(*graph))) return;
  for (const WorkCall& call : work_.calls()) make_call(call);
  try {
    put_updates();
  } catch (...) {
    fail(std::current_exception(), instruction_);
  }
}

void CudaQueue::make_call(const WorkCall& call) {
  instruction_ = call.instruction;
  if (call.kind == WorkCall::Kind::record) return put_record(call);
  if (call.kind == WorkCall::Kind::wait) return put_wait(call);
  if (failed()) return;
  try {
    if (call.kind == WorkCall::Kind::launch)
      run_kernel(*call.kernel, work_.args_of(call), call.parameters);
    else
      copy(call.to, call.from, call.bytes);
  } catch (...) {
    fail(std::current_exception(), instruction_);
  }
}

/// Makes a call during a capture. Throws what is wrong with it.
void CudaQueue::capture_call(const WorkCall& call) {
  instruction_ = call.instruction;
  switch (call.kind) {
    case WorkCall::Kind::launch:
      run_kernel(*call.kernel, work_.args_of(call), call.parameters);
      break;
    case WorkCall::Kind::copy:
      copy(call.to, call.from, call.bytes);
      break;
    case WorkCall::Kind::record:
      put_record(call);
      break;
    case WorkCall::Kind::wait:
      put_wait(call);
      break;
  }
}

bool CudaQueue::capture(StepGraph& graph) {
  const std::size_t first = checked_.size();
  const std::size_t taken = records_ == nullptr ? 0 : records_->taken();
  const std::size_t in_run = records_ == nullptr ? 0 : records_->taken_in_run();
  capturing_ = &graph;
  const bool captured = graph.capture(work_, stream_.stream, in_run, [&](StepGraph& made) {
    for (const WorkCall& call : work_.calls()) {
      capture_call(call);
      made.checked.assign(checked_.begin() + static_cast<std::ptrdiff_t>(first), checked_.end());
    }
    put_updates();
  });
  capturing_ = nullptr;
  if (captured) {
    launch(graph, taken);
  } else {
    updates_.clear();
    records_after_updates_.clear();
    checked_.resize(first);
    if (records_ != nullptr) records_->give_back(records_->taken() - taken);
  }
  return captured;
}

bool CudaQueue::has_room_for(const StepGraph& graph) const {
  return records_ == nullptr || records_->has_room(graph.checked.size());
}

bool CudaQueue::replay(StepGraph& graph) {
  const std::size_t taken = records_ == nullptr ? 0 : records_->taken();
  const std::size_t in_run = records_ == nullptr ? 0 : records_->taken_in_run();
  if (!graph.does(work_, in_run)) return false;
  for (const CheckedLaunch& launch : graph.checked) {
    records_->take();
    checked_.push_back(launch);
  }
  launch(graph, taken);
  return true;
}

/// Launches a graph, whose launches with a record are the last of `checked_`. `first_record` is the
/// number of the first of them.
void CudaQueue::launch(const StepGraph& graph, std::size_t first_record) {
  try {
    graph.launch(stream_.stream);
  } catch (...) {
    fail(std::current_exception(), work_.calls().front().instruction);
  }
  const std::size_t first_launch = checked_.size() - graph.checked.size();
  std::size_t known = 0;  // launches whose waits are noted
  const auto note_waits_of = [&](std::size_t launches) {
    for (; known < launches; ++known) checked_[first_launch + known].waited = waited_.size();
  };
  auto checked_before = graph.checked_before.begin();
  for (const WorkCall& call : work_.calls()) {
    if (call.kind != WorkCall::Kind::record && call.kind != WorkCall::Kind::wait) continue;
    const std::size_t before = *checked_before++;
    note_waits_of(before);
    if (call.kind == WorkCall::Kind::wait) {
      instruction_ = call.instruction;
      note_checks(*call.event);
      continue;
    }
    CheckedLaunches checks = own_checks();
    checks.end = first_record + before;
    recorded_.push_back(
        {call.event->shared_from_this(), call.event->use(), checks.end, waited_.size()});
    if (failed())
      call.event->give_up();
    else
      call.event->note_recorded(checks, checks_);
  }
  note_waits_of(graph.checked.size());
}

}  // namespace towerflow::cuda
