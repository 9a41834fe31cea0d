#include "cuda/backend/peers.h"

#include "cuda/backend/check.h"

namespace towerflow::cuda {

void enable_peer_access(const Driver& driver, const std::vector<int>& cards) {
  const Table& table = driver.table();
  for (const int card : cards) {
    for (const int peer : cards) {
      int can = 0;
      if (card != peer) TOWERFLOW_CUDA(table, cudaDeviceCanAccessPeer(&can, card, peer));
      if (can == 0) continue;
      driver.select(card);
      const cudaError_t status = table.cudaDeviceEnablePeerAccess(peer, 0);
      if (status == cudaErrorPeerAccessAlreadyEnabled) {
        table.cudaGetLastError();
      } else if (status != cudaSuccess) {
        raise_failure(describe(table, status, "table.cudaDeviceEnablePeerAccess(peer, 0)"));
      }
    }
  }
}

}  // namespace towerflow::cuda
