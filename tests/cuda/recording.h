// A layer that records the calls of the backend.
#pragma once

#include <memory>

#include "cuda/backend/driver.h"
#include "cuda/table/layer.h"
#include "cuda/table/record.h"

namespace towerflow::testing {

class Recording final : public cuda::TableLayer {
 public:
  const cuda::Table& on(const cuda::Table& base) override {
    recorder_ = std::make_unique<cuda::Recorder>(base);
    return recorder_->table();
  }
  void update() override { recorder_->update(); }

  /// Once a session has opened a driver.
  cuda::Recorder& recorder() { return *recorder_; }

 private:
  std::unique_ptr<cuda::Recorder> recorder_;
};

/// Puts a layer under the backend while it exists. Sessions must be closed before it is made, and
/// before it ends.
class ScopedLayer {
 public:
  explicit ScopedLayer(std::shared_ptr<cuda::TableLayer> layer) {
    cuda::Driver::set_layer(std::move(layer));
  }
  ~ScopedLayer() { cuda::Driver::set_layer(nullptr); }
  ScopedLayer(const ScopedLayer&) = delete;
  ScopedLayer& operator=(const ScopedLayer&) = delete;
};

}  // namespace towerflow::testing
