// How much of a step's copies passes while the accelerator that copies computes.
#include <doctest/doctest.h>

#include "report/hidden_copies.h"

using namespace towerflow;

namespace {

NodeStats stats(NodeStats::Kind kind, const char* device, Lane lane, double begin, double end) {
  NodeStats made;
  made.kind = kind;
  made.device = device;
  made.lane = lane;
  made.virtual_begin = begin;
  made.virtual_end = end;
  return made;
}

}  // namespace

TEST_CASE("what copies hide behind is the computation of their own device") {
  using enum NodeStats::Kind;
  RunMetadata step;
  step.simulated = true;
  CHECK(report::copy_times(step).total().hidden_share() == 1);
  step.nodes = {
      stats(kernel, "/device:SIM:0", Lane::compute, 0, 4),
      stats(kernel, "/device:SIM:0", Lane::compute, 4, 6),
      stats(wait, "/device:SIM:0", Lane::compute, 6, 9),
      stats(kernel, "/device:SIM:0", Lane::exchange, 6, 9),
      stats(kernel, "/device:SIM:1", Lane::compute, 6, 9),
      stats(copy, "/device:SIM:0", Lane::upload, 3, 5),     // hidden behind two kernels
      stats(copy, "/device:SIM:0", Lane::download, 5, 9),   // 1 of 4 hidden
      stats(copy, "/device:SIM:1", Lane::download, 4, 8),   // 2 of 4 hidden
      stats(copy, "/device:CPU:0", Lane::compute, 0, 100),  // of no copy engine
  };
  const report::CopyTimes times = report::copy_times(step);
  CHECK(times.out.all == 8);
  CHECK(times.out.hidden == 3);
  CHECK(times.in.hidden_share() == 1);
  CHECK(times.total().hidden_share() == 0.5);
}

TEST_CASE("without simulated devices the wall clock counts") {
  RunMetadata step;
  step.nodes = {stats(NodeStats::Kind::kernel, "/device:GPU:0", Lane::compute, 0, 0),
                stats(NodeStats::Kind::copy, "/device:GPU:0", Lane::upload, 0, 0)};
  step.nodes[0].end = 2;
  step.nodes[1].begin = 1;
  step.nodes[1].end = 5;
  CHECK(report::copy_times(step).in.hidden_share() == 0.25);
}
