#include "cuda/backend/stream_work.h"

#include <algorithm>

#include "cuda/backend/cuda_event.h"
#include "cuda/backend/cuda_kernel.h"

namespace towerflow::cuda {
namespace {

bool is_same_call(const WorkCall& a, const WorkCall& b) {
  return a.kind == b.kind && a.instruction == b.instruction && a.kernel == b.kernel;
}

bool has_same_addresses(const WorkCall& a, const WorkCall& b) {
  return a.workspace == b.workspace && a.parameters == b.parameters && a.to == b.to &&
         a.from == b.from && a.bytes == b.bytes && a.event == b.event && a.handle == b.handle;
}

}  // namespace

void StreamWork::add_launch(std::size_t instruction, const CudaKernel& kernel,
                            const LaunchArgs& args, std::byte* parameters) {
  const std::size_t first_input = inputs_.size(), first_output = outputs_.size();
  inputs_.insert(inputs_.end(), args.inputs, args.inputs + kernel.inputs);
  outputs_.insert(outputs_.end(), args.outputs, args.outputs + kernel.outputs);
  // Last, so that no call lacks operands if there is no memory.
  calls_.push_back({.kind = WorkCall::Kind::launch,
                    .instruction = instruction,
                    .kernel = &kernel,
                    .first_input = first_input,
                    .first_output = first_output,
                    .workspace = args.workspace,
                    .parameters = parameters,
                    .detail = args.detail});
  checks_data_ |= kernel.may_fail();
  ++nodes_;
}

void StreamWork::add_copy(std::size_t instruction, void* to, const void* from, std::size_t bytes) {
  calls_.push_back({.kind = WorkCall::Kind::copy,
                    .instruction = instruction,
                    .to = to,
                    .from = from,
                    .bytes = bytes});
  has_copies_ = true;
  ++nodes_;
}

void StreamWork::add_record(std::size_t instruction, CudaEvent& event, cudaEvent_t handle) {
  calls_.push_back({.kind = WorkCall::Kind::record,
                    .instruction = instruction,
                    .event = &event,
                    .handle = handle});
}

void StreamWork::add_wait(std::size_t instruction, CudaEvent& event, cudaEvent_t handle,
                          bool checks_data) {
  calls_.push_back({.kind = WorkCall::Kind::wait,
                    .instruction = instruction,
                    .event = &event,
                    .handle = handle});
  checks_data_ |= checks_data;
}

/// Events of a queue are the deeper the later they come.
bool StreamWork::can_await(const CudaEvent& event) const {
  const auto first = std::find_if(calls_.begin(), calls_.end(), [](const WorkCall& call) {
    return call.kind == WorkCall::Kind::record;
  });
  return first == calls_.end() || event.depth < first->event->depth;
}

void StreamWork::clear() {
  calls_.clear();
  inputs_.clear();
  outputs_.clear();
  nodes_ = 0;
  has_copies_ = checks_data_ = false;
}

LaunchArgs StreamWork::args_of(const WorkCall& launch) const {
  return {.inputs = inputs_.data() + launch.first_input,
          .outputs = outputs_.data() + launch.first_output,
          .workspace = launch.workspace,
          .detail = launch.detail};
}

bool StreamWork::has_calls_of(const StreamWork& other) const {
  return std::equal(calls_.begin(), calls_.end(), other.calls_.begin(), other.calls_.end(),
                    is_same_call);
}

bool StreamWork::operator==(const StreamWork& other) const {
  return has_calls_of(other) && inputs_ == other.inputs_ && outputs_ == other.outputs_ &&
         std::equal(calls_.begin(), calls_.end(), other.calls_.begin(), has_same_addresses);
}

}  // namespace towerflow::cuda
