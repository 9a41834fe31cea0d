#include "cuda/backend/cuda_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/device/backend_registry.h"
#include "core/device/visible_devices.h"
#include "core/graph/error.h"
#include "core/graph/op_def.h"
#include "cuda/backend/check.h"
#include "cuda/backend/cuda_event.h"
#include "cuda/backend/cuda_kernel.h"
#include "cuda/backend/cuda_queue.h"
#include "cuda/backend/kernel_table.h"
#include "cuda/backend/plan_table.h"

namespace towerflow::cuda {
namespace {

std::string gibibytes(std::size_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / 1073741824);
}

bool has_numbers(const TensorDesc& desc) {
  return desc.dtype != DType::string && desc.dtype != DType::resource;
}

}  // namespace

CudaBackend::CudaBackend(const CudaDevices& options, std::vector<int> numbers)
    : driver_(Driver::open(options, numbers.front())), graphs_(options.graphs) {
  const auto there = driver_->devices().size();
  const bool has_plans = !options.plans.empty() || options.tune;
  const auto plans = has_plans ? std::make_shared<PlanTable>(options.plans, options.tune) : nullptr;
  for (const int number : numbers) {
    if (static_cast<std::size_t>(number) >= there) {
      throw errors::UnavailableError(fmt::format("there are {} GPUs here, and the session wants {}",
                                                 there, options.count / options.share));
    }
    const std::size_t memory = driver_->devices()[static_cast<std::size_t>(number)].totalGlobalMem;
    const auto share = static_cast<std::size_t>(options.share);
    const std::size_t limit = options.limit == 0 && share > 1 ? memory / share : options.limit;
    for (int one = 0; one < options.share; ++one) {
      devices_.push_back(std::make_shared<Device>(
          driver_, number, fmt::format("/device:GPU:{}", devices_.size()), limit, plans));
    }
  }
  driver_->link(numbers);
  add_entries();
}

/// Binds the entries to the devices of this session.
void CudaBackend::add_entries() {
  for (const CudaEntry& entry : cuda_kernels()) {
    const OpDef* op = OpRegistry::global().find(entry.op);
    if (op == nullptr) throw errors::InternalError(fmt::format("no op '{}' for CUDA", entry.op));
    std::vector<int> on_host = op->static_inputs;
    on_host.insert(on_host.end(), entry.known_inputs.begin(), entry.known_inputs.end());
    std::sort(on_host.begin(), on_host.end());
    kernels_.add({.op = entry.op,
                  .label = emulated() ? "host emulation, " + entry.label : entry.label,
                  .accepts =
                      [this, &entry](const KernelRequest& request) {
                        return (!entry.accepts || entry.accepts(request)) &&
                               (!entry.works_on ||
                                entry.works_on(*device(request.device), request));
                      },
                  .prepare =
                      [this, prepare = &entry.prepare](const KernelRequest& request) {
                        Device& own = *device(request.device);
                        own.select();
                        std::unique_ptr<PreparedKernel> made = (*prepare)(own, request);
                        if (auto* kernel = static_cast<CudaKernel*>(made.get())) {
                          kernel->inputs = request.inputs.size();
                          kernel->outputs = request.outputs.size();
                        }
                        return made;
                      },
                  .host_inputs = std::move(on_host)});
  }
}

std::string CudaBackend::description(int index) const {
  const cudaDeviceProp& card = device(index)->properties();
  const std::size_t limit = device(index)->limit();
  std::string copies;
  for (const auto& other : devices_) {
    const std::string fault = driver_->links().fault(device(index)->number(), other->number());
    if (fault.empty() || copies.find(fault) != std::string::npos) continue;
    copies += fmt::format("; copies go through the host: {}", fault);
  }
  const std::string memory =
      limit == 0 ? gibibytes(card.totalGlobalMem)
                 : fmt::format("{} of the {} of card {}", gibibytes(limit),
                               gibibytes(card.totalGlobalMem), device(index)->number());
  return fmt::format("{}{}, {}, compute capability {}.{}{}",
                     emulated() ? "host emulation of CUDA: " : "", card.name, memory, card.major,
                     card.minor, copies);
}

std::shared_ptr<void> CudaBackend::allocate(int index, std::size_t bytes) {
  return device(index)->allocate(bytes);
}

std::shared_ptr<void> CudaBackend::allocate_staging(std::size_t bytes) {
  std::shared_ptr<void> memory = driver_->allocate_pinned(bytes);
  void* const at = memory.get();
  return {at, [memory = std::move(memory), driver = driver_](void*) {
            driver->note_host_memory_given_back();
          }};
}

std::unique_ptr<Queue> CudaBackend::make_queue(int index, Lane) {
  return std::make_unique<CudaQueue>(device(index), graphs_);
}

std::shared_ptr<Event> CudaBackend::make_event() { return std::make_shared<CudaEvent>(driver_); }

const KernelEntry* CudaBackend::find_kernel(const KernelRequest& request) const {
  if (!std::all_of(request.inputs.begin(), request.inputs.end(), has_numbers) ||
      !std::all_of(request.outputs.begin(), request.outputs.end(), has_numbers)) {
    return nullptr;
  }
  return kernels_.find(request);
}

/// The members are the cards. NCCL refuses two ranks on one card.
Collective CudaBackend::collective(const std::vector<int>& devices) const {
  Collective found;
  for (const int index : devices) {
    const Device& own = *device(index);
    for (const int member : found.members) {
      const std::string fault = driver_->links().fault(member, own.number());
      if (fault.empty()) continue;
      return {{},
              fmt::format("direct copies between cards {} and {} are wrong ({})", member,
                          own.number(), fault)};
    }
    const auto same = std::find(found.members.begin(), found.members.end(), own.number());
    if (same != found.members.end()) {
      const int other = devices[static_cast<std::size_t>(same - found.members.begin())];
      return {{},
              fmt::format("{} and {} are on one card, number {}", device(other)->name(), own.name(),
                          own.number())};
    }
    found.members.push_back(own.number());
  }
  try {
    driver_->need(Group::nccl);
  } catch (const errors::UnavailableError& missing) {
    found.refusal = missing.message();
  }
  return found;
}

}  // namespace towerflow::cuda

std::shared_ptr<towerflow::Backend> towerflow::make_cuda_backend(const ConfigProto& config) {
  check(config.cuda);
  if (config.cuda.count == 0) return nullptr;
  return std::make_shared<cuda::CudaBackend>(
      config.cuda, visible_devices(config.gpu_options.visible_device_list,
                                   config.cuda.count / config.cuda.share, "GPUs"));
}

std::string towerflow::what_cuda_misses() { return cuda::Driver::missing(); }
