#pragma once

#include <memory>
#include <string>

#include "core/device/kernel.h"
#include "data/reader_resource.h"

namespace towerflow {

/// Outputs the handle of the session's reader, which is created on first use.
class ReaderKernel final : public PreparedKernel {
 public:
  ReaderKernel(const KernelRequest& request, data::RecordFormat format)
      : node_(request.node), format_(std::move(format)) {}
  void enqueue(Queue&, const LaunchArgs& args) const override {
    *args.output<Resource*>(0) = &args.run->resources.resource<ReaderResource>(
        node_, [this] { return std::make_unique<ReaderResource>(format_); });
  }

 private:
  std::string node_;
  data::RecordFormat format_;
};

}  // namespace towerflow
