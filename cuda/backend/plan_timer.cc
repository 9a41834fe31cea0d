#include "cuda/backend/plan_timer.h"

#include <algorithm>
#include <cmath>

#include "core/graph/error.h"
#include "cuda/backend/check.h"

namespace towerflow::cuda {
namespace {

// Each byte of the tensors: numbers from 1e-18 to 1.06, depending on the dtype, and none that is
// denormal.
constexpr int kFill = 0x3C;
constexpr int kAverages = 3;
constexpr double kAveraged = 1;  // milliseconds, for one average
constexpr int kMostTimes = 32;   // the executions of one average
constexpr double kFarAbove = 2;

}  // namespace

PlanTimer::PlanTimer(Device& device, const DnnConvolutionSpec& spec) : device_(device) {
  const Table& table = device_.table();
  const ConvGeometry& g = spec.geometry;
  const std::int64_t elements[] = {g.batch * g.image_elements(), g.filter_elements(),
                                   g.batch * g.result_elements(), spec.bias ? g.out_channels : 0};
  device_.select();
  stream_ = device_.take_stream();
  if (stream_.dnn == nullptr) device_.add_dnn(stream_);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (elements[i] == 0) continue;
    const std::size_t bytes = static_cast<std::size_t>(elements[i]) * dtype_size(spec.dtype);
    tensors_[i] = device_.allocate(bytes);
    memory_[i] = tensors_[i].get();
    TOWERFLOW_CUDA(table, cudaMemsetAsync(tensors_[i].get(), kFill, bytes, stream_.stream));
  }
  TOWERFLOW_CUDA(table, cudaEventCreateWithFlags(&begin_, cudaEventDefault));
  TOWERFLOW_CUDA(table, cudaEventCreateWithFlags(&end_, cudaEventDefault));
}

PlanTimer::~PlanTimer() {
  const Table& table = device_.table();
  if (table.cudaStreamSynchronize(stream_.stream) != cudaSuccess) table.cudaGetLastError();
  for (const cudaEvent_t event : {begin_, end_}) {
    if (event != nullptr) table.cudaEventDestroy(event);
  }
  device_.give_back(stream_);
}

bool PlanTimer::make_room(std::size_t bytes) {
  if (bytes <= scratch_bytes_) return true;
  scratch_ = nullptr;
  scratch_bytes_ = 0;
  try {
    scratch_ = device_.allocate(bytes);
  } catch (const errors::ResourceExhaustedError&) {
    return false;
  }
  scratch_bytes_ = bytes;
  return true;
}

double PlanTimer::milliseconds(const DnnPlan& plan, int times) {
  const Table& table = device_.table();
  TOWERFLOW_CUDA(table, cudaEventRecord(begin_, stream_.stream));
  for (int i = 0; i < times; ++i) plan.execute(device_, stream_.dnn, memory_, scratch_.get());
  TOWERFLOW_CUDA(table, cudaEventRecord(end_, stream_.stream));
  TOWERFLOW_CUDA(table, cudaStreamSynchronize(stream_.stream));
  float taken = 0;
  TOWERFLOW_CUDA(table, cudaEventElapsedTime(&taken, begin_, end_));
  return taken / times;
}

std::optional<double> PlanTimer::time(const DnnPlan& plan, double best) {
  if (!make_room(plan.workspace)) return std::nullopt;
  try {
    plan.execute(device_, stream_.dnn, memory_, scratch_.get());  // its first run may load kernels
  } catch (const errors::InternalError&) {
    return std::nullopt;
  }
  const double once = milliseconds(plan, 1);
  if (once > kFarAbove * best) return once;
  const int times = once * kMostTimes < kAveraged
                        ? kMostTimes
                        : std::max(1, static_cast<int>(std::ceil(kAveraged / once)));
  double least = once;
  for (int i = 0; i < kAverages; ++i) least = std::min(least, milliseconds(plan, times));
  return least;
}

}  // namespace towerflow::cuda
