/** The policies again, as plainly as can be: arrays, oldest first, and no index of anything. */

export function lruModelHits(references: readonly number[], capacity: number): number {
  let cache: number[] = [];
  let hits = 0;
  for (const id of references) {
    if (cache.includes(id)) hits += 1;
    cache = [...cache.filter((other) => other !== id), id].slice(-capacity);
  }
  return hits;
}

export function minModelHits(references: readonly number[], capacity: number): number {
  const cache = new Set<number>();
  let hits = 0;
  for (const [position, id] of references.entries()) {
    if (cache.has(id)) {
      hits += 1;
      continue;
    }
    if (cache.size === capacity) {
      let victim = -1;
      let furthest = -1;
      for (const other of cache) {
        const found = references.indexOf(other, position + 1);
        const next = found < 0 ? Infinity : found;
        if (next > furthest) {
          furthest = next;
          victim = other;
        }
      }
      cache.delete(victim);
    }
    cache.add(id);
  }
  return hits;
}

/** Figure 4 of Megiddo and Modha, FAST'03, line by line. */
export function arcModelHits(references: readonly number[], c: number): number {
  const t1: number[] = [];
  const t2: number[] = [];
  const b1: number[] = [];
  const b2: number[] = [];
  let p = 0;
  let hits = 0;
  const drop = (list: number[], id: number): void => void list.splice(list.indexOf(id), 1);
  const replace = (id: number): void => {
    if (t1.length >= 1 && ((b2.includes(id) && t1.length === p) || t1.length > p)) b1.push(t1.shift()!);
    else b2.push(t2.shift()!);
  };
  for (const x of references) {
    if (t1.includes(x) || t2.includes(x)) {
      hits += 1;
      drop(t1.includes(x) ? t1 : t2, x);
      t2.push(x);
    } else if (b1.includes(x)) {
      p = Math.min(c, p + Math.max(b2.length / b1.length, 1));
      replace(x);
      drop(b1, x);
      t2.push(x);
    } else if (b2.includes(x)) {
      p = Math.max(0, p - Math.max(b1.length / b2.length, 1));
      replace(x);
      drop(b2, x);
      t2.push(x);
    } else {
      const l1 = t1.length + b1.length;
      const all = l1 + t2.length + b2.length;
      if (l1 === c) {
        if (t1.length < c) {
          b1.shift();
          replace(x);
        } else {
          t1.shift();
        }
      } else if (all >= c) {
        if (all === 2 * c) b2.shift();
        replace(x);
      }
      t1.push(x);
    }
  }
  return hits;
}
