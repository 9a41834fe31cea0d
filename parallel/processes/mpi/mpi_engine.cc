// The plug-in for MPI: the only file that includes mpi.h. It becomes a library of its own, which
// links MPI but not Towerflow, so that a program without MPI needs none.
#define OMPI_SKIP_MPICXX 1  // the old C++ interface, a library of its own
#include <mpi.h>

#include <climits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "parallel/processes/message_engine.h"

namespace towerflow::parallel::processes {
namespace {

void check_mpi(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(std::string(what) + ": " +
                           std::string(text, static_cast<std::size_t>(length)));
}

class MpiEngine final : public MessageEngine {
 public:
  MpiEngine() {
    int initialized = 0;
    MPI_Initialized(&initialized);
    // A program that uses MPI itself has initialized it, and finalizes it once the group is left.
    finalizes_ = initialized == 0;
    if (finalizes_) {
      int provided = 0;
      check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init");
    }
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &group_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(group_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(group_, &rank_);
    MPI_Comm_size(group_, &size_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  int send(const void* data, std::size_t bytes, int to, int tag) override {
    const int number = free_request(-1);
    check_mpi(MPI_Isend(data, count_of(bytes), MPI_BYTE, to, tag, group_, &request(number)),
              "MPI_Isend");
    return number;
  }

  int receive(void* data, std::size_t bytes, int from, int tag) override {
    const int number = free_request(count_of(bytes));
    check_mpi(MPI_Irecv(data, count_of(bytes), MPI_BYTE, from, tag, group_, &request(number)),
              "MPI_Irecv");
    return number;
  }

  void poll(std::vector<int>& ended) override {
    int count = 0;
    const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                  indices_.data(), statuses_.data());
    if (count == MPI_UNDEFINED) return;
    if (code == MPI_ERR_IN_STATUS) {
      for (int i = 0; i < count; ++i) check_mpi(status(i).MPI_ERROR, "a message failed");
    }
    check_mpi(code, "MPI_Testsome");
    for (int i = 0; i < count; ++i) {
      const int number = indices_[static_cast<std::size_t>(i)];
      check_length(number, status(i));
      ended.push_back(number);
      free_.push_back(number);
    }
  }

  void leave() override {
    if (finalizes_) MPI_Finalize();
  }

  [[noreturn]] void abort(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::abort();
  }

 private:
  static int count_of(std::size_t bytes) {
    if (bytes > INT_MAX) {
      throw std::runtime_error("a message of " + std::to_string(bytes) +
                               " bytes is longer than the 2 GiB that MPI takes at once");
    }
    return static_cast<int>(bytes);
  }

  MPI_Request& request(int number) { return requests_[static_cast<std::size_t>(number)]; }
  const MPI_Status& status(int index) const { return statuses_[static_cast<std::size_t>(index)]; }

  /// Returns the number of an unused request that expects `bytes`, or -1 if it sends.
  int free_request(int bytes) {
    if (free_.empty()) {
      free_.push_back(static_cast<int>(requests_.size()));
      requests_.push_back(MPI_REQUEST_NULL);
      expected_.push_back(-1);
      indices_.push_back(0);
      statuses_.emplace_back();
    }
    const int number = free_.back();
    free_.pop_back();
    expected_[static_cast<std::size_t>(number)] = bytes;
    return number;
  }

  void check_length(int number, const MPI_Status& ended) const {
    const int expected = expected_[static_cast<std::size_t>(number)];
    int bytes = 0;
    MPI_Get_count(&ended, MPI_BYTE, &bytes);
    if (expected < 0 || bytes == expected) return;
    throw std::runtime_error("rank " + std::to_string(ended.MPI_SOURCE) + " sent " +
                             std::to_string(bytes) + " bytes where " + std::to_string(expected) +
                             " are expected");
  }

  MPI_Comm group_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  bool finalizes_ = true;
  std::vector<MPI_Request> requests_;
  std::vector<int> expected_;  // by request: bytes to receive, or -1
  std::vector<int> free_;      // requests that are not in use
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
};

}  // namespace
}  // namespace towerflow::parallel::processes

extern "C" towerflow::parallel::processes::MessageEngine* towerflow_open_engine(int interface) {
  using namespace towerflow::parallel::processes;
  return interface == kEngineInterface ? std::make_unique<MpiEngine>().release() : nullptr;
}
