#include "cuda/backend/plan_table.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/graph/error.h"
#include "cuda/backend/plan_file.h"

namespace towerflow::cuda {

PlanTable::PlanTable(std::string path, bool measures)
    : path_(std::move(path)), measures_(measures) {
  if (path_.empty()) return;
  if (!measures_) {
    read();
    return;
  }
  const LockFile lock = locked();
  std::error_code error;
  if (std::filesystem::exists(path_, error)) read();
  write();  // so that nothing is measured if the file cannot be written
}

std::optional<ConvolutionPlan> PlanTable::find(const std::string& device,
                                               const std::string& convolution) const {
  const std::lock_guard lock(mutex_);
  const auto found = plans_.find({device, convolution});
  if (found != plans_.end()) return found->second;
  if (measures_) return std::nullopt;
  const auto next = plans_.lower_bound({device, ""});
  if (next != plans_.end() && next->first.first == device) return std::nullopt;
  throw errors::FailedPreconditionError(
      fmt::format("'{}' has no plan for {}", path_, device),
      {.hint = "run 'towerflow tune' on this machine, or leave out plans="});
}

void PlanTable::add(ConvolutionPlan plan) {
  const std::lock_guard guard(mutex_);
  std::optional<LockFile> lock;
  if (!path_.empty()) {
    lock.emplace(locked());
    read();  // another session may have added some
  }
  std::pair key{plan.device, plan.convolution};
  plans_.insert_or_assign(std::move(key), std::move(plan));
  if (lock) write();
}

LockFile PlanTable::locked() const {
  return LockFile::make(path_ + ".lock", {}, LockFile::Others::wait);
}

void PlanTable::read() {
  for (ConvolutionPlan& plan : read_convolution_plans(path_)) {
    std::pair key{plan.device, plan.convolution};
    plans_.insert_or_assign(std::move(key), std::move(plan));
  }
}

void PlanTable::write() const {
  std::vector<ConvolutionPlan> list;
  for (const auto& [key, plan] : plans_) list.push_back(plan);
  write_convolution_plans(path_, list);
}

}  // namespace towerflow::cuda
