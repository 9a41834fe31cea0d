#pragma once

namespace CLI {
class App;
}

namespace towerflow::tools {

/// `towerflow bench graph`: the recording of a graph.
void add_bench_graph(CLI::App& parent);
/// `towerflow bench growth`: recording and planning of ever larger graphs.
void add_bench_growth(CLI::App& parent);
/// `towerflow bench --model NAME`: the benchmark of tf_cnn_benchmarks.
void add_bench_images(CLI::App& bench);
/// `towerflow bench records`: reading and parsing TFRecords.
void add_bench_records(CLI::App& parent);
/// `towerflow bench run`: the cost of a run besides its kernels.
void add_bench_run(CLI::App& parent);
/// `towerflow bench save`: writing a checkpoint.
void add_bench_save(CLI::App& parent);
/// `towerflow bench scaling`: a model's step on 1, 2, 4, 8 simulated devices.
void add_bench_scaling(CLI::App& parent);
/// `towerflow bench update`: averaging gradients and updating variables on the host.
void add_bench_update(CLI::App& parent);

}  // namespace towerflow::tools
