import { describe, expect, it } from 'vitest';
import { FreeQueue } from '../../../src/cache/free-queue.ts';
import { ConfigError, InvariantError } from '../../../src/errors.ts';
import { pageId } from '../../../src/units.ts';
import { pages } from './support/fixtures.ts';

function queueOf(...ids: number[]): FreeQueue {
  const queue = new FreeQueue(8);
  queue.appendMany(pages(...ids));
  return queue;
}

describe('FreeQueue', () => {
  it('P1: pops at the front, removes anywhere, appends at the back, refuses when empty', () => {
    const queue = queueOf(0, 1, 2, 3, 4);
    expect(queue.pop()).toBe(0);
    queue.remove(pageId(2));
    expect([...queue]).toEqual([1, 3, 4]);
    queue.append(pageId(2));
    expect([...queue]).toEqual([1, 3, 4, 2]);
    expect(queue.popMany(4)).toEqual([1, 3, 4, 2]);
    expect(queue.size).toBe(0);
    expect(() => queue.pop()).toThrow(InvariantError);
    queue.checkIntegrity();
  });

  it('P2: appends lists of any length in their order', () => {
    const queue = queueOf();
    for (const list of [[], [0], [4, 5], [1, 2, 3]]) queue.appendMany(pages(...list));
    expect([...queue]).toEqual([0, 4, 5, 1, 2, 3]);
    expect(queue.size).toBe(6);
    queue.checkIntegrity();
  });

  it('P3: prepends lists in their order', () => {
    const queue = queueOf(0);
    queue.prependMany(pages(4, 5));
    queue.prependMany(pages(1, 2));
    queue.prependMany([]);
    expect([...queue]).toEqual([1, 2, 4, 5, 0]);
    expect(queue.popMany(5)).toEqual([1, 2, 4, 5, 0]);
    queue.checkIntegrity();
  });

  it('P4: pops several, which leaves them without links', () => {
    const queue = queueOf(1, 3, 5, 4, 0, 2);
    expect(queue.popMany(0)).toEqual([]);
    expect(queue.popMany(1)).toEqual([1]);
    expect(queue.popMany(2)).toEqual([3, 5]);
    expect(queue.size).toBe(3);
    for (const id of pages(1, 3, 5)) expect(queue.has(id)).toBe(false);
    queue.checkIntegrity();
  });

  it('takes nothing when fewer are left than asked for', () => {
    const queue = queueOf(1, 2);
    expect(() => queue.popMany(3)).toThrow(/3 pages from a free queue of 2/);
    expect(() => queue.popMany(-1)).toThrow(InvariantError);
    expect([...queue]).toEqual([1, 2]);
  });

  it('refuses members twice, strangers, and ids of its sentinels', () => {
    const queue = queueOf(1);
    expect(() => queue.append(pageId(1))).toThrow(/page 1 is in the free queue already/);
    expect(() => queue.remove(pageId(2))).toThrow(/page 2 is not in the free queue/);
    expect(() => queue.append(pageId(8))).toThrow(/page 8 does not exist/);
    expect(() => queue.remove(pageId(9))).toThrow(InvariantError);
    expect(queue.has(pageId(9))).toBe(false);
    expect([...queue]).toEqual([1]);
  });

  it('stays whole when a list names a member, a page twice, or no page', () => {
    for (const wrong of [
      [0, 7, 2],
      [0, 3, 3, 2],
      [0, 8, 2],
      [0, 1.5, 2],
      [0, -1, 2],
    ]) {
      const appended = queueOf(7);
      expect(() => appended.appendMany(pages(...wrong))).toThrow(InvariantError);
      expect([...appended].slice(0, 2)).toEqual([7, 0]);
      appended.checkIntegrity();
      const prepended = queueOf(7);
      expect(() => prepended.prependMany(pages(...wrong))).toThrow(InvariantError);
      expect([...prepended].filter((page) => page !== 3)).toEqual([2, 7]);
      prepended.checkIntegrity();
    }
  });

  it('refuses capacities that no typed array has', () => {
    for (const capacity of [0, -1, 1.5, 2 ** 31]) expect(() => new FreeQueue(capacity)).toThrow(ConfigError);
  });
});
