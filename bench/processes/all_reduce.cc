// Times the mean of a buffer over processes and an update of weights by it, against MPI_Allreduce
// on a buffer of that size and the same update, in turns: mpirun -n 4
// build/bench/processes/all_reduce
#define OMPI_SKIP_MPICXX 1
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "parallel/processes/group.h"
#include "parallel/processes/mean_exchange.h"
#include "parallel/processes/open_engine.h"

using namespace towerflow;

namespace {

template <class F>
double seconds_of(const F& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Reads the result of an exchange as an optimizer does.
void update(std::vector<float>& weights, const float* gradients) {
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= 0.1F * gradients[i];
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  // The group sends from a thread of its own, while this one waits.
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  {
    parallel::ProcessGroup group(parallel::processes::open_mpi_engine);  // left before MPI_Finalize
    for (const std::int64_t elements : {1000, 16000, 256000, 1000000, 4000000}) {
      const auto exchange =
          parallel::processes::make_mean_exchange(group, "a mean", 2, DType::float32, elements);
      std::vector<float> buffer(static_cast<std::size_t>(elements), 1.0F), weights = buffer;
      std::vector<double> own, of_mpi;
      for (int run = 0; run < 31; ++run) {
        std::fill_n(reinterpret_cast<float*>(exchange->numbers()), elements, 1.0F);
        own.push_back(seconds_of([&] {
          group.run(exchange);
          update(weights, reinterpret_cast<const float*>(exchange->means()));
        }));
        of_mpi.push_back(seconds_of([&] {
          MPI_Allreduce(MPI_IN_PLACE, buffer.data(), static_cast<int>(elements), MPI_FLOAT, MPI_SUM,
                        MPI_COMM_WORLD);
          update(weights, buffer.data());
        }));
      }
      if (group.rank() != 0) continue;
      fmt::print("{:>8} float32: {:9.3f} ms, MPI_Allreduce {:9.3f} ms\n", elements,
                 1e3 * median(own), 1e3 * median(of_mpi));
      std::fflush(stdout);
    }
  }
  MPI_Finalize();
}
