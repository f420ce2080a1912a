/** Counters of a connector. All of them only grow. */
export interface OffloadMetrics {
  /** Store jobs made, and how they ended. */
  storesPrepared: number;
  storesCompleted: number;
  storesFailed: number;
  /** Load jobs made, and how they ended. */
  loadsPrepared: number;
  loadsCompleted: number;
  loadsFailed: number;
  /** Pages whose bytes arrived in the host tier, and pages whose bytes came back from it. */
  pagesStored: number;
  pagesLoaded: number;
  /** Pages found in the host tier at admission, loaded successfully or not. */
  hitPages: number;
  /** Pages that gave up their slots for new ones. */
  pagesEvicted: number;
  /** Pending stores named in `jobsToFlush`. */
  flushes: number;
  /** Offers that the host tier had no room for. */
  allocationFailures: number;
  /** Transfers that a reset cut off. */
  jobsDiscarded: number;
}

export function newMetrics(): OffloadMetrics {
  return {
    storesPrepared: 0,
    storesCompleted: 0,
    storesFailed: 0,
    loadsPrepared: 0,
    loadsCompleted: 0,
    loadsFailed: 0,
    pagesStored: 0,
    pagesLoaded: 0,
    hitPages: 0,
    pagesEvicted: 0,
    flushes: 0,
    allocationFailures: 0,
    jobsDiscarded: 0,
  };
}
