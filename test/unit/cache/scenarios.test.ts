/** Failures that others reported in public, as far as the cache alone shows them. Named after what they protect. */
import { describe, expect, it } from 'vitest';
import type { CacheRequest } from '../../../src/cache/cache-manager.ts';
import { pageId, type PageId } from '../../../src/units.ts';
import { admit, cache, grow, keyed, range, request, listed, allocate } from './support/fixtures.ts';

const P = 4;

describe('scenarios', () => {
  it('4: the last sampled token was never computed, so its page is not published', () => {
    const { manager } = cache({ pages: 9, tokensPerPage: P });
    const r = request('r', [1, 2], P);
    admit(manager, r);
    grow(manager, r, 2, [3]);
    r.sequence.append(4);
    expect(keyed(manager, r)).toEqual([false]);
    manager.free(r);
    expect(manager.lookup(request('again', [1, 2, 3, 4, 5], P)).tokens).toBe(0);
  });

  it('18: one step more, and the page is published', () => {
    const { manager } = cache({ pages: 9, tokensPerPage: P });
    const r = request('r', [1, 2], P);
    admit(manager, r);
    grow(manager, r, 2, [3]);
    grow(manager, r, 3, [4]);
    manager.free(r);
    expect(manager.lookup(request('again', [1, 2, 3, 4, 5], P)).tokens).toBe(4);
  });

  it('6: pages whose writer is aborted before it runs are not found again', () => {
    const { manager } = cache({ pages: 9, tokensPerPage: P });
    const r1 = request('r1', range(0, 8), P);
    admit(manager, r1);
    const written = [...manager.pageTable(r1.id)];
    manager.withdraw(r1, 0);
    manager.free(r1);
    for (const page of written) expect(manager.keyOf(page)).toBeNull();
    expect(manager.lookup(request('r2', range(0, 9), P)).tokens).toBe(0);
    manager.checkIntegrity();
  });

  it('6, variant: of two writers side by side only the survivor is found', () => {
    const { manager } = cache({ pages: 9, tokensPerPage: P });
    const [r1, r2] = [request('r1', range(0, 9), P), request('r2', range(0, 9), P)];
    const noHit = { computedTokens: 0, newTokens: 9 };
    expect(allocate(manager, r1, noHit)).toEqual([1, 2, 3]);
    expect(allocate(manager, r2, noHit)).toEqual([4, 5, 6]);
    const r3 = request('r3', range(0, 9), P);
    expect(manager.lookup(r3).pages).toEqual([[1, 2]]);
    expect(manager.withdraw(r1, 0)).toEqual([]);
    manager.free(r1);
    expect(manager.lookup(r3).pages).toEqual([[4, 5]]);
    manager.checkIntegrity();
  });

  it('6, one chunk: what earlier steps computed stays', () => {
    const { manager } = cache({ pages: 9, tokensPerPage: P });
    const r1 = request('r1', range(0, 12), P);
    admit(manager, r1, { newTokens: 6 });
    allocate(manager, r1, { computedTokens: 6, newTokens: 6 });
    manager.withdraw(r1, 6);
    manager.free(r1);
    expect(manager.lookup(r1).tokens).toBe(4);
  });

  it('20: a reset says yes only when nobody holds a page', () => {
    const { manager } = cache({ pages: 9, tokensPerPage: P });
    const r = request('r', range(0, 9), P);
    admit(manager, r);
    expect(manager.resetPrefixCache()).toBe(false);
    manager.free(r);
    expect(manager.lookup(r).tokens).toBe(8);
    expect(manager.resetPrefixCache()).toBe(true);
    expect(manager.lookup(r).tokens).toBe(0);
    expect(admit(manager, r).added).toHaveLength(3);
  });

  it('27: cached pages that will be revived are not free (a), pages held by others cost nothing (b)', () => {
    for (const isHeld of [false, true]) {
      const { manager, events } = cache({ pages: 8, tokensPerPage: P });
      const holder = request('holder', range(0, 8), P);
      admit(manager, holder);
      if (!isHeld) {
        manager.free(holder);
        admit(manager, request('other', range(50, 58), P));
      }
      expect(manager.freePages).toBe(5);
      const order = manager.freeOrder();
      const count = events.length;
      const r = request('r', range(0, 23), P);
      const { hit, added } = admit(manager, r);
      expect(hit).toBe(8);
      if (isHeld) {
        expect([added?.length, manager.freePages]).toEqual([4, 1]);
      } else {
        expect([added, manager.freeOrder(), events.length]).toEqual([null, order, count]);
        expect(range(1, 8).map((page) => manager.refCount(pageId(page)))).toEqual([0, 0, 1, 1, 0, 0, 0]);
        expect(manager.lookup(r).tokens).toBe(8);
      }
    }
  });

  it('32: lookups hold nothing, however often they are repeated, given up or refused', () => {
    const { manager, events } = cache({ pages: 6, tokensPerPage: P });
    const first = request('first', range(0, 8), P);
    admit(manager, first);
    manager.free(first);
    const blocker = request('blocker', range(50, 62), P);
    admit(manager, blocker);
    const order = manager.freeOrder();
    const count = events.length;
    for (let i = 0; i < 50; i++) {
      expect(manager.lookup(request(`given up ${i}`, range(0, 9), P)).tokens).toBe(8);
      expect(admit(manager, request(`refused ${i}`, range(0, 9), P)).added).toBeNull();
    }
    expect([manager.freeOrder(), events.length]).toEqual([order, count]);
    manager.free(blocker);
    expect([manager.freePages, manager.resetPrefixCache()]).toEqual([5, true]);
  });

  it('34: two equal prompts in one step: the second follows pages of the first, which come earlier', () => {
    const { manager } = cache({ pages: 9, tokensPerPage: 2 });
    admit(manager, request('r1', [1, 2, 3, 4, 10], 2));
    const r2 = request('r2', [1, 2, 3, 4, 11], 2);
    expect(admit(manager, r2)).toMatchObject({ hit: 4, added: [4] });
    expect(keyed(manager, r2)).toEqual([true, true, false]);
  });

  it('35: what must separate prompts does, on the first page and on later ones', () => {
    const { manager } = cache({ pages: 64, tokensPerPage: P });
    const salts = [undefined, 'X', 'a', 'ab', 'bc', 'abc'];
    const hits = salts.map((salt, i) => admit(manager, request(`r${i}`, range(0, 9), P, salt)).hit);
    expect(hits).toEqual(salts.map(() => 0));
    const again = salts.map((salt, i) => admit(manager, request(`s${i}`, range(0, 9), P, salt)).hit);
    expect(again).toEqual(salts.map(() => 8));
    // The empty salt is no salt.
    expect(admit(manager, request('empty', range(0, 9), P, '')).hit).toBe(8);
  });

  it('37a: the tail of a prompt is evicted first', () => {
    const { manager } = cache({ pages: 4, tokensPerPage: P });
    const r = request('r', range(0, 12), P);
    admit(manager, r);
    manager.free(r);
    const one = request('one', [99], P);
    expect(admit(manager, one).added).toEqual([3]);
    manager.free(one);
    expect(admit(manager, request('again', range(0, 13), P)).hit).toBe(0 + 8);
  });

  it('37c: untouched older pages go before those just used', () => {
    const { manager } = cache({ pages: 5, tokensPerPage: P });
    const r = request('r', range(0, 16), P);
    admit(manager, r);
    manager.free(r);
    const head = request('head', [...range(0, 8), 99], P);
    admit(manager, head);
    manager.free(head);
    expect(manager.freeOrder()).toEqual([4, 3, 2, 1]);
    const order: PageId[] = [];
    for (let i = 0; i < 4; i++) order.push(...admit(manager, request(`n${i}`, [200 + i], P)).added!);
    expect(order).toEqual([4, 3, 2, 1]);
  });

  it('39: the null page is in no list and no table', () => {
    const { manager, events } = cache({ pages: 4, tokensPerPage: P });
    const held: CacheRequest[] = [];
    for (let i = 0; i < 3; i++) {
      const r = request(`r${i}`, range(10 * i, 10 * i + 4), P);
      admit(manager, r);
      held.push(r);
    }
    expect(admit(manager, request('more', [77], P)).added).toBeNull();
    manager.relistForZeroing([[pageId(0)]]);
    expect(listed(manager.takeNewPageIdsToZero())).toEqual([1, 2, 3]);
    for (const r of held) manager.free(r);
    expect([manager.pageCountMax, manager.freePages, manager.freeOrder()]).toEqual([3, 3, [1, 2, 3]]);
    const named = events.flatMap((event) => ('pages' in event ? event.pages : []));
    expect(named).not.toContain(0);
  });
});
