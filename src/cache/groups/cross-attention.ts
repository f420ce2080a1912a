/** Cross attention: the rows of an encoder's output. Allocated once for all of it, never cached and never found. */
import type { PageId } from '../../units.ts';
import type { Amounts, CacheRequest, HitPages } from './group.ts';
import { PagedGroup } from './paged-group.ts';

export class CrossAttentionGroup extends PagedGroup {
  longestHit(): number {
    return 0;
  }

  firstPageOfHit(): number {
    return 0;
  }

  skippedTokens(): number {
    return 0;
  }

  override pagesToTake(request: CacheRequest, amounts: Amounts, hit: HitPages): number {
    return super.pagesToTake(request, ofEncoder(request, amounts), hit);
  }

  override install(request: CacheRequest, amounts: Amounts, hit: HitPages): void {
    super.install(request, { ...amounts, local: 0, total: 0 }, hit);
  }

  override extendExternal(): void {
    // A load brings rows of the decoder's prefix only.
  }

  override extend(request: CacheRequest, amounts: Amounts, added: PageId[]): void {
    super.extend(request, ofEncoder(request, amounts), added);
  }

  override missingPage(): null {
    return null;
  }

  override publish(): void {
    // Keys stand for the decoder's tokens, which say nothing of the encoder's.
  }

  override pagesToFork(): number {
    return 0;
  }

  override fork(parent: CacheRequest['id'], child: CacheRequest): void {
    // The encoder's rows are complete and nobody writes to them: all are shared.
    super.fork(parent, child, this.pageTable(parent).length * this.layout.tokensPerPage);
  }
}

function ofEncoder({ encoderTokens = 0 }: CacheRequest, amounts: Amounts): Amounts {
  return { ...amounts, total: 0, main: encoderTokens, need: encoderTokens };
}
