/** Requests and scheduler outputs, written by hand where a test needs exact pages. */
import { createPrefixHasher } from '../../../../src/cache/prefix-key.ts';
import { TokenSequence } from '../../../../src/cache/token-sequence.ts';
import { offloadConfigSchema, type OffloadConfig } from '../../../../src/config.ts';
import { OffloadConnector, type OffloadConnectorOptions } from '../../../../src/offload/connector.ts';
import type { ConnectorMeta, ScheduledRequest } from '../../../../src/schedule/connector-interface.ts';
import type { FinishReason, Request } from '../../../../src/schedule/request.ts';
import { pageId, requestId, type JobId, type PageId } from '../../../../src/units.ts';

export const TOKENS_PER_PAGE = 4;
const hasher = createPrefixHasher();

export const pages = (...ids: number[]): PageId[] => ids.map(pageId);

/** Tokens first, first + 1, ... */
export const range = (count: number, first = 0): number[] =>
  Array.from({ length: count }, (_, i) => first + i);

export function makeRequest(name: string, tokens: readonly number[]): Request {
  return {
    id: requestId(name),
    sequence: new TokenSequence({ tokens, unitTokens: TOKENS_PER_PAGE, hasher }),
    promptTokens: tokens.length,
    maxOutputTokens: 1,
    status: 'waiting',
    computedTokens: 0,
    finishReason: null,
    preemptions: 0,
    hitTokens: null,
  };
}

type ConnectorOptions = Partial<Omit<OffloadConnectorOptions, 'config' | 'tokensPerPage'>>;

export function makeConnector(
  config: Partial<OffloadConfig> = {},
  options: ConnectorOptions = {},
): OffloadConnector {
  return new OffloadConnector({
    config: offloadConfigSchema.parse({ slots: 8, ...config }),
    tokensPerPage: TOKENS_PER_PAGE,
    ...options,
  });
}

/** One request's part of a step. Its computed tokens advance as the scheduler would have them. */
export function run(
  request: Request,
  table: readonly PageId[],
  options: { tokens: number; newPages?: readonly PageId[]; resumed?: boolean },
): ScheduledRequest {
  const computedBefore = request.computedTokens;
  request.status = 'running';
  request.computedTokens += options.tokens;
  return {
    request,
    pages: table,
    newPages: options.newPages ?? [],
    resumed: options.resumed ?? false,
    computedBefore,
    scheduledTokens: options.tokens,
  };
}

/** Drives a connector step by step and checks it after each. */
export class Steps {
  readonly connector: OffloadConnector;
  #step = 0;

  constructor(connector: OffloadConnector) {
    this.connector = connector;
  }

  build(
    output: { scheduled?: ScheduledRequest[]; preempted?: Request[]; zero?: readonly PageId[] } = {},
  ): ConnectorMeta {
    const { scheduled = [], preempted = [], zero = [] } = output;
    const meta = this.connector.buildConnectorMeta({
      step: this.#step++,
      scheduled,
      preempted,
      newPageIdsToZero: zero,
    });
    this.connector.checkIntegrity();
    return meta;
  }

  finish(request: Request, table: readonly PageId[], reason: FinishReason = 'length'): void {
    request.status = 'finished';
    request.finishReason = reason;
    this.connector.requestFinished(request, table);
    this.connector.checkIntegrity();
  }

  acknowledge(...jobs: JobId[]): ReturnType<OffloadConnector['updateFromAcknowledgements']> {
    const result = this.connector.updateFromAcknowledgements(jobs.map((job) => ({ job, ok: true })));
    this.connector.checkIntegrity();
    return result;
  }

  fail(...jobs: JobId[]): ReturnType<OffloadConnector['updateFromAcknowledgements']> {
    const result = this.connector.updateFromAcknowledgements(
      jobs.map((job) => ({ job, ok: false, error: 'test' })),
    );
    this.connector.checkIntegrity();
    return result;
  }

  /** Computes a whole prompt in one step, stores it, and ends the request. Every job is acknowledged. */
  putOnHost(tokens: readonly number[], table: readonly PageId[], name = 'seed'): void {
    const request = makeRequest(name, tokens);
    const { stores } = this.build({
      scheduled: [run(request, table, { tokens: tokens.length, newPages: table })],
    });
    this.acknowledge(...stores.map((job) => job.id));
    request.sequence.append(99);
    this.finish(request, table);
    const last = this.build();
    this.acknowledge(...last.stores.map((job) => job.id));
  }
}
