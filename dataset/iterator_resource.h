#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "core/device/resource_store.h"
#include "dataset/definition.h"

namespace towerflow::data {

/// A pass over a dataset in a session, with the threads that compute ahead for it.
class RunningDataset {
 public:
  RunningDataset(const DatasetProgram& program, const std::vector<Array>& arguments)
      : root_(program.instantiate(arguments)(context_)) {}
  ~RunningDataset() { stop(); }
  RunningDataset(const RunningDataset&) = delete;
  RunningDataset& operator=(const RunningDataset&) = delete;

  /// Ends all waits; threads end soon and are joined by the destructor.
  void stop() { context_.stop.cancel(); }
  /// Returns the next element, in the order in which callers ask. Throws OutOfRangeError at the
  /// end.
  void next(ElementValue& element, Cancellation& run, ThreadPool& pool);
  /// Returns how many elements were returned, those skipped included.
  std::uint64_t taken() const;
  /// Drops `count` elements before anything is returned.
  void skip(std::uint64_t count, Cancellation& run, ThreadPool& pool);

 private:
  class Turn;

  IteratorContext context_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool busy_ = false;
  std::uint64_t taken_ = 0;
  std::unique_ptr<DatasetIterator> root_;  // used only by the holder of the turn
};

/// The iterator of one session behind IteratorV2 and _OneShotIterator.
class IteratorResource final : public Resource {
 public:
  IteratorResource(ElementSpec element, std::string name)
      : spec_(std::move(element)), name_(std::move(name)) {}

  /// Returns the dtypes and shapes of the elements, without their structure.
  const ElementSpec& spec() const { return spec_; }
  const std::string& name() const { return name_; }
  bool initialized() const;
  /// Begins at the first element.
  void initialize(const DatasetProgram& program, const std::vector<Array>& arguments);
  /// Does so unless it was done before.
  void initialize_once(const DatasetProgram& program, const std::vector<Array>& arguments);
  /// Returns the dataset that is read. Throws FailedPreconditionError before initialization.
  std::shared_ptr<RunningDataset> running() const;
  void shut_down() override;

 private:
  void replace(std::shared_ptr<RunningDataset> made);

  const ElementSpec spec_;
  const std::string name_;
  std::mutex initializing_;
  mutable std::mutex mutex_;
  std::shared_ptr<RunningDataset> running_;
  bool shut_down_ = false;
};

}  // namespace towerflow::data
