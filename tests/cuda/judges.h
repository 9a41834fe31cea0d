// A layer that shows the descriptors of the backend to the real libraries as well.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/table/layer.h"

namespace towerflow::testing {

/// Repeats each call that makes a descriptor with the real cuBLASLt and cuDNN, and notes what they
/// refuse of what the base took. Graphs, configurations and plans of cuDNN are left out, since
/// they need a handle, which it has with a driver only. One at a time.
class Judges final : public cuda::TableLayer {
 public:
  Judges(const cuda::Table* cublaslt, const cuda::Table* cudnn);
  ~Judges() override;

  const cuda::Table& on(const cuda::Table& base) override;
  void update() override;

  /// How many calls the libraries have judged, by name.
  std::map<std::string, int> judged() const;
  /// What they refused, each call with the status.
  std::vector<std::string> refused() const;

  struct Calls;  // the entries of the table

 private:
  /// Notes a verdict on a call that the base took.
  void note(const char* call, int status, const std::string& numbers);

  const cuda::Table *base_ = nullptr, *cublaslt_, *cudnn_;
  cuda::Table table_;
  mutable std::mutex mutex_;           // guards the members below
  std::map<const void*, void*> real_;  // the library's descriptor for one of the base
  std::map<std::string, int> judged_;
  std::vector<std::string> refused_;
};

}  // namespace towerflow::testing
