/// <reference types="@webgpu/types" preserve="true" />
/**
 * The public names of pagefence. Safe to import in a browser, Deno and Node; what only Node needs is in
 * `pagefence/node`.
 */
export { createEngine, type CreateEngineOptions, type PoolOptions } from './create-engine.ts';
export { Engine, type EngineOptions, type Rank, type StepReport } from './engine.ts';
export type { ForkInput, RequestInput } from './request-input.ts';
export type { Drafting, Speculation } from './speculation.ts';
export type { EngineStatistics } from './statistics.ts';
export {
  cacheConfigSchema,
  engineConfigSchema,
  parseConfig,
  type CacheConfig,
  type CacheConfigInput,
  type EngineConfig,
  type EngineConfigInput,
  type OffloadConfig,
  type ScheduleConfig,
  type TransferConfig,
} from './config.ts';
export {
  ConfigError,
  DeviceError,
  DeviceMemoryError,
  InputError,
  InvariantError,
  PagefenceError,
} from './errors.ts';
export {
  groupId,
  jobId,
  NULL_PAGE,
  pageId,
  requestId,
  slotId,
  type GroupId,
  type JobId,
  type PageId,
  type PrefixKey,
  type RequestId,
  type SlotId,
} from './units.ts';

export {
  CacheManager,
  type AllocateOptions,
  type CacheManagerOptions,
  type CacheRequest,
  type BoundaryState,
  type GroupPages,
  type PageCopyBatch,
  type PagesByGroup,
  type PrefixHit,
} from './cache/cache-manager.ts';
export type { MediaItem, RequestIdentity } from './cache/request-identity.ts';
export type { GroupConfig, GroupConfigInput, GroupKind } from './config/groups.ts';
export { resolveLayout, type CacheLayout, type GroupLayout } from './config/layout.ts';
export { cachePreset, type PresetName } from './config/presets.ts';
export type { CacheEvent } from './cache/events.ts';
export { createPrefixHasher, type PrefixHasher } from './cache/prefix-key.ts';
export { TokenSequence } from './cache/token-sequence.ts';

export type { FinishedRequest, FinishReason, Request, RequestStatus } from './schedule/request.ts';
export { freezePlan, type StepRecord } from './schedule/step-log.ts';
export type {
  Acknowledgement,
  ForwardRequest,
  LoadJob,
  PageCopy,
  StepOutcome,
  StepPlan,
  StoreJob,
  WitnessReport,
  Worker,
} from './schedule/step-plan.ts';

export { cacheConfigFor, type ModelCacheOptions } from './model/cache-layout.ts';
export { parseModelConfig, type ModelConfig } from './model/config.ts';
export {
  Generator,
  type GeneratedToken,
  type GenerateRequest,
  type GenerateResult,
  type GeneratorOptions,
  type LogitsPlace,
  type SnapshotOptions,
} from './model/generator.ts';
export { loadModel, type ModelFiles, type NamedBytes } from './model/load.ts';
export type { Model } from './model/model.ts';
export type { Sampling } from './model/sample.ts';
export type { TextTokenizer } from './model/tokenizer.ts';

export { HostMemory } from './host-memory.ts';
export { OffloadManager } from './offload/offload-manager.ts';
export { OffloadConnector } from './offload/connector.ts';
export type { OffloadEvent } from './offload/events.ts';
export { mergeTierMetrics, summarize, type TierMetrics } from './offload/tier-metrics.ts';
export { adapterFacts, type AdapterFacts } from './gpu/device.ts';
export { defaultStrategies, suggestedTransfer, type Strategies } from './gpu/strategies.ts';
export {
  tuneStaging,
  type StagingMeasurement,
  type StagingTuning,
  type StagingTuningOptions,
} from './gpu/staging-tuning.ts';
export { tune, type Measurement, type Tuning, type TuningOptions } from './gpu/tuning.ts';
export type { PageLocation } from './gpu/page-buffers.ts';
export { WebGpuWorker, type WebGpuWorkerOptions } from './gpu/worker.ts';
export { SimulatedWorker } from './reference/simulated-worker.ts';
export {
  measureBandwidth,
  PAGE_SIZES,
  type BandwidthOptions,
  type BandwidthProgress,
} from './bandwidth/bandwidth.ts';
export type { BandwidthResult, BandwidthRow, BothDirectionsRow, ReleaseRow } from './bandwidth/result.ts';
export { acquireAdapter } from './runtime/acquire.ts';
export type { AcquiredAdapter } from './runtime/adapter.ts';

export {
  inspect,
  type EngineView,
  type InspectOptions,
  type JobView,
  type PageState,
  type PageView,
  type RequestView,
  type SlotState,
  type SlotView,
} from './inspect.ts';
export type { JobSpan } from './recording/job-spans.ts';
export { runPartsSchema } from './recording/read-parts.ts';
export { RunLog, type RecordedMoment, type RunParts, type WitnessReading } from './recording/run-log.ts';
export {
  ChangeWatch,
  RunRecorder,
  type RunCounters,
  type RunRecorderOptions,
} from './recording/run-recorder.ts';
export type { RecordedPlan, RecordedStep } from './recording/recorded-step.ts';
export { RankedWorker } from './ranked-worker.ts';
export { TransferLog, type StagingView } from './transfer-log.ts';

export {
  Replay,
  replay,
  type ReplayOptions,
  type ReplayProgress,
  type ReplayReport,
} from './trace/replay.ts';
export { IdSpace } from './trace/id-space.ts';
export { BadLines } from './trace/bad-lines.ts';
export { readTrace, type ReadOptions, type TraceFile } from './trace/read-trace.ts';
export { readReferences, type BlockReferences } from './trace/references.ts';
export { promptTokensOf, type TraceRequest } from './trace/trace-request.ts';
export {
  replayPolicies,
  REPLAY_POLICIES,
  type PolicyResult,
  type ReplayPolicy,
} from './trace/policy-replay.ts';
