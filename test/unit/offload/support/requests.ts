/** Requests and scheduler outputs, written by hand where a test needs exact pages. */
import { createPrefixHasher } from '../../../../src/cache/prefix-key.ts';
import { TokenSequence } from '../../../../src/cache/token-sequence.ts';
import { cacheConfigSchema, offloadConfigSchema, type OffloadConfig } from '../../../../src/config.ts';
import { resolveLayout } from '../../../../src/config/layout.ts';
import { OffloadConnector, type OffloadConnectorOptions } from '../../../../src/offload/connector.ts';
import type {
  ConnectorMeta,
  Holdings,
  ScheduledRequest,
} from '../../../../src/schedule/connector-interface.ts';
import { createRequest, type FinishReason, type Request } from '../../../../src/schedule/request.ts';
import { pageId, requestId, type JobId, type PageId } from '../../../../src/units.ts';
import { zeroed } from '../../../support/one-group.ts';

export const TOKENS_PER_PAGE = 4;
const hasher = createPrefixHasher();
const LAYOUT = resolveLayout(
  cacheConfigSchema.parse({ pages: 64, tokensPerPage: TOKENS_PER_PAGE, pageBytes: 16 }),
);

/** What a request of one full-attention group holds. */
export const holdingsOf = (table: readonly PageId[]): Holdings => ({ tables: [table], states: [] });

export const pages = (...ids: number[]): PageId[] => ids.map(pageId);

/** Tokens first, first + 1, ... */
export const range = (count: number, first = 0): number[] =>
  Array.from({ length: count }, (_, i) => first + i);

export function makeRequest(name: string, tokens: readonly number[], unitTokens = TOKENS_PER_PAGE): Request {
  return createRequest({
    id: requestId(name),
    sequence: new TokenSequence({ tokens, unitTokens, hasher }),
    promptTokens: tokens.length,
    begunTokens: tokens.length,
    maxOutputTokens: 1,
    stopTokens: new Set(),
    ignoresCache: false,
    priority: 0,
    arrival: 0,
  });
}

type ConnectorOptions = Partial<Omit<OffloadConnectorOptions, 'config' | 'layout'>>;

export function makeConnector(
  config: Partial<OffloadConfig> = {},
  options: ConnectorOptions = {},
): OffloadConnector {
  return new OffloadConnector({
    config: offloadConfigSchema.parse({ slots: 8, ...config }),
    layout: LAYOUT,
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
    holdings: holdingsOf(table),
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
      newPageIdsToZero: zeroed(zero),
      copies: { copies: [] },
      tails: [],
    });
    this.connector.checkIntegrity();
    return meta;
  }

  finish(request: Request, table: readonly PageId[], reason: FinishReason = 'length'): void {
    request.status = 'finished';
    request.finishReason = reason;
    this.connector.requestFinished(request, holdingsOf(table));
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
