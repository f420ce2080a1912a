/** Dense global block ids, and ordinals, for everything that one run reads. */
import { ConfigError } from '../errors.ts';
import { ORDINALS_MAX } from './trace-request.ts';

/** Entries that the engines allow in one `Map`. */
const BLOCK_IDS_MAX = 2 ** 24;

/**
 * Maps (scope, id) to a global id. A scope is a namespace of ids: one file, one session, or a whole trace format.
 * Global ids count up from 0 in the order of first sight, so that arrays can be indexed by them.
 */
export class IdSpace {
  private readonly scopes = new Map<string, Map<number, number>>();
  private readonly blockIdsMax: number;
  private nextBlockId = 0;
  private nextOrdinal = 0;

  constructor(options: { blockIdsMax?: number } = {}) {
    this.blockIdsMax = options.blockIdsMax ?? BLOCK_IDS_MAX;
  }

  /** Distinct blocks so far: every global id is below it. */
  get size(): number {
    return this.nextBlockId;
  }

  /** Global ids of a request's local ids. Throws `ConfigError` when there are too many distinct ones. */
  blockIds(scope: string, localIds: readonly number[]): Uint32Array<ArrayBuffer> {
    const known = this.namespace(scope);
    const globalIds = new Uint32Array(localIds.length);
    for (let index = 0; index < localIds.length; index += 1) {
      globalIds[index] = this.lookUp(known, localIds[index]);
    }
    return globalIds;
  }

  /** Calls `visit` with the global id of `first` and of the `count - 1` local ids after it. */
  visitRun(scope: string, first: number, count: number, visit: (globalId: number) => void): void {
    const known = this.namespace(scope);
    for (let id = first; id < first + count; id += 1) visit(this.lookUp(known, id));
  }

  takeOrdinal(): number {
    if (this.nextOrdinal >= ORDINALS_MAX) {
      throw new ConfigError(`the traces have more than ${ORDINALS_MAX} requests; read fewer files at once`);
    }
    this.nextOrdinal += 1;
    return this.nextOrdinal - 1;
  }

  private namespace(scope: string): Map<number, number> {
    let known = this.scopes.get(scope);
    if (!known) {
      known = new Map();
      this.scopes.set(scope, known);
    }
    return known;
  }

  private lookUp(known: Map<number, number>, localId: number): number {
    const seen = known.get(localId);
    if (seen !== undefined) return seen;
    if (this.nextBlockId >= this.blockIdsMax) {
      throw new ConfigError(
        `the traces have more than ${this.blockIdsMax} distinct blocks; read fewer files at once`,
      );
    }
    known.set(localId, this.nextBlockId);
    this.nextBlockId += 1;
    return this.nextBlockId - 1;
  }
}
